/* Trees of plain values: making, changing, finding, comparing and writing them. */
#include "base/value.h"

#include "base/format.h"
#include "base/scoped.h"
#include "base/utf8.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static liana__value *new_value(liana__arena *arena, liana__value_kind kind)
{
    liana__value *value = liana__arena_allocate(arena, sizeof *value);
    if (value) value->kind = kind;
    return value;
}

liana__value *liana__value_null(liana__arena *arena)
{
    return new_value(arena, LIANA__VALUE_NULL);
}

liana__value *liana__value_bool(liana__arena *arena, bool boolean)
{
    liana__value *value = new_value(arena, LIANA__VALUE_BOOL);
    if (value) value->boolean = boolean;
    return value;
}

liana__value *liana__value_int(liana__arena *arena, int64_t integer)
{
    liana__value *value = new_value(arena, LIANA__VALUE_INT);
    if (!value) return NULL;
    value->integer = integer;
    value->number = (double)integer;
    return value;
}

liana__value *liana__value_float(liana__arena *arena, double number)
{
    liana__value *value = new_value(arena, LIANA__VALUE_FLOAT);
    if (!value) return NULL;
    value->number = number;
    bool whole = number >= -0x1p63 && number < 0x1p63 && floor(number) == number;
    value->integer = whole ? (int64_t)number : 0;
    return value;
}

liana__value *liana__value_string(liana__arena *arena, const char *string)
{
    char *copy = liana__arena_string(arena, string ? string : "");
    liana__value *value = copy ? new_value(arena, LIANA__VALUE_STRING) : NULL;
    if (value) value->string = copy;
    return value;
}

liana__value *liana__value_list(liana__arena *arena)
{
    return new_value(arena, LIANA__VALUE_LIST);
}

liana__value *liana__value_map(liana__arena *arena)
{
    return new_value(arena, LIANA__VALUE_MAP);
}

static bool is_one_of(const char *word, const char *const *words)
{
    for (; *words; words++) {
        if (strcmp(word, *words) == 0) return true;
    }
    return false;
}

static const char *skip_digits(const char *text)
{
    while (*text >= '0' && *text <= '9') text++;
    return text;
}

/* [-+]? [0-9]+ */
static bool looks_like_int(const char *word)
{
    if (*word == '-' || *word == '+') word++;
    const char *end = skip_digits(word);
    return end > word && *end == 0;
}

/* [-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )? */
static bool looks_like_float(const char *word)
{
    if (*word == '-' || *word == '+') word++;
    const char *end = skip_digits(word);
    bool digits = end > word;
    if (*end == '.') {
        const char *fraction = end + 1;
        end = skip_digits(fraction);
        digits = digits || end > fraction;
    }
    if (!digits) return false;
    if (*end == 'e' || *end == 'E') {
        const char *exponent = end + 1;
        if (*exponent == '-' || *exponent == '+') exponent++;
        end = skip_digits(exponent);
        if (end == exponent) return false;
    }
    return *end == 0;
}

/* 0o17 and 0xFF: no sign. Returns 0 if it is neither. */
static int prefixed_base(const char *word)
{
    if (word[0] != '0' || word[1] == 0 || word[2] == 0) return 0;
    const char *digits = word[1] == 'o' ? "01234567" : word[1] == 'x' ? "0123456789abcdefABCDEF" : "";
    if (word[2 + strspn(word + 2, digits)] != 0) return 0;
    return word[1] == 'o' ? 8 : 16;
}

/* Parses digits in base 10 (with a sign), 8 or 16. False: the number does not fit into int64. */
static bool parse_int(const char *word, int base, int64_t *integer)
{
    bool negative = *word == '-';
    if (*word == '-' || *word == '+') word++;
    if (base != 10) word += 2;
    uint64_t limit = negative ? (uint64_t)INT64_MAX + 1 : (uint64_t)INT64_MAX;
    uint64_t sum = 0;
    for (; *word; word++) {
        uint64_t digit = (uint64_t)(*word <= '9' ? *word - '0' : (*word | 0x20) - 'a' + 10);
        if (sum > (limit - digit) / (uint64_t)base) return false;
        sum = sum * (uint64_t)base + digit;
    }
    *integer = negative ? (int64_t)(0 - sum) : (int64_t)sum;
    return true;
}

