/* step_workers.h - one step that several processes share: our positions, and the findings of all of them. */
#ifndef LIANA_DATA_STEP_WORKERS_H
#define LIANA_DATA_STEP_WORKERS_H

#include "data/loader/gaps.h"
#include "data/loader/workers.h"

/* Makes room for steps of at most `batch_size` positions. `one_reader`: of a stream. Errors: OUT_OF_MEMORY; call
 * liana__step_workers_free then, too. */
liana_status liana__step_workers_make(liana__step_workers *step, const liana__input_workers *workers,
                                      int64_t batch_size, bool one_reader, liana__error *error) LIANA_MUST_USE;
void liana__step_workers_free(liana__step_workers *step);

/* Divides step `number` of an epoch, of `num_positions`, of which we make [*begin, *end). */
void liana__step_workers_divide(liana__step_workers *step, const liana__input_workers *workers, uint64_t number,
                                int64_t num_positions, int64_t *begin, int64_t *end);

/* The findings of one process in its positions of a step. */
typedef struct liana__step_findings {
    const liana__error *failure; /* its first; NULL: none */
    const liana__gaps *gaps;     /* their examples are numbered from the first of its positions */
} liana__step_findings;

/* Tells our findings, and hears those of the others: `gaps` receives those of all, in order, numbered in the whole
 * step; shard_counts and num_examples are set. *failed: a process failed; `failure` is that of the first position, and
 * the rest is not set. Errors: those of `gather`; INTERNAL (not a message), OUT_OF_MEMORY. */
liana_status liana__step_workers_meet(liana__step_workers *step, const liana__input_workers *workers,
                                      int64_t num_positions, const liana__step_findings *own, liana__gaps *gaps,
                                      bool *failed, liana__error *failure, liana__error *error) LIANA_MUST_USE;

#endif
