/* Shards for workers. */
#include "train/core/worker_share.h"

#include "data/loader/cut.h"

#include <stdlib.h>

/* How unevenly shards may be shared out so that ranges have few blocks. */
static const double SHARE_TOLERANCE = 0.05;

liana_status liana__share_shards(size_t num_shards, size_t num_workers, liana__leaf_range *ranges, liana__error *error)
{
    return liana__tree_assign(num_shards, num_workers, NULL, SHARE_TOLERANCE, ranges, error);
}

liana_status liana__share_positions(int64_t num_positions, int64_t microbatch, size_t worker, size_t num_workers,
                                    int64_t *begin, int64_t *end, liana__error *error)
{
    *begin = *end = 0;
    if (num_positions <= 0 || worker >= num_workers) return LIANA_OK;
    const liana__cut cut = liana__cut_batch(num_positions, microbatch);
    liana__leaf_range *ranges = calloc(num_workers, sizeof *ranges);
    if (!ranges) return liana__fail_memory(error, "the share of a worker");
    liana_status status = liana__share_shards((size_t)cut.count, num_workers, ranges, error);
    if (status == LIANA_OK) {
        *begin = liana__cut_begin(&cut, (int64_t)ranges[worker].begin);
        *end = liana__cut_begin(&cut, (int64_t)ranges[worker].end);
    }
    free(ranges);
    return status;
}