liana__value *liana__value_from_word(liana__arena *arena, const char *word)
{
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
    static const char *const trues[] = {"true", "True", "TRUE", NULL};
    static const char *const falses[] = {"false", "False", "FALSE", NULL};
    static const char *const infinities[] = {".inf", ".Inf", ".INF", NULL};
    static const char *const nans[] = {".nan", ".NaN", ".NAN", NULL};
    if (is_one_of(word, nulls)) return liana__value_null(arena);
    if (is_one_of(word, trues)) return liana__value_bool(arena, true);
    if (is_one_of(word, falses)) return liana__value_bool(arena, false);
    int base = looks_like_int(word) ? 10 : prefixed_base(word);
    int64_t integer;
    if (base && parse_int(word, base, &integer)) return liana__value_int(arena, integer);
    if (base == 10 || looks_like_float(word)) return liana__value_float(arena, liana__parse_double(word, NULL));
    if (base) return liana__value_float(arena, INFINITY);
    bool is_signed = *word == '-' || *word == '+';
    if (is_one_of(word + is_signed, infinities)) return liana__value_float(arena, *word == '-' ? -INFINITY : INFINITY);
    if (is_one_of(word, nans)) return liana__value_float(arena, NAN);
    return liana__value_string(arena, word);
}

static bool grow_array(liana__arena *arena, void *array_pointer, size_t count, size_t capacity, size_t element_size)
{
    void *old;
    memcpy(&old, array_pointer, sizeof old);
    void *array = liana__arena_allocate(arena, capacity * element_size);
    if (!array) return false;
    if (count) memcpy(array, old, count * element_size);
    memcpy(array_pointer, &array, sizeof array);
    return true;
}

static bool make_room(liana__arena *arena, liana__value *parent)
{
    if (parent->count < parent->capacity) return true;
    size_t capacity = parent->capacity ? parent->capacity * 2 : 4;
    if (!grow_array(arena, &parent->items, parent->count, capacity, sizeof *parent->items)) return false;
    if (parent->kind == LIANA__VALUE_MAP &&
        (!grow_array(arena, &parent->keys, parent->count, capacity, sizeof *parent->keys) ||
         !grow_array(arena, &parent->key_places, parent->count, capacity, sizeof *parent->key_places))) {
        return false;
    }
    parent->capacity = capacity;
    return true;
}

void liana__value_add(liana__arena *arena, liana__value *list, liana__value *item)
{
    if (!list || !item || !make_room(arena, list)) return;
    list->items[list->count++] = item;
}

void liana__value_append(liana__arena *arena, liana__value *map, const char *key, const liana__place *place,
                         liana__value *item)
{
    const char *copy = liana__arena_string(arena, key);
    if (!map || !item || !copy || !make_room(arena, map)) return;
    map->keys[map->count] = copy;
    map->key_places[map->count] = place ? *place : (liana__place){0};
    map->items[map->count++] = item;
}

static size_t find_key(const liana__value *map, const char *key)
{
    size_t index = 0;
    while (index < map->count && strcmp(map->keys[index], key) != 0) index++;
    return index;
}

void liana__value_set(liana__arena *arena, liana__value *map, const char *key, liana__value *item)
{
    if (!map || !item) return;
    size_t index = find_key(map, key);
    if (index < map->count) {
        map->items[index] = item;
    } else {
        liana__value_append(arena, map, key, NULL, item);
    }
}

void liana__value_remove(liana__value *map, const char *key)
{
    size_t index = find_key(map, key);
    if (index == map->count) return;
    size_t behind = --map->count - index;
    memmove(map->items + index, map->items + index + 1, behind * sizeof *map->items);
    memmove(map->keys + index, map->keys + index + 1, behind * sizeof *map->keys);
    memmove(map->key_places + index, map->key_places + index + 1, behind * sizeof *map->key_places);
}

