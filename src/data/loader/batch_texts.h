/* batch_texts.h - components of batches that the host makes of texts. */
#ifndef LIANA_DATA_BATCH_TEXTS_H
#define LIANA_DATA_BATCH_TEXTS_H

#include "base/error.h"

#include <liana/array.h>
#include <liana/layer.h>

/* The values of an example in a component: texts, or whole numbers, which count as their decimal texts. */
typedef struct liana__given_texts {
    int dtype;
    const void *values;
} liana__given_texts;

/* How the row of an example is made of its texts. */
typedef struct liana__row_of_texts {
    /* Writes the row, which begins as zeros; NULL: the data must be numbers. On any thread. Errors: INVALID_DATA. */
    liana_status (*run)(const void *state, const liana_bytes *texts, void *row, liana__error *error);
    const void *state;
    int64_t count; /* texts of an example, in each component */
    /* The components that it takes, in their order; num_components 0: the one that the row is made from. */
    const char *components[LIANA_MAX_LAYER_INPUTS];
    size_t num_components;
    uint64_t fingerprint; /* of all that a row depends on */
} liana__row_of_texts;

/* The first `count` of them: texts[count]. `digits` has room for count * LIANA__LONGEST_NUMBER. */
enum { LIANA__LONGEST_NUMBER = 24 };
void liana__texts_of(const liana__given_texts *given, int64_t count, liana_bytes *texts, char *digits);

/* Makes the row of an example of what each component gives. Errors: those of `run`; OUT_OF_MEMORY. */
liana_status liana__row_from_texts(const liana__row_of_texts *how, const liana__given_texts *given, void *row,
                                   size_t size, liana__error *error) LIANA_MUST_USE;

/* Whether values of a dtype count as texts. */
bool liana__dtype_has_texts(int dtype);

#endif
