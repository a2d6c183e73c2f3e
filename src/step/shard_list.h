/* shard_list.h - the shards of a batch that have examples, and the process of each. */
#ifndef LIANA_STEP_SHARD_LIST_H
#define LIANA_STEP_SHARD_LIST_H

#include "batch/batch.h"
#include "distribute/strategy.h"
#include "step/worker_share.h"

/* Memory for the shards of one batch. Zero-initialise; free it. */
typedef struct liana__shard_list {
    liana__leaf *leaves;
    int64_t microbatch;
    const struct liana__cluster *cluster; /* NULL: there is none */
    size_t num_workers;                   /* of it */
    liana__leaf_range *shards;
    size_t *ends; /* by worker: the end of its shards */
} liana__shard_list;

/* For batches of up to `largest` examples. `cluster` NULL: the strategy shares shards out. Errors: OUT_OF_MEMORY. */
liana_status liana__shard_list_create(int64_t largest, int64_t microbatch, const struct liana__cluster *cluster,
                                      liana__shard_list *list, liana__error *error) LIANA_MUST_USE;
void liana__shard_list_free(liana__shard_list *list);

/* The shards of a batch in which none of `count` examples is missing. */
liana__leaf_batch liana__shard_list_whole(liana__shard_list *list, int64_t count);
/* The shards of a batch: those of all its positions, each of the examples of it that are there. */
liana__leaf_batch liana__shard_list_of(liana__shard_list *list, const liana__batch *batch);

#endif
