/* worker_share.h - which worker of a cluster reads and computes which positions of a batch: pure arithmetic.
 *
 * The shards of a batch are shared out before anybody knows which examples are missing, so each worker can read its own
 * positions only. The leaves are the shards that have examples; a worker's leaves are those of its shards. */
#ifndef LIANA_TRAIN_WORKER_SHARE_H
#define LIANA_TRAIN_WORKER_SHARE_H

#include "distribute/tree.h"

/* Gives each worker a contiguous range of the shards of a batch; some may be empty. `ranges` has room for
 * `num_workers`. Errors: those of liana__tree_assign. */
liana_status liana__share_shards(size_t num_shards, size_t num_workers, liana__leaf_range *ranges, liana__error *error)
    LIANA_MUST_USE;

/* The positions of a batch of `num_positions`, in shards of `microbatch`, that a worker reads: [*begin, *end), counted
 * from the batch's first one. A process that is no worker reads none. Errors: those of liana__tree_assign,
 * OUT_OF_MEMORY. */
liana_status liana__share_positions(int64_t num_positions, int64_t microbatch, size_t worker, size_t num_workers,
                                    int64_t *begin, int64_t *end, liana__error *error) LIANA_MUST_USE;

#endif
