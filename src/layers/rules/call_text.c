/* Reads and writes options that are written as a call. */
#include "layers/rules/call_text.h"

#include "base/other_names.h"

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

/* NULL: there is none of that name. */
static const liana_part *find_part(const liana__kind *kind, const liana_context *context, span word)
{
    const liana_part *part;
    for (size_t i = 0; (part = liana__part_at(context, kind, i)) != NULL; i++) {
        if (liana__part_is_named(part, word.begin, word.length)) return part;
    }
    return NULL;
}

static span name_of(const char *text)
{
    const char *open = strchr(text, '(');
    return trimmed(text, open ? open : text + strlen(text));
}

const char *liana__part_class_name(const liana_part *part)
{
    return part->aliases[0] ? part->aliases[0] : part->name;
}

liana_status liana__call_text_accept(liana_context *context, const liana_part *part)
{
    for (size_t i = 0; i < part->options.count; i++) {
        const liana_option *row = &part->options.items[i];
        const bool fits = row->kind == LIANA_OPTION_BOOL || row->kind == LIANA_OPTION_INT ||
                          row->kind == LIANA_OPTION_FLOAT || row->kind == LIANA_OPTION_ENUM ||
                          liana__field_num_ints(row->kind) || row->kind == LIANA_OPTION_INTS;
        if (fits) continue;
        return liana__part_refuse(context, part,
                                  "its option '%s' is a text; options that are written as \"%s(...)\" are numbers, "
                                  "words and lists of numbers",
                                  row->name, part->name);
    }
    return LIANA_OK;
}

static liana_status fail_unknown(const liana__kind *kind, const liana_context *context, span word, liana__error *error)
{
    char found[MAX_NAME + 1];
    snprintf(found, sizeof found, "%.*s", (int)(word.length < MAX_NAME ? word.length : MAX_NAME), word.begin);
    liana__nearest_search search = liana__nearest_begin_known(found);
    liana__text known = {0};
    const liana_part *part;
    for (size_t i = 0; (part = liana__part_at(context, kind, i)) != NULL; i++) {
        liana__nearest_add_known(&search, part->name);
        liana__text_add(&known, "%s%s", i ? ", " : "", part->name);
    }
    const char *word_of_kind = liana__part_word(kind->kind);
    const char *article = strchr("aeiou", *word_of_kind) ? "an" : "a";
    if (search.nearest) {
        liana__fail(error, LIANA_INVALID_CONFIG, "found '%s', which is not %s %s; did you mean '%s'?", found, article,
                    word_of_kind, search.nearest);
    } else {
        liana__fail(error, LIANA_INVALID_CONFIG, "found '%s', expected %s %s: %s", found, article, word_of_kind,
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
static liana_status read_argument(const liana_part *part, span text, size_t position, liana__arena *arena,
                                  liana__value *map, liana__error *error)
{
    const char *equals = memchr(text.begin, '=', text.length), *end = text.begin + text.length;
    if (!equals && position >= part->options.count) {
        return liana__fail(error, LIANA_INVALID_CONFIG, "%s: found %zu arguments, expected at most %zu", part->name,
                           position + 1, part->options.count);
    }
    span named = equals ? trimmed(text.begin, equals) : (span){0};
    const char *name = equals ? liana__arena_format(arena, "%.*s", (int)named.length, named.begin)
                              : part->options.items[position].name;
    liana__value *value = read_value(arena, equals ? trimmed(equals + 1, end) : text);
    if (!name || !value) return liana__fail_memory(error, part->name);
    if (liana__value_get(map, name)) {
        return liana__fail(error, LIANA_INVALID_CONFIG, "%s: the argument '%.60s' is given twice", part->name, name);
    }
    liana__value_set(arena, map, name, value);
    return LIANA_OK;
}

/* The text between the parentheses, as a map. */
static liana_status read_arguments(const liana_part *part, const char *text, const char *end, liana__arena *arena,
                                   liana__value *map, liana__error *error)
{
    for (size_t position = 0; text < end; position++) {
        const char *stop = argument_end(text, end);
        span argument = trimmed(text, stop);
        if (argument.length) LIANA_TRY(read_argument(part, argument, position, arena, map, error));
        text = stop + 1;
    }
    return LIANA_OK;
}

liana_status liana__call_text_read(const char *text, const liana__kind *kind, const liana_context *context,
                                   liana__arena *arena, const liana_part **found, const void **options,
                                   liana__error *error)
{
    const char *open = strchr(text, '('), *end = text + strlen(text);
    const liana_part *part = find_part(kind, context, name_of(text));
    if (!part) return fail_unknown(kind, context, name_of(text), error);
    if (open && end[-1] != ')') {
        return liana__fail(error, LIANA_INVALID_CONFIG, "found '%.60s', expected ')' at its end", text);
    }
    liana__value *map = liana__value_map(arena);
    void *made = liana__arena_allocate(arena, part->options.size + 1);
    if (!map || !made) return liana__fail_memory(error, part->name);
    if (open) LIANA_TRY(read_arguments(part, open + 1, end - 1, arena, map, error));
    LIANA_TRY(liana__fields_read(&part->options, map, part->name, NULL, arena, made, error));
    *found = part;
    *options = part->options.size ? made : NULL;
    return liana__part_check(part, context, made, NULL, part->name, error);
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

const char *liana__call_text_from_keras(liana__arena *arena, const liana__value *value, const liana__kind *kind,
                                        const liana_context *context)
{
    bool is_map = value->kind == LIANA__VALUE_MAP;
    const liana__value *name = is_map ? liana__value_get(value, "class_name") : value;
    if (!name || name->kind != LIANA__VALUE_STRING) return NULL;
    const liana_part *part = find_part(kind, context, trimmed(name->string, name->string + strlen(name->string)));
    if (!part && is_map) return NULL;
    const liana__value *config = is_map ? liana__value_get(value, "config") : NULL;
    if (!part || !config || config->kind != LIANA__VALUE_MAP) return part ? part->name : name->string;
    liana__text text = {0};
    liana__text_add(&text, "%s(", part->name);
    for (size_t i = 0; i < config->count; i++) {
        liana__text_add(&text, "%s%s=", i ? ", " : "", config->keys[i]);
        write_value(&text, config->items[i]);
    }
    liana__text_add(&text, ")");
    const char *copy = text.failed ? NULL : liana__arena_string(arena, text.data);
    liana__text_free(&text);
    return copy;
}

liana__value *liana__call_text_to_keras(liana__arena *arena, const char *text, const liana__kind *kind,
                                        const liana_context *context)
{
    const liana_part *part;
    const void *options;
    if (liana__call_text_read(text, kind, context, arena, &part, &options, NULL) != LIANA_OK) return NULL;
    liana__value *map = liana__value_map(arena), *config = liana__fields_write(&part->options, arena, options);
    if (!map || !config) return NULL;
    for (size_t i = 0; i < config->count; i++) {
        liana__value *item = config->items[i];
        if (item->kind == LIANA__VALUE_LIST && item->count == 1) config->items[i] = item->items[0];
    }
    liana__value_set(arena, map, "class_name", liana__value_string(arena, liana__part_class_name(part)));
    liana__value_set(arena, map, "config", config);
    return map;
}
