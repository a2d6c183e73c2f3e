/* Reads and writes options that are written as a call. */
#include "layers/rules/call_text.h"

#include "base/other_names.h"
#include "base/parts.h"

#include <stdio.h>
#include <string.h>

enum { MAX_NAME = 60 };

/* A range of the text, without blanks around it. */
typedef struct span {
    const char *begin;
    size_t length;
} span;

static span trimmed(const char *begin, const char *end)
{
    while (begin < end && *begin == ' ') begin++;
    while (begin < end && end[-1] == ' ') end--;
    return (span){begin, (size_t)(end - begin)};
}

static bool is_name(const char *name, span word)
{
    return strlen(name) == word.length && memcmp(name, word.begin, word.length) == 0;
}

/* Kind `index`; NULL after the last one. */
static const liana__callable *kind_at(liana__callables kinds, size_t index)
{
    size_t builtin = 0;
    while (kinds.at && kinds.at(builtin)) builtin++;
    return index < builtin ? kinds.at(index) : liana__part_at(kinds.context, kinds.part, index - builtin);
}

/* NULL: there is none of that name. */
static const liana__callable *find_kind(liana__callables kinds, span word)
{
    const liana__callable *kind;
    for (size_t i = 0; (kind = kind_at(kinds, i)) != NULL; i++) {
        if (is_name(kind->name, word) || is_name(kind->class_name, word)) return kind;
    }
    return NULL;
}

static span name_of(const char *text)
{
    const char *open = strchr(text, '(');
    return trimmed(text, open ? open : text + strlen(text));
}

const liana__callable *liana__call_text_kind(const char *text, liana__callables kinds)
{
    return find_kind(kinds, name_of(text));
}

bool liana__call_text_is_builtin(const char *name, liana__callables kinds)
{
    kinds.context = NULL;
    return find_kind(kinds, (span){name, strlen(name)}) != NULL;
}

liana_status liana__call_text_check_part(liana_context *context, const liana__own_part *own)
{
    for (size_t i = 0; i < own->options.count; i++) {
        if (own->options.items[i].kind != LIANA__FIELD_STRING) continue;
        return liana__own_part_refuse(context, own,
                                      "its option '%s' is a text; options that are written as \"%s(...)\" are numbers, "
                                      "words and lists of numbers",
                                      own->options.items[i].name, own->name);
    }
    return LIANA_OK;
}

static liana_status fail_unknown(liana__callables kinds, span word, liana__error *error)
{
    char found[MAX_NAME + 1];
    snprintf(found, sizeof found, "%.*s", (int)(word.length < MAX_NAME ? word.length : MAX_NAME), word.begin);
    liana__nearest_search search = liana__nearest_begin_known(found);
    liana__text known = {0};
    const liana__callable *kind;
    for (size_t i = 0; (kind = kind_at(kinds, i)) != NULL; i++) {
        liana__nearest_add_known(&search, kind->name);
        liana__text_add(&known, "%s%s", i ? ", " : "", kind->name);
    }
    if (search.nearest) {
        liana__fail(error, LIANA_INVALID_CONFIG, "found '%s', which is not %s; did you mean '%s'?", found, kinds.what,
                    search.nearest);
    } else {
        liana__fail(error, LIANA_INVALID_CONFIG, "found '%s', expected %s: %s", found, kinds.what,
                    known.data ? known.data : "");
    }
    liana__text_free(&known);
    return LIANA_INVALID_CONFIG;
}

/* ---- reading ---- */

/* The end of the argument that begins at `text`: a comma or the closing parenthesis, outside of brackets. */
static const char *argument_end(const char *text, const char *end)
{
    int depth = 0;
    for (; text < end; text++) {
        if (*text == '[') depth++;
        if (*text == ']') depth--;
        if (*text == ',' && depth <= 0) break;
    }
    return text;
}

/* "0.01", "rows" or "[0, 1]". NULL: out of memory. */
static liana__value *read_value(liana__arena *arena, span text)
{
    bool is_list = text.length >= 2 && text.begin[0] == '[' && text.begin[text.length - 1] == ']';
    if (!is_list) {
        const char *word = liana__arena_format(arena, "%.*s", (int)text.length, text.begin);
        return word ? liana__value_from_word(arena, word) : NULL;
    }
    liana__value *list = liana__value_list(arena);
    const char *end = text.begin + text.length - 1;
    for (const char *at = text.begin + 1; list && at < end;) {
        const char *stop = argument_end(at, end);
        liana__value_add(arena, list, read_value(arena, trimmed(at, stop)));
        at = stop + 1;
    }
    return list;
}

