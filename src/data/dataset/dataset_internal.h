/* dataset_internal.h - elements made ahead: elements that threads make ahead, and that are given in order.
 *
 * The threads claim elements in ascending order, and compute them side by side. For a random-access stage they claim a
 * number, else the next element of its input. Each time the consumer has to wait, more elements may be made ahead,
 * within the iterator's memory. */
#ifndef LIANA_DATA_DATASET_INTERNAL_H
#define LIANA_DATA_DATASET_INTERNAL_H

#include "data/dataset/dataset.h"

typedef struct liana__ahead liana__ahead;

/* For a cursor whose inputs are open. Begins at cursor->index. Errors: OUT_OF_MEMORY, IO_ERROR (no threads). */
liana_status liana__ahead_open(liana__cursor *cursor, liana__ahead **ahead, liana__error *error) LIANA_MUST_USE;
/* Like liana__cursor_next. A failure comes at its place in the order, and is repeated after that. */
liana_status liana__ahead_next(liana__ahead *ahead, liana_element *element, liana__error *error) LIANA_MUST_USE;
/* NULL is allowed. */
void liana__ahead_close(liana__ahead *ahead);

#endif
