/* batch_span.h - one update of a batch that every process has, where workers are not in step: a span of one step. With first
 * arrivals it is of the shares that came first. Asynchronous workers compute whole batches in turn. */
#ifndef LIANA_TRAIN_BATCH_SPAN_H
#define LIANA_TRAIN_BATCH_SPAN_H

#include "train/core/training.h"

/* Zero-initialise; free it in any case. */
typedef struct liana__batch_span {
    float *sums;   /* of the objective, over the examples whose gradients were used */
    int64_t count; /* of these examples */
} liana__batch_span;

/* The update of the state's next iteration. Adds to the state's counts of gradients. All processes meet after it. Errors:
 * those of liana__trainer_run_span. */
liana_status liana__batch_span_run(liana__training *training, const liana__batch *batch, double rate,
                                   const liana__notes *notes, liana__batch_span *own, liana__error *error)
    LIANA_MUST_USE;
void liana__batch_span_free(liana__batch_span *own);

#endif
