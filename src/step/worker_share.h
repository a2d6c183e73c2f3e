/* worker_share.h - which worker of a cluster reads and computes which positions of a batch: pure arithmetic.
 *
 * The shards of a batch are shared out before anybody knows which examples are missing, so each worker can read its own
 * positions only. Only shards that have examples count, as leaves of the tree; a worker's leaves are those of its
 * shards. */
#ifndef LIANA_STEP_WORKER_SHARE_H
#define LIANA_STEP_WORKER_SHARE_H

#include "distribute/cluster/cluster.h"
#include "distribute/tree.h"

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
