/* step_span.h - steps of workers that are not in step: spans of updates (train/spans/span_job.h) of a program's own step. */
#ifndef LIANA_TRAIN_STEP_SPAN_H
#define LIANA_TRAIN_STEP_SPAN_H

#include "train/step/step.h"

/* The steps of one call of a program. */
typedef struct liana__step_call {
    int64_t num_steps;
    const liana_step_many *many;    /* NULL: there is one step, with the batch ... */
    const liana_step_batch *single; /* ... that every process was given */
    uint64_t turn;                  /* asynchronously, added to the number of a step to find its worker */
} liana__step_call;

/* The batch of a step, and the scalars of an update of a call. settings[LIANA_MAX_SETTINGS]. Errors: INVALID_ARGUMENT, those
 * of the program's functions. */
liana_status liana__step_ask_batch(const liana_step *step, const liana__step_call *call, int64_t number,
                                   liana_step_batch *batch, liana__error *error) LIANA_MUST_USE;
liana_status liana__step_ask_scalars(const liana_step *step, const liana__step_call *call, int64_t update,
                                     liana_setting *settings, liana__error *error) LIANA_MUST_USE;

/* Runs the call in spans. `outcomes` and `counts` are zeros; outcomes NULL: nobody asks. Errors are the context's, the same
 * in all processes. */
liana_status liana__step_run_spans(liana_step *step, const liana__step_call *call, liana_step_outcome *outcomes,
                                   liana_step_counts *counts) LIANA_MUST_USE;

#endif
