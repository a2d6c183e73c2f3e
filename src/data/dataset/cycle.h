/* cycle.h - a cycle of open datasets that give elements in turn, for replayed interleave stages. The order is that of
 * data/dataset/turns.h. */
#ifndef LIANA_DATA_CYCLE_H
#define LIANA_DATA_CYCLE_H

#include "data/dataset/dataset.h"

typedef struct liana__cycle_place {
    liana_dataset *dataset; /* closed together with the place; NULL: owned by another */
    liana__cursor *cursor;  /* NULL: the place is empty */
    uint64_t record;        /* of the stage that opened it */
} liana__cycle_place;

/* Zero-initialise; free with liana__cycle_free. */
typedef struct liana__cycle {
    liana__cycle_place *places;
    size_t length;
    int64_t block_length;
    size_t at;       /* the place of the last element, whose turn it is */
    int64_t given;   /* elements of its block that were given */
    size_t num_open; /* places with a cursor */
    bool drained;    /* there are no more datasets to open */
} liana__cycle;

/* Errors: OUT_OF_MEMORY. */
liana_status liana__cycle_init(liana__cycle *cycle, size_t length, int64_t block_length, liana__error *error)
    LIANA_MUST_USE;
void liana__cycle_free(liana__cycle *cycle);

/* Opens the next dataset of a stage's cursor at a place. LIANA_END_OF_DATA: there is none. The cycle closes the
 * place, also after a failure. */
typedef liana_status (*liana__cycle_open)(liana__cursor *cursor, liana__cycle_place *place, liana__error *error);

/* The next element, from the place `at`. Errors: LIANA_END_OF_DATA, those of `open` and of the elements. */
liana_status liana__cycle_next(liana__cycle *cycle, liana__cursor *cursor, liana__cycle_open open,
                               liana_element *element, liana__error *error) LIANA_MUST_USE;

#endif
