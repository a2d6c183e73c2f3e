/* Shards for workers. */
#include "step/worker_share.h"
#include "base/scoped.h"

#include <stdlib.h>

/* How unevenly shards may be shared out so that ranges have few blocks. */
static const double SHARE_TOLERANCE = 0.05;

liana_status liana__share_shards(size_t num_shards, size_t num_workers, liana__leaf_range *ranges, liana__error *error)
{
    return liana__tree_assign(num_shards, num_workers, NULL, SHARE_TOLERANCE, ranges, error);
}

liana_status liana__share_among(size_t num_shards, size_t num_workers, const bool *is_there, liana__leaf_range *ranges,
                                liana__error *error)
{
    LIANA__SCOPED_MEMORY double *speeds = malloc(num_workers * sizeof *speeds);
    if (!speeds) return liana__fail_memory(error, "the shards of a batch");
    for (size_t i = 0; i < num_workers; i++) speeds[i] = is_there[i] ? 1 : 0;
    return liana__tree_assign(num_shards, num_workers, speeds, SHARE_TOLERANCE, ranges, error);
}

liana_status liana__share_among_workers(size_t num_shards, const liana__cluster *cluster, liana__leaf_range *ranges,
                                        liana__error *error)
{
    const size_t num_workers = cluster->place.num_workers;
    LIANA__SCOPED_MEMORY bool *is_there = malloc(num_workers * sizeof *is_there);
    if (!is_there) return liana__fail_memory(error, "the shards of a batch");
    for (size_t i = 0; i < num_workers; i++) is_there[i] = liana__cluster_is_member(cluster, i);
    return liana__share_among(num_shards, num_workers, is_there, ranges, error);
}
