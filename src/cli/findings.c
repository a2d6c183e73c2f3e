/* Prints the findings of liana inspect, for people. */
#include "cli/findings.h"

#include "base/format.h"
#include "base/scoped.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <string.h>

enum { MAX_COLUMNS = 12, MAX_WIDTH = 60 };

static void add_scalar(liana__text *text, const liana__value *value)
{
    switch (value->kind) {
    case LIANA__VALUE_NULL: liana__text_add(text, "-"); break;
    case LIANA__VALUE_BOOL: liana__text_add(text, value->boolean ? "yes" : "no"); break;
    case LIANA__VALUE_INT: liana__text_add(text, "%" PRId64, value->integer); break;
    case LIANA__VALUE_FLOAT: liana__text_add_double(text, value->number); break;
    case LIANA__VALUE_STRING: liana__text_add(text, "%s", value->string); break;
    default: liana__value_write_json(value, 0, text); break;
    }
    /* Text from files must not control the terminal. */
    if (text->data) liana__make_visible(text->data);
}

/* Letters on the screen, for alignment: bytes that do not continue a UTF-8 character. */
static int letters(const liana__text *text)
{
    int count = 0;
    for (size_t i = 0; i < text->length; i++) count += ((unsigned char)text->data[i] & 0xc0) != 0x80;
    return count;
}

/* Adds a cell, padded to the width; numbers to the right. */
static void add_cell(liana__text *line, const liana__value *value, int width)
{
    LIANA__SCOPED(liana__text) text = {0};
    if (value) add_scalar(&text, value);
    int padding = width - letters(&text);
    if (padding < 0) padding = 0;
    bool number = value && (value->kind == LIANA__VALUE_INT || value->kind == LIANA__VALUE_FLOAT);
    const char *shown = text.data ? text.data : "";
    if (number) {
        liana__text_add(line, "  %*s%s", padding, "", shown);
    } else {
        liana__text_add(line, "  %s%*s", shown, padding, "");
    }
}

/* Prints a line without the spaces at its end. */
static void print_line(liana__text *line, FILE *out)
{
    while (line->length > 0 && line->data[line->length - 1] == ' ') line->length--;
    if (line->data) line->data[line->length] = 0;
    liana__print_plainly(out, line->data ? line->data : "");
    fputc('\n', out);
    line->length = 0;
}

static int width_of(const liana__value *value)
{
    LIANA__SCOPED(liana__text) text = {0};
    add_scalar(&text, value);
    int width = letters(&text);

    return width < MAX_WIDTH ? width : MAX_WIDTH;
}

/* The keys of the rows are the columns, in the order in which they are met. */
static void print_table(const liana__value *rows, int indent, FILE *out)
{
    const char *columns[MAX_COLUMNS];
    int widths[MAX_COLUMNS], num_columns = 0;
    for (size_t r = 0; r < rows->count; r++) {
        const liana__value *row = rows->items[r];
        for (size_t k = 0; k < row->count; k++) {
            int column = 0;
            while (column < num_columns && strcmp(columns[column], row->keys[k]) != 0) column++;
            if (column == MAX_COLUMNS) continue;
            if (column == num_columns) {
                columns[num_columns] = row->keys[k];
                widths[num_columns++] = (int)strlen(row->keys[k]);
            }
            int width = width_of(row->items[k]);
            if (width > widths[column]) widths[column] = width;
        }
    }
    LIANA__SCOPED(liana__text) line = {0};
    liana__text_add(&line, "%*s", indent, "");
    for (int column = 0; column < num_columns; column++) {
        const liana__value name = {.kind = LIANA__VALUE_STRING, .string = columns[column]};
        add_cell(&line, &name, widths[column]);
    }
    print_line(&line, out);
    for (size_t r = 0; r < rows->count; r++) {
        liana__text_add(&line, "%*s", indent, "");
        for (int column = 0; column < num_columns; column++) {
            add_cell(&line, liana__value_get(rows->items[r], columns[column]), widths[column]);
        }
        print_line(&line, out);
    }
}

