/* csv_columns.h - columns of CSV files as values of components, for all rows of the files. */
#ifndef LIANA_DATA_CSV_COLUMNS_H
#define LIANA_DATA_CSV_COLUMNS_H

#include "base/memory.h"
#include "data/source/columns.h"
#include "formats/csv.h"

#include <liana/data_parts.h>

/* One file. Without a header its columns are called "0", "1", ... A file that was lost has no rows. */
typedef struct liana__csv_table {
    const char *path;
    const liana__csv *csv;
    size_t first_row; /* 1 behind a header */
} liana__csv_table;

typedef struct liana__csv_request {
    const liana__csv_table *tables;
    size_t count;
    /* The wanted columns. Those of other data (a source's `columns`) have their dtypes and vocabularies already. NULL:
     * each column that is not `used` becomes a component of its name. */
    const liana__columns *columns;
    const int *used; /* columns of the first file with rows that are no values: label, id, image */
    size_t num_used;
    bool has_label, has_id; /* `used` has one: no other column can be a component of that name by itself */
    bool optional;          /* leave out components whose columns are missing: data to predict may lack targets */
    bool skip_damage;       /* most cells decide the kind of a column, not all */
    /* The rows that give means, medians and boundaries: the first `take` (0: all) without those held out. */
    uint64_t take;
    const liana_record_address *held_out;
    size_t num_held_out;
} liana__csv_request;

/* Zero-initialise; free with liana__csv_columns_free. */
typedef struct liana__csv_columns {
    liana__arena *arena;
    liana__columns columns; /* with dtypes, vocabularies and all names; for later data */
    liana__column_components components;
    char *values[LIANA_MAX_COMPONENTS]; /* [rows, size] of each */
    int *places; /* [count of tables, num_places]: the column of each name in `from`, of all columns in order */
    size_t num_places;
} liana__csv_columns;

/* Whether the first row has the names of columns: no cell of it is a number. */
bool liana__csv_has_header(const liana__csv *csv);
/* Sets used[i] for each column i of the file that some component is made of ('*' counts none). `columns` may be NULL.
 * Errors: those of finding. */
liana_status liana__csv_mark_used(const liana__csv_table *table, const liana__columns *columns, bool *used,
                                  liana__error *error) LIANA_MUST_USE;

/* Finds columns, dtypes and vocabularies, and makes room for the values of `num_rows` rows. `arena` keeps names and
 * texts, and must outlive the result. Errors: INVALID_DATA (no such column; names the nearest), INVALID_CONFIG (too
 * many components), OUT_OF_MEMORY. */
liana_status liana__csv_columns_find(const liana__csv_request *request, uint64_t num_rows, liana__arena *arena,
                                     liana__csv_columns *found, liana__error *error) LIANA_MUST_USE;
/* Reads a row of a file as values number `index`. Errors: "line N, column 'NAME': ..." INVALID_DATA, OUT_OF_RANGE. */
liana_status liana__csv_columns_read(liana__csv_columns *columns, const liana__csv_table *tables, size_t table,
                                     size_t row, uint64_t index, liana__error *error) LIANA_MUST_USE;
size_t liana__csv_columns_memory(const liana__csv_columns *columns, uint64_t num_rows);
void liana__csv_columns_free(liana__csv_columns *columns);

#endif