const liana__value *liana__value_get(const liana__value *map, const char *key)
{
    if (!map || map->kind != LIANA__VALUE_MAP) return NULL;
    size_t index = find_key(map, key);
    return index < map->count ? map->items[index] : NULL;
}

liana__value *liana__value_copy(liana__arena *arena, const liana__value *value)
{
    liana__value *copy;
    switch (value ? value->kind : LIANA__VALUE_NULL) {
    case LIANA__VALUE_LIST:
        copy = liana__value_list(arena);
        for (size_t i = 0; i < value->count; i++) {
            liana__value_add(arena, copy, liana__value_copy(arena, value->items[i]));
        }
        return copy;
    case LIANA__VALUE_MAP:
        copy = liana__value_map(arena);
        for (size_t i = 0; i < value->count; i++) {
            liana__value_append(arena, copy, value->keys[i], NULL, liana__value_copy(arena, value->items[i]));
        }
        return copy;
    case LIANA__VALUE_BOOL: return liana__value_bool(arena, value->boolean);
    case LIANA__VALUE_INT: return liana__value_int(arena, value->integer);
    case LIANA__VALUE_FLOAT: return liana__value_float(arena, value->number);
    case LIANA__VALUE_STRING: return liana__value_string(arena, value->string);
    case LIANA__VALUE_NULL: break;
    }
    return liana__value_null(arena);
}

bool liana__value_equal(const liana__value *a, const liana__value *b)
{
    if (!a || !b) return a == b;
    if (a->kind != b->kind) return false;
    switch (a->kind) {
    case LIANA__VALUE_NULL: return true;
    case LIANA__VALUE_BOOL: return a->boolean == b->boolean;
    case LIANA__VALUE_INT: return a->integer == b->integer;
    case LIANA__VALUE_FLOAT: return a->number == b->number || (isnan(a->number) && isnan(b->number));
    case LIANA__VALUE_STRING: return strcmp(a->string, b->string) == 0;
    case LIANA__VALUE_LIST:
    case LIANA__VALUE_MAP: break;
    }
    if (a->count != b->count) return false;
    for (size_t i = 0; i < a->count; i++) {
        if (a->kind == LIANA__VALUE_MAP && strcmp(a->keys[i], b->keys[i]) != 0) return false;
        if (!liana__value_equal(a->items[i], b->items[i])) return false;
    }
    return true;
}

const char *liana__value_kind_name(liana__value_kind kind)
{
    static const char *const names[] = {
        [LIANA__VALUE_NULL] = "null",      [LIANA__VALUE_BOOL] = "true or false", [LIANA__VALUE_INT] = "a whole number",
        [LIANA__VALUE_FLOAT] = "a number", [LIANA__VALUE_STRING] = "text",        [LIANA__VALUE_LIST] = "a list",
        [LIANA__VALUE_MAP] = "a mapping",
    };
    return names[kind];
}

/* Long texts are cut at the start of a character, so they do not fill the message. */
static void describe_string(const char *string, char *buffer, size_t size)
{
    enum { LONGEST = 60 };
    size_t length = strlen(string);
    bool cut = length > LONGEST;
    if (cut) {
        length = LONGEST;
        while (length && ((unsigned char)string[length] & 0xC0) == 0x80) length--;
    }
    snprintf(buffer, size, "the text '%.*s%s'", (int)length, string, cut ? "..." : "");
}

const char *liana__value_describe(const liana__value *value, char *buffer, size_t size)
{
    LIANA__SCOPED(liana__text) number = {0};
    switch (value->kind) {
    case LIANA__VALUE_NULL: snprintf(buffer, size, "null"); break;
    case LIANA__VALUE_BOOL: snprintf(buffer, size, "%s", value->boolean ? "true" : "false"); break;
    case LIANA__VALUE_INT: snprintf(buffer, size, "the number %lld", (long long)value->integer); break;
    case LIANA__VALUE_FLOAT:
        liana__text_add_double(&number, value->number);
        snprintf(buffer, size, "the number %s", number.data ? number.data : "");
        break;
    case LIANA__VALUE_STRING: describe_string(value->string, buffer, size); break;
    case LIANA__VALUE_LIST: snprintf(buffer, size, "a list of %zu", value->count); break;
    case LIANA__VALUE_MAP:
        snprintf(buffer, size, "a mapping of %zu key%s", value->count, value->count == 1 ? "" : "s");
        break;
    }
    return buffer;
}

