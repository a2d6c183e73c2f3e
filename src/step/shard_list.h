/* shard_list.h - the shards of a batch that have examples, and the process of each. */
#ifndef LIANA_STEP_SHARD_LIST_H
#define LIANA_STEP_SHARD_LIST_H

#include "batch/batch.h"
#include "distribute/cluster/cluster.h"
#include "distribute/strategy.h"
#include "distribute/tree.h"

/* Memory for the shards of one batch. Zero-initialise; free it. */
typedef struct liana__shard_list {
    liana__leaf *leaves;
    int64_t microbatch;
    const struct liana__cluster *cluster; /* NULL: missing */
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
/* The shards of a batch: those of all its positions, each with its examples that are there. */
liana__leaf_batch liana__shard_list_of(liana__shard_list *list, const liana__batch *batch);

/* ---- worker share ---- */

/* Which worker of a cluster reads and computes which positions of a batch: pure arithmetic.
 *
 * The shards of a batch are shared out before anybody knows which examples are missing, so each worker can read its
 * own positions only. Only shards that have examples are listed. */

/* Gives each worker a contiguous range of the shards of a batch; some may be empty. `ranges` has room for
 * `num_workers`. Errors: those of liana__tree_assign. */
liana_status liana__share_shards(size_t num_shards, size_t num_workers, liana__leaf_range *ranges, liana__error *error)
    LIANA_MUST_USE;
/* The same among the workers for which is_there[num_workers] says so. Errors: those of liana__tree_assign,
 * OUT_OF_MEMORY. */
liana_status liana__share_among(size_t num_shards, size_t num_workers, const bool *is_there, liana__leaf_range *ranges,
                                liana__error *error) LIANA_MUST_USE;
/* The same among the workers that are left of a cluster; those that are gone have empty ranges. Any thread. Errors:
 * those of liana__tree_assign, OUT_OF_MEMORY. */
liana_status liana__share_among_workers(size_t num_shards, const liana__cluster *cluster, liana__leaf_range *ranges,
                                        liana__error *error) LIANA_MUST_USE;

#endif
