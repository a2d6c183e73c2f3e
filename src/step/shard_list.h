/* shard_list.h - the leaves of a batch: its shards that have examples, and which process has which. */
#ifndef LIANA_STEP_SHARD_LIST_H
#define LIANA_STEP_SHARD_LIST_H

#include "batch/batch.h"
#include "distribute/strategy.h"
#include "step/worker_share.h"

/* Memory for the leaves of one batch. Zero-initialise; free it. */
typedef struct liana__shard_list {
    liana__leaf *leaves;
    int64_t microbatch;
    const struct liana__cluster *cluster; /* NULL: there is none */
    size_t num_workers;                   /* of it */
    liana__leaf_range *shards;
    size_t *ends; /* by worker: where its leaves end */
} liana__shard_list;

/* For batches of up to `largest` examples. `cluster` NULL: the strategy shares leaves out. Errors: OUT_OF_MEMORY. */
liana_status liana__shard_list_create(int64_t largest, int64_t microbatch, const struct liana__cluster *cluster,
                                      liana__shard_list *list, liana__error *error) LIANA_MUST_USE;
void liana__shard_list_free(liana__shard_list *list);

/* The leaves of a batch in which none of `count` examples is missing. */
liana__leaf_batch liana__shard_list_whole(liana__shard_list *list, int64_t count);
/* The leaves of a batch: those of all its positions, each of the examples of it that are there. */
liana__leaf_batch liana__shard_list_of(liana__shard_list *list, const liana__batch *batch);

#endif