/* ---- writing ---- */

/* Scalars up to this many columns together stay on one line. */
enum { LINE_WIDTH = 100 };

void liana__text_add_double(liana__text *text, double number)
{
    if (!isfinite(number)) {
        liana__text_add(text, "%s", isnan(number) ? "nan" : number > 0 ? "inf" : "-inf");
        return;
    }
    char digits[40];
    for (int precision = 15; precision <= 17; precision++) {
        liana__format(digits, sizeof digits, "%.*g", precision, number);
        if (liana__parse_double(digits, NULL) == number) break;
    }
    size_t whole = strspn(digits, "+-0123456789");
    liana__text_add(text, "%.*s%s%s", (int)whole, digits, digits[whole] == '.' ? "" : ".0", digits + whole);
}

/* The characters that YAML 1.2 (section 5.1) and JSON both allow inside double quotes. */
static bool is_printable(uint32_t code)
{
    if (code < 0x20 || (code >= 0x7F && code < 0xA0)) return false;
    return code != 0x2028 && code != 0x2029 && code != 0xFEFF && code != 0xFFFE && code != 0xFFFF;
}

/* A double-quoted string with the escapes that JSON and YAML share. */
static void add_quoted(liana__text *text, const char *string)
{
    liana__text_add(text, "\"");
    const char *end = string + strlen(string);
    while (string < end) {
        uint32_t code;
        size_t length = liana__utf8_character(string, (size_t)(end - string), &code);
        if (length == 0) {
            liana__text_add(text, "\xEF\xBF\xBD");
        } else if (code == '"' || code == '\\') {
            liana__text_add(text, "\\%c", (char)code);
        } else if (code == '\n' || code == '\t') {
            liana__text_add(text, code == '\n' ? "\\n" : "\\t");
        } else if (!is_printable(code)) {
            liana__text_add(text, "\\u%04x", (unsigned)code);
        } else {
            liana__text_add_bytes(text, string, length);
        }
        string += length ? length : 1;
    }
    liana__text_add(text, "\"");
}

/* Words that YAML 1.1 readers take for bools. */
static bool is_old_bool(const char *word)
{
    static const char *const words[] = {"y", "n", "yes", "no", "on", "off"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strlen(word) == strlen(words[i]) && liana__edit_distance(word, words[i]) == 0) return true;
    }
    return false;
}

