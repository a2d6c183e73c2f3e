/* Reads operations from text. */
#include "layers/operation/operation.h"

#include <stdio.h>
#include <string.h>

bool liana__operation_next(const char **list, char word[32])
{
    while (**list == ' ') (*list)++;
    const size_t length = strcspn(*list, " ");
    if (!length || length >= 32) return false;
    snprintf(word, 32, "%.*s", (int)length, *list);
    *list += length;
    if (word[length - 1] == '*' || word[length - 1] == '+') word[length - 1] = 0;
    return true;
}

bool liana__operation_is_list(const char *list)
{
    return list[-1] == '*' || list[-1] == '+';
}

bool liana__operation_has(const char *list, const char *name)
{
    char word[32];
    while (liana__operation_next(&list, word)) {
        if (strcmp(word, name) == 0) return true;
    }
    return false;
}

/* ---- reading ---- */

enum { MOST_DEPTH = LIANA_MAX_RANK + 1 };

typedef struct reader {
    const char *next;
    liana__arena *arena;
    liana__error *error;
    const char *text;
} reader;

static void skip_blanks(reader *r)
{
    while (*r->next == ' ') r->next++;
}

static liana_status refuse(reader *r, const char *expected)
{
    return liana__fail(r->error, LIANA_INVALID_CONFIG, "found '%.200s', expected %s at character %zu", r->text,
                       expected, (size_t)(r->next - r->text) + 1);
}

/* A text in single quotes. */
static liana_status read_quoted(reader *r, liana__value **value)
{
    const size_t length = strcspn(++r->next, "'");
    if (r->next[length] != '\'') return refuse(r, "a closing quote");
    const char *word = liana__arena_format(r->arena, "%.*s", (int)length, r->next);
    *value = word ? liana__value_string(r->arena, word) : NULL;
    r->next += length + 1;
    return *value ? LIANA_OK : liana__fail_memory(r->error, "an operation");
}

/* A word up to a comma or a bracket, a text in quotes, or a list in brackets. */
static liana_status read_value(reader *r, int depth, liana__value **value)
{
    skip_blanks(r);
    if (*r->next == '\'') return read_quoted(r, value);
    if (*r->next != '[') {
        size_t length = strcspn(r->next, ",[]()");
        const char *after = r->next + length;
        while (length && r->next[length - 1] == ' ') length--;
        if (!length) return refuse(r, "a value");
        const char *word = liana__arena_format(r->arena, "%.*s", (int)length, r->next);
        *value = word ? liana__value_from_word(r->arena, word) : NULL;
        r->next = after;
        return *value ? LIANA_OK : liana__fail_memory(r->error, "an operation");
    }
    if (depth == MOST_DEPTH) return refuse(r, "fewer lists in lists");
    liana__value *list = *value = liana__value_list(r->arena);
    if (!list) return liana__fail_memory(r->error, "an operation");
    r->next++;
    for (skip_blanks(r); *r->next != ']'; skip_blanks(r)) {
        liana__value *item;
        LIANA_TRY(read_value(r, depth + 1, &item));
        liana__value_add(r->arena, list, item);
        skip_blanks(r);
        if (*r->next == ',') {
            r->next++;
        } else if (*r->next != ']') {
            return refuse(r, "',' or ']'");
        }
    }
    r->next++;
    return LIANA_OK;
}

static liana_status read_argument(reader *r, const liana__operation_row *row, liana__value *map)
{
    skip_blanks(r);
    size_t length = strcspn(r->next, "=,()[] ");
    const char *name = liana__arena_format(r->arena, "%.*s", (int)length, r->next);
    if (!name) return liana__fail_memory(r->error, "an operation");
    r->next += length;
    skip_blanks(r);
    if (!length || *r->next != '=') return refuse(r, "'NAME=VALUE'");
    if (!liana__operation_has(row->operands, name) && !liana__operation_has(row->settings, name)) {
        return liana__fail(r->error, LIANA_INVALID_CONFIG,
                           "%s: found the argument '%.60s', expected one of its own: %s%s%s", row->name, name,
                           row->operands, *row->settings ? " " : "", row->settings);
    }
    if (liana__value_get(map, name)) {
        return liana__fail(r->error, LIANA_INVALID_CONFIG, "%s: the argument '%s' is given twice", row->name, name);
    }
    r->next++;
    liana__value *value;
    LIANA_TRY(read_value(r, 0, &value));
    if (value->kind != LIANA__VALUE_NULL) liana__value_set(r->arena, map, name, value);
    return LIANA_OK;
}

static const liana__operation_row *find_row(reader *r, size_t length)
{
    char word[64];
    snprintf(word, sizeof word, "%.*s", (int)(length < 63 ? length : 63), r->next);
    liana__nearest_search search = liana__nearest_begin(word);
    for (const liana__operation_row *row = liana__operations; row->name; row++) {
        if (strcmp(row->name, word) == 0) return row;
        liana__nearest_add(&search, row->name);
    }
    liana__fail(r->error, LIANA_INVALID_CONFIG, "found '%s', which is no function of keras.ops that liana has%s", word,
                liana__hint(search.nearest).text);
    return NULL;
}

liana_status liana__operation_read(const char *text, liana__arena *arena, liana__function_call *operation,
                                   liana__error *error)
{
    reader r = {.next = text, .arena = arena, .error = error, .text = text};
    skip_blanks(&r);
    const size_t length = strcspn(r.next, "( ");
    *operation = (liana__function_call){find_row(&r, length), NULL};
    if (!operation->row) return LIANA_INVALID_CONFIG;
    liana__value *map = liana__value_map(arena);
    if (!map) return liana__fail_memory(error, "an operation");
    operation->arguments = map;
    r.next += length;
    skip_blanks(&r);
    if (!*r.next) return LIANA_OK;
    if (*r.next++ != '(') return refuse(&r, "'('");
    for (skip_blanks(&r); *r.next && *r.next != ')'; skip_blanks(&r)) {
        LIANA_TRY(read_argument(&r, operation->row, map));
        skip_blanks(&r);
        if (*r.next == ',') {
            r.next++;
        } else if (*r.next != ')') {
            return refuse(&r, "',' or ')'");
        }
    }
    if (*r.next != ')' || r.next[1]) return refuse(&r, "')' at the end");
    return LIANA_OK;
}