/* Adds "0.01" or "factor=0.01" to the map, as argument `position` unless it has a name. */
static liana_status read_argument(const liana__callable *kind, span text, size_t position, liana__arena *arena,
                                  liana__value *map, liana__error *error)
{
    const char *equals = memchr(text.begin, '=', text.length), *end = text.begin + text.length;
    if (!equals && position >= kind->arguments->count) {
        return liana__fail(error, LIANA_INVALID_CONFIG, "%s: found %zu arguments, expected at most %zu", kind->name,
                           position + 1, kind->arguments->count);
    }
    span named = equals ? trimmed(text.begin, equals) : (span){0};
    const char *name = equals ? liana__arena_format(arena, "%.*s", (int)named.length, named.begin)
                              : kind->arguments->items[position].name;
    liana__value *value = read_value(arena, equals ? trimmed(equals + 1, end) : text);
    if (!name || !value) return liana__fail_memory(error, kind->name);
    if (liana__value_get(map, name)) {
        return liana__fail(error, LIANA_INVALID_CONFIG, "%s: the argument '%.60s' is given twice", kind->name, name);
    }
    liana__value_set(arena, map, name, value);
    return LIANA_OK;
}

/* What stands between the parentheses, as a map. */
static liana_status read_arguments(const liana__callable *kind, const char *text, const char *end, liana__arena *arena,
                                   liana__value *map, liana__error *error)
{
    for (size_t position = 0; text < end; position++) {
        const char *stop = argument_end(text, end);
        span argument = trimmed(text, stop);
        if (argument.length) LIANA_TRY(read_argument(kind, argument, position, arena, map, error));
        text = stop + 1;
    }
    return LIANA_OK;
}

liana_status liana__call_text_read(const char *text, liana__callables kinds, liana__arena *arena,
                                   const liana__callable **found, const void **arguments, liana__error *error)
{
    const char *open = strchr(text, '('), *end = text + strlen(text);
    const liana__callable *kind = find_kind(kinds, name_of(text));
    if (!kind) return fail_unknown(kinds, name_of(text), error);
    if (open && end[-1] != ')') {
        return liana__fail(error, LIANA_INVALID_CONFIG, "found '%.60s', expected ')' at its end", text);
    }
    liana__value *map = liana__value_map(arena);
    void *made = liana__arena_allocate(arena, kind->arguments->size);
    if (!map || !made) return liana__fail_memory(error, kind->name);
    if (open) LIANA_TRY(read_arguments(kind, open + 1, end - 1, arena, map, error));
    LIANA_TRY(liana__fields_read(kind->arguments, map, kind->name, NULL, arena, made, error));
    *found = kind;
    *arguments = made;
    return liana__own_part_finish(kind->own, made, NULL, kind->name, error);
}

/* ---- Keras ---- */

static void write_value(liana__text *text, const liana__value *value)
{
    if (value->kind == LIANA__VALUE_INT) {
        liana__text_add(text, "%lld", (long long)value->integer);
    } else if (value->kind == LIANA__VALUE_FLOAT) {
        liana__text_add_double(text, value->number);
    } else if (value->kind == LIANA__VALUE_LIST) {
        liana__text_add(text, "[");
        for (size_t i = 0; i < value->count; i++) {
            if (i) liana__text_add(text, ", ");
            write_value(text, value->items[i]);
        }
        liana__text_add(text, "]");
    } else if (value->kind == LIANA__VALUE_BOOL) {
        liana__text_add(text, value->boolean ? "true" : "false");
    } else {
        liana__text_add(text, "%s", value->kind == LIANA__VALUE_STRING ? value->string : "null");
    }
}

const char *liana__call_text_from_keras(liana__arena *arena, const liana__value *value, liana__callables kinds)
{
    bool is_map = value->kind == LIANA__VALUE_MAP;
    const liana__value *name = is_map ? liana__value_get(value, "class_name") : value;
    if (!name || name->kind != LIANA__VALUE_STRING) return NULL;
    const liana__callable *kind = find_kind(kinds, trimmed(name->string, name->string + strlen(name->string)));
    if (!kind && is_map) return NULL;
    const liana__value *config = is_map ? liana__value_get(value, "config") : NULL;
    if (!kind || !config || config->kind != LIANA__VALUE_MAP) return kind ? kind->name : name->string;
    liana__text text = {0};
    liana__text_add(&text, "%s(", kind->name);
    for (size_t i = 0; i < config->count; i++) {
        liana__text_add(&text, "%s%s=", i ? ", " : "", config->keys[i]);
        write_value(&text, config->items[i]);
    }
    liana__text_add(&text, ")");
    const char *copy = text.failed ? NULL : liana__arena_string(arena, text.data);
    liana__text_free(&text);
    return copy;
}

liana__value *liana__call_text_to_keras(liana__arena *arena, const char *text, liana__callables kinds)
{
    const liana__callable *kind;
    const void *arguments;
    if (liana__call_text_read(text, kinds, arena, &kind, &arguments, NULL) != LIANA_OK) return NULL;
    liana__value *map = liana__value_map(arena), *config = liana__fields_write(kind->arguments, arena, arguments);
    if (!map || !config) return NULL;
    for (size_t i = 0; i < config->count; i++) {
        liana__value *item = config->items[i];
        if (item->kind == LIANA__VALUE_LIST && item->count == 1) config->items[i] = item->items[0];
    }
    liana__value_set(arena, map, "class_name", liana__value_string(arena, kind->class_name));
    liana__value_set(arena, map, "config", config);
    return map;
}
