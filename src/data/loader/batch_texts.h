/* batch_texts.h - components of batches that the host makes of texts. */
#ifndef LIANA_DATA_BATCH_TEXTS_H
#define LIANA_DATA_BATCH_TEXTS_H

#include "base/error.h"

#include <liana/array.h>

/* How the row of an example is made of its texts. */
typedef struct liana__row_of_texts {
    /* Writes the row, which begins as zeros; NULL: the data must be numbers. On any thread. Errors: INVALID_DATA. */
    liana_status (*run)(const void *state, const liana_bytes *texts, void *row, liana__error *error);
    const void *state;
    int64_t count;        /* texts of an example */
    uint64_t fingerprint; /* of all that a row depends on */
} liana__row_of_texts;

/* Makes the row of an example of `values`, which are texts, or whole numbers: these count as their decimal texts.
 * Errors: those of `run`; INVALID_DATA (other numbers), OUT_OF_MEMORY. */
liana_status liana__row_from_texts(const liana__row_of_texts *how, int dtype, const void *values, void *row,
                                   size_t size, liana__error *error) LIANA_MUST_USE;

/* Whether values of a dtype count as texts. */
bool liana__dtype_has_texts(int dtype);

#endif
