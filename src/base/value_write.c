/* Writes trees of values as YAML and JSON. */
#include "base/format.h"
#include "base/utf8.h"
#include "base/value.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    liana__arena arena = {0};
    const liana__value *value = liana__value_from_word(&arena, string);
    bool plain = value && value->kind == LIANA__VALUE_STRING;
    liana__arena_free(&arena);
    return plain;
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
    liana__text line = {0};
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
    liana__text_free(&line);
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
