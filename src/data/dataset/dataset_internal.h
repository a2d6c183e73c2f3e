/* dataset_internal.h - elements made ahead by threads of their own, and given in order: ahead.c makes them for cursors.
 *
 * The threads claim elements in ascending order - of a random-access stage by number, otherwise by taking the next one
 * of its input - and compute them side by side. There are as many elements under way as the consumer turned out to
 * need: each time that it has to wait there may be more, within the iterator's memory. */
#ifndef LIANA_DATA_DATASET_INTERNAL_H
#define LIANA_DATA_DATASET_INTERNAL_H

#include "data/dataset/dataset.h"

typedef struct liana__ahead liana__ahead;

/* For a cursor whose inputs are open; begins at cursor->index. Errors: OUT_OF_MEMORY, IO_ERROR (no threads). */
liana_status liana__ahead_open(liana__cursor *cursor, liana__ahead **ahead, liana__error *error) LIANA_MUST_USE;
/* As liana__cursor_next. A failure comes in its place in the order, and again each time after that. */
liana_status liana__ahead_next(liana__ahead *ahead, liana_element *element, liana__error *error) LIANA_MUST_USE;
/* NULL is allowed. */
void liana__ahead_close(liana__ahead *ahead);

#endif