/* Whether a text without quotes in YAML is still this text. */
static bool is_plain(const char *string)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    static const char inner[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 _-+./*?()=;$^";
    size_t length = strlen(string);
    if (length == 0 || string[length - 1] == ' ' || strspn(string, inner) != length) return false;
    bool starts_well = strchr(letters, string[0]) || strchr("/_", string[0]) ||
                       (strchr("0123456789.", string[0]) && strspn(string, "0123456789.-+_xoabcdefABCDEF") != length);
    if (!starts_well || is_old_bool(string) || liana__starts_with(string, "...")) return false;
    LIANA__SCOPED(liana__arena) arena = {0};
    const liana__value *value = liana__value_from_word(&arena, string);
    return value && value->kind == LIANA__VALUE_STRING;
}

static void add_yaml_string(liana__text *text, const char *string)
{
    if (is_plain(string)) {
        liana__text_add(text, "%s", string);
    } else {
        add_quoted(text, string);
    }
}

static bool is_scalar(const liana__value *value)
{
    return value->kind != LIANA__VALUE_LIST && value->kind != LIANA__VALUE_MAP;
}

static void add_yaml_scalar(liana__text *text, const liana__value *value)
{
    switch (value->kind) {
    case LIANA__VALUE_BOOL: liana__text_add(text, value->boolean ? "true" : "false"); break;
    case LIANA__VALUE_INT: liana__text_add(text, "%lld", (long long)value->integer); break;
    case LIANA__VALUE_FLOAT:
        if (isfinite(value->number)) {
            liana__text_add_double(text, value->number);
        } else {
            liana__text_add(text, isnan(value->number) ? ".nan" : value->number > 0 ? ".inf" : "-.inf");
        }
        break;
    case LIANA__VALUE_STRING: add_yaml_string(text, value->string); break;
    default: liana__text_add(text, "null"); break;
    }
}

static void add_json_scalar(liana__text *text, const liana__value *value)
{
    if (value->kind == LIANA__VALUE_STRING) {
        add_quoted(text, value->string);
    } else if (value->kind == LIANA__VALUE_FLOAT && !isfinite(value->number)) {
        liana__text_add(text, "null");
    } else {
        add_yaml_scalar(text, value);
    }
}

/* "[a, b]" if the list holds scalars only and is short; nothing is added otherwise. */
static bool add_short_list(liana__text *text, const liana__value *list,
                           void (*add_scalar)(liana__text *text, const liana__value *value))
{
    LIANA__SCOPED(liana__text) line = {0};
    bool fits = true;
    liana__text_add(&line, "[");
    for (size_t i = 0; fits && i < list->count; i++) {
        fits = is_scalar(list->items[i]);
        if (!fits) break;
        if (i) liana__text_add(&line, ", ");
        add_scalar(&line, list->items[i]);
        fits = line.length < LINE_WIDTH;
    }
    liana__text_add(&line, "]");
    if (fits) liana__text_add_bytes(text, line.data, line.failed ? 0 : line.length);
    text->failed = text->failed || line.failed;
    return fits;
}

/* Writes scalars, short lists and empty maps, which are on the line of their key. */
static bool add_yaml_inline(liana__text *text, const liana__value *value)
{
    if (is_scalar(value)) {
        add_yaml_scalar(text, value);
        return true;
    }
    if (value->kind == LIANA__VALUE_LIST) return add_short_list(text, value, add_yaml_scalar);
    if (value->count == 0) liana__text_add(text, "{}");
    return value->count == 0;
}

/* `column`: the column of the items. The first item's line is already indented. */
static void write_yaml_block(const liana__value *value, int column, liana__text *text)
{
    for (size_t i = 0; i < value->count; i++) {
        const liana__value *item = value->items[i];
        if (i) liana__text_add(text, "%*s", column, "");
        bool is_map = value->kind == LIANA__VALUE_MAP;
        if (is_map) add_yaml_string(text, value->keys[i]);
        liana__text_add(text, is_map ? ":" : "-");
        size_t before = text->length;
        liana__text_add(text, " ");
        if (add_yaml_inline(text, item)) {
            liana__text_add(text, "\n");
            continue;
        }
        if (is_map && !text->failed) {
            text->length = before;
            liana__text_add(text, "\n%*s", column + 2, "");
        }
        write_yaml_block(item, column + 2, text);
    }
}

void liana__value_write_yaml(const liana__value *value, liana__text *text)
{
    if (add_yaml_inline(text, value)) {
        liana__text_add(text, "\n");
    } else {
        write_yaml_block(value, 0, text);
    }
}

static void write_json_at(const liana__value *value, int indent, int column, liana__text *text)
{
    if (is_scalar(value)) {
        add_json_scalar(text, value);
        return;
    }
    bool is_map = value->kind == LIANA__VALUE_MAP;
    if (indent > 0 && !is_map && add_short_list(text, value, add_json_scalar)) return;
    bool lines = indent > 0 && value->count > 0;
    liana__text_add(text, is_map ? "{" : "[");
    for (size_t i = 0; i < value->count; i++) {
        if (i) liana__text_add(text, lines ? "," : ", ");
        if (lines) liana__text_add(text, "\n%*s", column + indent, "");
        if (is_map) {
            add_quoted(text, value->keys[i]);
            liana__text_add(text, ": ");
        }
        write_json_at(value->items[i], indent, column + indent, text);
    }
    if (lines) liana__text_add(text, "\n%*s", column, "");
    liana__text_add(text, is_map ? "}" : "]");
}

void liana__value_write_json(const liana__value *value, int indent, liana__text *text)
{
    write_json_at(value, indent, 0, text);
    if (indent > 0) liana__text_add(text, "\n");
}
