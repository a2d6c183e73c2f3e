/* Reads and writes cells and rows of tables. */
#include "formats/csv.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* Cells are unquoted in place: a cell is never longer than its text in the file, and ends before the next one
 * begins. */
typedef struct csv_reader {
    const char *name;
    char *at;
    char *end;
    char delimiter;
    bool plain_quotes;
    size_t line;
} csv_reader;

static liana_status add_cell(liana__csv *csv, const char *cell, liana__error *error)
{
    if (!liana__grow(&csv->cells, csv->num_cells, &csv->capacity, sizeof *csv->cells)) {
        return liana__fail_memory(error, "a table");
    }
    csv->cells[csv->num_cells++] = cell;
    return LIANA_OK;
}

/* Reads a quoted cell, from after its first quote; leaves `at` after the last one. */
static liana_status read_quoted(csv_reader *reader, char **cell, char **cell_end, liana__error *error)
{
    size_t began = reader->line;
    char *to = *cell = reader->at;
    for (;;) {
        if (reader->at == reader->end) {
            return liana__fail(error, LIANA_INVALID_DATA,
                               "'%s', line %zu: a cell begins with a quote (\") but does not end with one",
                               reader->name, began);
        }
        char next = *reader->at++;
        if (next == '"') {
            if (reader->at == reader->end || *reader->at != '"') break;
            reader->at++;
        }
        if (next == '\n') reader->line++;
        *to++ = next;
    }
    *cell_end = to;
    return LIANA_OK;
}

static bool at_line_end(const csv_reader *reader)
{
    if (reader->at == reader->end || *reader->at == '\n') return true;
    return *reader->at == '\r' && (reader->at + 1 == reader->end || reader->at[1] == '\n');
}

static liana_status read_cell(csv_reader *reader, char **cell, char **cell_end, liana__error *error)
{
    if (reader->at < reader->end && *reader->at == '"' && !reader->plain_quotes) {
        reader->at++;
        LIANA_TRY(read_quoted(reader, cell, cell_end, error));
        if (at_line_end(reader) || *reader->at == reader->delimiter) return LIANA_OK;
        return liana__fail(error, LIANA_INVALID_DATA,
                           "'%s', line %zu: text between the end of a quoted cell and the next %s; write a quote "
                           "inside a cell twice (\"\")",
                           reader->name, reader->line,
                           reader->delimiter == '\t'  ? "tab"
                           : reader->delimiter == ',' ? "comma"
                                                      : "delimiter");
    }
    *cell = reader->at;
    while (!at_line_end(reader) && *reader->at != reader->delimiter) reader->at++;
    *cell_end = reader->at;
    return LIANA_OK;
}

/* A row's cells from `first` on become as many as the first row has, all empty. */
static liana_status empty_cells(liana__csv *csv, size_t first, liana__error *error)
{
    csv->num_ragged++;
    csv->num_cells = first;
    for (size_t i = 0; i < csv->num_columns; i++) LIANA_TRY(add_cell(csv, "", error));
    return LIANA_OK;
}

static liana_status read_row(csv_reader *reader, liana__csv *csv, liana__error *error)
{
    size_t line = reader->line, first = csv->num_cells;
    bool more = true;
    while (more) {
        char *cell = NULL, *cell_end = NULL;
        LIANA_TRY(read_cell(reader, &cell, &cell_end, error));
        more = !at_line_end(reader);
        if (!more && reader->at < reader->end && *reader->at == '\r') reader->at++;
        if (!more) reader->line++;
        if (reader->at < reader->end) reader->at++;
        *cell_end = 0; /* where the delimiter, the line end or the quote was */
        LIANA_TRY(add_cell(csv, cell, error));
    }
    size_t found = csv->num_cells - first;
    if (csv->num_rows == 0) csv->num_columns = found;
    if (found != csv->num_columns && csv->keep_ragged) {
        LIANA_TRY(empty_cells(csv, first, error));
    } else if (found != csv->num_columns) {
        return liana__fail(error, LIANA_INVALID_DATA, "'%s', line %zu: found %zu cells, expected %zu as in line %zu",
                           reader->name, line, found, csv->num_columns, csv->lines[0]);
    }
    if (!liana__grow(&csv->lines, csv->num_rows, &csv->lines_capacity, sizeof *csv->lines)) {
        return liana__fail_memory(error, "a table");
    }
    csv->lines[csv->num_rows++] = line;
    return LIANA_OK;
}

static liana_status read_rows(csv_reader *reader, liana__csv *csv, liana__error *error)
{
    while (reader->at < reader->end) {
        if (at_line_end(reader)) {
            if (*reader->at == '\r') reader->at++;
            if (reader->at < reader->end) reader->at++;
            reader->line++;
            continue;
        }
        LIANA_TRY(read_row(reader, csv, error));
        csv->size = (size_t)(reader->at - csv->text);
    }
    return LIANA_OK;
}

/* Where lines end with CR alone, they end with LF from here on. */
static void end_lines(char *text, size_t size)
{
    if (memchr(text, '\n', size)) return;
    for (char *at = text; (at = memchr(at, '\r', size - (size_t)(at - text))); at++) *at = '\n';
}

static size_t count_lines(const char *text, const char *end)
{
    size_t count = 1;
    for (; text < end; text++) count += *text == '\n';
    return count;
}

liana_status liana__csv_parse(const char *name, const char *text, size_t size, char delimiter, liana__csv *csv,
                              liana__error *error)
{
    const char *zero = size ? memchr(text, 0, size) : NULL;
    if (zero) {
        return liana__fail(error, LIANA_INVALID_DATA, "'%s', line %zu: a NUL byte; this is not a text file", name,
                           count_lines(text, zero));
    }
    csv->text = malloc(size + 1);
    if (!csv->text) return liana__fail_memory(error, name);
    if (size) memcpy(csv->text, text, size);
    csv->text[size] = 0;
    end_lines(csv->text, size);
    csv_reader reader = {name, csv->text, csv->text + size, delimiter, csv->plain_quotes, 1};
    if (size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) reader.at += 3;
    return read_rows(&reader, csv, error);
}

void liana__csv_free(liana__csv *csv)
{
    free(csv->cells);
    free(csv->lines);
    free(csv->text);
    *csv = (liana__csv){0};
}

void liana__csv_trim_column(liana__csv *csv, size_t first, size_t column)
{
    for (size_t row = first; row < csv->num_rows; row++) {
        const char **cell = &csv->cells[row * csv->num_columns + column];
        if (!**cell) continue; /* it may be a constant */
        *cell += strspn(*cell, " \t");
        size_t length = strlen(*cell);
        while (length && strchr(" \t", (*cell)[length - 1])) length--;
        csv->text[(size_t)(*cell - csv->text) + length] = 0;
    }
}

void liana__csv_add(liana__text *row, const char *cell)
{
    if (!strpbrk(cell, ",\"\r\n")) {
        liana__text_add(row, "%s", cell);
        return;
    }
    liana__text_add(row, "\"");
    for (; *cell; cell++) {
        if (*cell == '"') liana__text_add(row, "\"");
        liana__text_add_bytes(row, cell, 1);
    }
    liana__text_add(row, "\"");
}
