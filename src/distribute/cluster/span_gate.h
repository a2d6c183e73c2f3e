/* span_gate.h - which worker may begin, so that no gradient becomes staler than a bound: pure arithmetic.
 *
 * The staleness of a gradient is the number of updates between the fetching of the weights that it was computed with
 * and its own update. Those can only be updates of workers that compute at the same time for a while. So a worker may
 * begin if it and all that compute then overlap with at most `most` others each. A worker that is ahead waits for the
 * slow ones only when they could become too stale. */
#ifndef LIANA_DISTRIBUTE_SPAN_GATE_H
#define LIANA_DISTRIBUTE_SPAN_GATE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct liana__span_gate_worker {
    bool waits, computes;
    uint64_t turn;     /* of asking */
    uint64_t overlaps; /* with others, while it computes */
} liana__span_gate_worker;

typedef struct liana__span_gate {
    size_t num_workers;
    uint64_t most; /* the bound */
    uint64_t num_computing, next_turn;
    liana__span_gate_worker *workers;
} liana__span_gate;

/* Errors: OUT_OF_MEMORY. Free it in any case. */
liana_status liana__span_gate_create(size_t num_workers, uint64_t most, liana__span_gate *gate, liana__error *error)
    LIANA_MUST_USE;
void liana__span_gate_free(liana__span_gate *gate);

/* A worker wants to begin. */
void liana__span_gate_ask(liana__span_gate *gate, size_t worker);
/* The next worker that may; it computes from now on. They begin in the order in which they asked. False: none may. */
bool liana__span_gate_admit(liana__span_gate *gate, size_t *worker);
/* A worker's gradients are applied everywhere; or it has ended. */
void liana__span_gate_done(liana__span_gate *gate, size_t worker);

#endif
