/* stacked.h - several elements as one, along a new first dimension: batches and windows. */
#ifndef LIANA_DATA_STACKED_H
#define LIANA_DATA_STACKED_H

#include "data/dataset/dataset.h"

/* The components of `spec` with a new first dimension, which may be unknown. Errors: INVALID_ARGUMENT (a dimension is
 * unknown, too many dimensions). */
liana_status liana__stacked_components(const liana__spec *spec, int64_t rows, liana_component *components,
                                       liana__error *error) LIANA_MUST_USE;
/* Copies an element to row `row` of the components. */
liana_status liana__stacked_put(liana__holder *store, int64_t row, const liana_element *element, liana__error *error)
    LIANA_MUST_USE;
/* Makes an element of the rows that were put. `count` is their number where the spec does not know it. */
void liana__stacked_finish(liana__holder *store, int64_t count, liana_element *element);

#endif
