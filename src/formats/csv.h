/* csv.h - tables of text: rows of cells, with commas (RFC 4180), tabs or another character between them.
 *
 * A cell may be in double quotes, unless plain_quotes is set. It may then contain the delimiter, line ends, and quotes,
 * which are doubled. Lines end with LF or CR LF, or with CR where the text has no LF. Empty lines and a byte order mark
 * are left out. Bytes are kept as they are (UTF-8 or any other). */
#ifndef LIANA_FORMATS_CSV_H
#define LIANA_FORMATS_CSV_H

#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>

/* Zero-initialise; free with liana__csv_free. */
typedef struct liana__csv {
    /* Set by the caller: a quote is a character like others. */
    bool plain_quotes;
    /* Set by the caller: a row with another number of cells than the first is no error; its cells are empty. */
    bool keep_ragged;
    size_t num_ragged;
    size_t num_rows;
    size_t num_columns;
    const char **cells; /* [num_rows, num_columns] */
    size_t *lines;      /* [num_rows] the line at which each row begins, from 1 */
    size_t size;        /* of the text up to the end of the last complete row */
    char *text;         /* the memory of the cells */
    size_t capacity;
    size_t lines_capacity;
    size_t num_cells;
} liana__csv;

/* Parses text[size]; `name` is the file's, for messages. All rows must have as many cells as the first one, unless
 * keep_ragged is set. After an error, the rows before it are there. Errors: INVALID_DATA with the line (another number
 * of cells, a quote that does not end, text between a quoted cell and the delimiter, a NUL byte), OUT_OF_MEMORY. */
liana_status liana__csv_parse(const char *name, const char *text, size_t size, char delimiter, liana__csv *csv,
                              liana__error *error) LIANA_MUST_USE;
void liana__csv_free(liana__csv *csv);

/* Leaves out the blanks at the ends of a column's cells, from row `first` on. */
void liana__csv_trim_column(liana__csv *csv, size_t first, size_t column);

/* Adds a cell to a row with commas: in quotes, its own quotes doubled, where it has a comma, a quote or a line break
 * (RFC 4180). */
void liana__csv_add(liana__text *row, const char *cell);

static inline const char *liana__csv_cell(const liana__csv *csv, size_t row, size_t column)
{
    return csv->cells[row * csv->num_columns + column];
}

#endif
