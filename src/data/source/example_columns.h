/* example_columns.h - features of tf.Examples as values of components. */
#ifndef LIANA_DATA_EXAMPLE_COLUMNS_H
#define LIANA_DATA_EXAMPLE_COLUMNS_H

#include "base/memory.h"
#include "data/source/columns.h"
#include "formats/example.h"

typedef struct liana__example_columns {
    liana__columns columns; /* with dtypes; for later data */
    liana__column_components components;
    size_t offsets[LIANA_MAX_COMPONENTS]; /* of each in the memory of an example */
    size_t size;                          /* of that memory */
} liana__example_columns;

/* Finds the dtypes by an example of the data. `optional`: components whose features it lacks are left out. Names are in
 * the arena. Errors: INVALID_CONFIG (a category without a vocabulary, '*', too many components), OUT_OF_MEMORY. */
liana_status liana__example_columns_find(const liana__columns *wanted, bool optional, const liana__example *pattern,
                                         liana__arena *arena, liana__example_columns *found, liana__error *error)
    LIANA_MUST_USE;
/* Writes the values of an example into memory[size], aligned to LIANA__ALIGNMENT. Strings are borrowed from the
 * example. Errors, which name the feature: NOT_FOUND, INVALID_DATA, OUT_OF_RANGE. */
liana_status liana__example_columns_read(const liana__example_columns *columns, const liana__example *example,
                                         char *memory, liana__error *error) LIANA_MUST_USE;

#endif