/* Maps in a row become columns of their own: training: {count: 5} is training.count: 5. */
static void flatten(const liana__value *row, const char *prefix, liana__value *flat, liana__arena *arena)
{
    for (size_t i = 0; i < row->count; i++) {
        const char *key = *prefix ? liana__arena_format(arena, "%s.%s", prefix, row->keys[i]) : row->keys[i];
        if (!key) return;
        if (row->items[i]->kind == LIANA__VALUE_MAP) {
            flatten(row->items[i], key, flat, arena);
        } else {
            liana__value_set(arena, flat, key, row->items[i]);
        }
    }
}

/* NULL: out of memory. */
static const liana__value *flatten_rows(const liana__value *rows, liana__arena *arena)
{
    liana__value *flat = liana__value_list(arena);
    for (size_t i = 0; i < rows->count; i++) {
        liana__value *row = liana__value_map(arena);
        if (row) flatten(rows->items[i], "", row, arena);
        liana__value_add(arena, flat, row);
    }
    return arena->failed ? NULL : flat;
}

static bool is_table(const liana__value *value)
{
    bool maps = value->kind == LIANA__VALUE_LIST && value->count > 0;
    for (size_t i = 0; maps && i < value->count; i++) maps = value->items[i]->kind == LIANA__VALUE_MAP;
    return maps;
}

/* A value on one line; of a long list or text only its beginning. */
static void print_scalar(const char *key, const liana__value *value, int indent, FILE *out)
{
    enum { LONGEST_LIST = 100, LONGEST_TEXT = 500 };
    LIANA__SCOPED(liana__text) text = {0};
    add_scalar(&text, value);
    const char *shown = text.data ? text.data : "";
    const bool is_list = value->kind == LIANA__VALUE_LIST;
    const size_t most = is_list ? LONGEST_LIST : LONGEST_TEXT;
    size_t length = text.length < most ? text.length : most;
    while (length < text.length && length && ((unsigned char)shown[length] & 0xc0) == 0x80) length--;
    fprintf(out, "%*s", indent, "");
    liana__print_plainly(out, key);
    fprintf(out, ": %.*s", (int)length, shown);
    if (length < text.length && is_list) fprintf(out, "... (%zu values)", value->count);
    if (length < text.length && !is_list) fprintf(out, "... (%zu bytes)", text.length);
    fprintf(out, "\n");
}

static void print_value(const char *key, const liana__value *value, int indent, FILE *out);

static void print_rows(const char *key, const liana__value *rows, int indent, FILE *out)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    const liana__value *flat = flatten_rows(rows, &arena);
    fprintf(out, "%*s%s (%zu)\n", indent, "", key, rows->count);
    if (flat) print_table(flat, indent, out);
}

static void print_value(const char *key, const liana__value *value, int indent, FILE *out)
{
    if (is_table(value)) {
        print_rows(key, value, indent, out);
    } else if (value->kind == LIANA__VALUE_MAP && value->count) {
        fprintf(out, "%*s%s:\n", indent, "", key);
        for (size_t i = 0; i < value->count; i++) print_value(value->keys[i], value->items[i], indent + 2, out);
    } else {
        print_scalar(key, value, indent, out);
    }
}

void liana__findings_print(const liana__value *report, FILE *out)
{
    for (size_t i = 0; i < report->count; i++) {
        if (strcmp(report->keys[i], "event") == 0) continue;
        print_value(report->keys[i], report->items[i], 0, out);
    }
}

void liana__findings_text(liana__arena *arena, liana__value *map, const char *key, const char *text)
{
    liana__value_set(arena, map, key, text ? liana__value_string(arena, text) : liana__value_null(arena));
}

void liana__findings_int(liana__arena *arena, liana__value *map, const char *key, int64_t number)
{
    liana__value_set(arena, map, key, liana__value_int(arena, number));
}

/* Floats of files have 7 digits; the others are of the conversion to double. */
void liana__findings_number(liana__arena *arena, liana__value *map, const char *key, double number)
{
    char text[40], *end;
    liana__format(text, sizeof text, "%.7g", number);
    liana__value_set(arena, map, key, liana__value_float(arena, liana__parse_double(text, &end)));
}

void liana__findings_shape(liana__arena *arena, liana__value *map, const char *key, const int64_t *dims, int rank)
{
    liana__value *list = liana__value_list(arena);
    for (int axis = 0; axis < rank; axis++) liana__value_add(arena, list, liana__value_int(arena, dims[axis]));
    liana__value_set(arena, map, key, list);
}
