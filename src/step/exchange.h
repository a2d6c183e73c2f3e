/* exchange.h - how a strategy's exchange of gradients changes steps and results: whether workers are in step, the owner
 * of a step, and the reason for other bits than those of one process. */
#ifndef LIANA_STEP_EXCHANGE_H
#define LIANA_STEP_EXCHANGE_H

#include "base/notes.h"
#include "distribute/cluster/cluster.h"
#include "distribute/strategy.h"

/* The most updates until all processes meet; 0: the workers are in step. `cluster` NULL: this process is alone. */
size_t liana__span_steps_of(const liana__strategy *strategy, const void *options, const liana__cluster *cluster);

/* The effect of the exchange of gradients on results. */
typedef struct liana__exchange_reason {
    char exchange[96]; /* liana__strategy.describe_arithmetic; empty: they are the bits of one process */
    char text[160];    /* "gradients are exchanged with ...", or empty */
} liana__exchange_reason;
/* Finds it, and tells it if there is something to tell. True: results are not reproducible. */
bool liana__note_exchange(const liana__strategy *strategy, const void *options, const liana__cluster *cluster,
                          const liana__notes *notes, liana__exchange_reason *reason);

/* Whose step it is, asynchronously: of the workers that are left, worker `step` modulo their number. So the steps of
 * one that is gone are spread over all others. */
size_t liana__span_owner(const liana__cluster *cluster, uint64_t step);

#endif
