/* spans.h - updates of workers that are not in step (distribute/cluster/span.h), until all of a span's are done. Fits,
 * batches of a program and steps of a program's own all run them so. */
#ifndef LIANA_STEP_SPANS_H
#define LIANA_STEP_SPANS_H

#include "distribute/cluster/span.h"
#include "step/exchange.h"
#include "step/step.h"

/* The workers that compute in a try of a span. */
typedef struct liana__span_try {
    bool is_asynchronous; /* an update is one worker's batch; else of the first workers' shares of one batch */
    size_t num_there;     /* workers */
} liana__span_try;

/* The record of a process about a step whose gradients were used. */
typedef struct liana__span_record {
    int64_t total;   /* positions of the whole batch */
    int64_t count;   /* examples of the own share */
    int64_t missing; /* positions of it that have no example */
} liana__span_record;

/* A span. Steps and updates are counted from its first ones. */
typedef struct liana__step_span {
    size_t num_steps;
    uint64_t turn; /* asynchronously, added to the number of a step to find its worker */
    const liana__notes *notes;
    /* Before each try: *generation is that of the cluster in which the shares of batches were divided. NULL: they are
     * divided when they are asked for. */
    liana_status (*begin)(void *user, uint64_t *generation, liana__error *error);
    /* The batch of a step, of which we compute a share; in ascending order. */
    liana_status (*next)(void *user, const liana__span_try *attempt, size_t step, const liana__batch **batch,
                         liana__error *error);
    /* The gradients of this batch were used. NULL: nobody asks. */
    void (*used)(void *user, const liana__batch *batch);
    /* The scalars of an update behind the number of examples, where it is computed. Errors: any. */
    liana_status (*scalars)(void *user, size_t update, float *scalars, liana__error *error);
    /* After all tries, in every process. NULL: nothing. */
    liana_status (*end)(void *user, liana__error *error);
    /* Then the record of each process about each step: steps in order, and in a step processes by rank. */
    void (*add)(void *user, size_t step, const liana__span_record *record, const float *sums);
    void *user;
} liana__step_span;

/* The result of a span: the same in all processes. */
typedef struct liana__span_result {
    liana__span_counts counts;
    liana__span_try attempt; /* the last one */
    liana__span_step *steps; /* [num_steps]; the caller's, zeros before; NULL: nobody asks */
    int64_t *totals;         /* [num_steps]: positions of each batch, 0 where no living process knows; as `steps` */
} liana__span_result;

/* Runs all steps. After a death the other workers do the remaining steps, where no applied gradient is repeated; else
 * the lost examples are counted. All processes call it at the same time, and meet after it. Errors: those of the
 * functions; OUT_OF_RANGE for numbers that are not finite; INVALID_CONFIG for losses that divide by counts of whole
 * batches; those of the cluster; the same in all processes. */
liana_status liana__step_run_span(liana__step *step, const liana__step_span *span, liana__span_result *result,
                                  liana__error *error) LIANA_MUST_USE;

#endif
