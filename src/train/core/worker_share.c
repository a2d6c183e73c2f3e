/* Shards for workers. */
#include "train/core/worker_share.h"

#include <stdlib.h>
#include <string.h>

/* How unevenly shards may be shared out so that ranges have few blocks. */
static const double SHARE_TOLERANCE = 0.05;

liana_status liana__share_shards(size_t num_shards, size_t num_workers, liana__leaf_range *ranges, liana__error *error)
{
    return liana__tree_assign(num_shards, num_workers, NULL, SHARE_TOLERANCE, ranges, error);
}

/* Parameter servers read nothing. Without memory the chief reads all. */
static void divide(void *user, int64_t num_shards, int64_t *bounds)
{
    const liana__cluster *cluster = user;
    const size_t num_workers = cluster->place.num_workers, size = liana__cluster_size(cluster);
    liana__leaf_range *ranges = calloc(num_workers, sizeof *ranges);
    liana_status status =
        ranges ? liana__share_shards((size_t)num_shards, num_workers, ranges, NULL) : LIANA_OUT_OF_MEMORY;
    bounds[0] = 0;
    for (size_t i = 0; i < size; i++) {
        bounds[i + 1] = status == LIANA_OK && i < num_workers ? (int64_t)ranges[i].end : num_shards;
    }
    free(ranges);
}

static liana_status gather(void *user, const void *data, size_t size, liana__told *all, liana__error *error)
{
    liana__cluster *cluster = user;
    liana__gathered gathered = {0};
    const size_t count = liana__cluster_size(cluster);
    liana_status status = liana__cluster_gather_sized(cluster, data, size, &gathered, error);
    size_t done = 0;
    while (status == LIANA_OK && done < count) {
        const size_t length = gathered.offsets[done + 1] - gathered.offsets[done];
        all[done] = (liana__told){malloc(length + 1), length};
        if (!all[done].data) {
            status = liana__fail_memory(error, "what the processes tell each other");
        } else {
            memcpy(all[done].data, gathered.data + gathered.offsets[done], length);
            done++;
        }
    }
    for (size_t i = 0; status != LIANA_OK && i < done; i++) free(all[i].data);
    liana__gathered_free(&gathered);
    return status;
}

liana__input_workers liana__share_input(liana__cluster *cluster, int64_t microbatch)
{
    return (liana__input_workers){.count = liana__cluster_size(cluster),
                                  .self = cluster->place.rank,
                                  .microbatch = microbatch,
                                  .divide = divide,
                                  .gather = gather,
                                  .user = cluster};
}
