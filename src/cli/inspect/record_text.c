/* Prints one record for people. */
#include "base/scoped.h"
#include "cli/inspect/inspect.h"

#include <inttypes.h>
#include <string.h>

enum { WIDTH = 100, INDENT = 4 };

static void add_value(liana__text *text, const liana__value *value);

/* {bytes: 4, hex: 00 01}: "bytes 4, hex 00 01". */
static void add_map(liana__text *text, const liana__value *map)
{
    for (size_t i = 0; i < map->count; i++) {
        liana__text_add(text, "%s%s ", i ? ", " : "", map->keys[i]);
        add_value(text, map->items[i]);
    }
}

static void add_value(liana__text *text, const liana__value *value)
{
    switch (value->kind) {
    case LIANA__VALUE_INT: liana__text_add(text, "%" PRId64, value->integer); break;
    case LIANA__VALUE_FLOAT: liana__text_add_double(text, value->number); break;
    case LIANA__VALUE_STRING: liana__text_add(text, "%s", value->string); break;
    case LIANA__VALUE_MAP: add_map(text, value); break;
    default: liana__value_write_json(value, 0, text); break;
    }
}

static bool is_number(const liana__value *value)
{
    return value->kind == LIANA__VALUE_INT || value->kind == LIANA__VALUE_FLOAT;
}

/* A text has lines of its own; numbers share theirs. */
static void print_values(const liana__value *values, FILE *out)
{
    size_t column = 0;
    for (size_t i = 0; i < values->count; i++) {
        LIANA__SCOPED(liana__text) text = {0};
        const liana__value *value = values->items[i];
        add_value(&text, value);
        const char *shown = text.data ? text.data : "";
        const bool fits = column && is_number(value) && column + 1 + text.length < WIDTH;
        if (i && !fits) fputc('\n', out);
        column = fits ? column + 1 + text.length : INDENT + text.length;
        fprintf(out, "%*s", fits ? 1 : INDENT, "");
        liana__print_plainly(out, shown);
    }
    if (values->count) fputc('\n', out);
}

static const char *text_of(const liana__value *row, const char *key)
{
    const liana__value *value = liana__value_get(row, key);
    return value && value->kind == LIANA__VALUE_STRING ? value->string : "";
}

/* "pixels: u8 [28, 28]", "class: int64", then the values. */
static void print_feature(const liana__value *row, FILE *out)
{
    const liana__value *shape = liana__value_get(row, "shape"), *values = liana__value_get(row, "values");
    LIANA__SCOPED(liana__text) line = {0};
    liana__text_add(&line, "%s: %s", text_of(row, "feature"), text_of(row, "kind"));
    if (shape) liana__text_add(&line, " ");
    if (shape) liana__value_write_json(shape, 0, &line);
    if (values->count != 1) liana__text_add(&line, ", %zu values", values->count);
    if (liana__value_get(row, "class")) liana__text_add(&line, ", the class %s", text_of(row, "class"));
    liana__print_plainly(out, line.data ? line.data : "");
    fputc('\n', out);
    print_values(values, out);
}

void liana__record_print(const liana__value *report, FILE *out)
{
    for (size_t i = 0; i < report->count; i++) {
        const liana__value *item = report->items[i];
        if (strcmp(report->keys[i], "event") == 0 || item->kind == LIANA__VALUE_LIST) continue;
        LIANA__SCOPED(liana__text) text = {0};
        add_value(&text, item);
        fprintf(out, "%s: ", report->keys[i]);
        liana__print_plainly(out, text.data ? text.data : "");
        fputc('\n', out);
    }
    const liana__value *features = liana__value_get(report, "features");
    for (size_t i = 0; features && i < features->count; i++) print_feature(features->items[i], out);
}
