/* Lists the shards of a batch. */
#include "step/shard_list.h"

#include "batch/cut.h"

#include "base/scoped.h"
#include <stdlib.h>

liana_status liana__shard_list_create(int64_t largest, int64_t microbatch, const liana__cluster *cluster,
                                      liana__shard_list *list, liana__error *error)
{
    *list = (liana__shard_list){.microbatch = microbatch,
                                .cluster = cluster,
                                .num_workers = cluster ? cluster->place.num_workers : 0};
    list->leaves = calloc((size_t)liana__cut_batch(largest, microbatch).count, sizeof *list->leaves);
    list->shards = calloc(list->num_workers + 1, sizeof *list->shards);
    list->ends = calloc(list->num_workers + 1, sizeof *list->ends);
    return list->leaves && list->shards && list->ends ? LIANA_OK : liana__fail_memory(error, "the leaves of a batch");
}

void liana__shard_list_free(liana__shard_list *list)
{
    free(list->leaves);
    free(list->shards);
    free(list->ends);
    *list = (liana__shard_list){0};
}

static liana__leaf_batch batch_of(const liana__shard_list *list, size_t count)
{
    return (liana__leaf_batch){.leaves = list->leaves,
                               .num_leaves = count,
                               .end = count,
                               .worker_ends = list->num_workers ? list->ends : NULL};
}

/* The shards of each worker, of `num_shards`. */
static void share(liana__shard_list *list, int64_t num_shards)
{
    if (list->num_workers == 0) return;
    /* Without memory nobody has any. */
    const liana_status status = liana__share_among_workers((size_t)num_shards, list->cluster, list->shards, NULL);
    for (size_t i = 0; i < list->num_workers; i++) list->ends[i] = status == LIANA_OK ? list->shards[i].end : 0;
}

liana__leaf_batch liana__shard_list_whole(liana__shard_list *list, int64_t count)
{
    const liana__cut cut = liana__cut_batch(count, list->microbatch);
    for (int64_t i = 0; i < cut.count; i++) {
        list->leaves[i] = (liana__leaf){liana__cut_begin(&cut, i), liana__cut_size(&cut, i)};
    }
    /* The strategy gives shards to workers, once all know which workers are left. */
    liana__leaf_batch batch = batch_of(list, (size_t)cut.count);
    batch.worker_ends = NULL;
    return batch;
}

/* All examples are here, but not at all positions. */
static liana__leaf_batch with_gaps(liana__shard_list *list, const liana__batch *batch)
{
    const liana__cut cut = liana__cut_batch(batch->num_positions, list->microbatch);
    size_t count = 0, worker = 0;
    share(list, cut.count);
    for (int64_t i = 0; i < cut.count; i++) {
        int64_t begin, end;
        while (worker < list->num_workers && list->shards[worker].end <= (size_t)i) list->ends[worker++] = count;
        liana__cut_remaining(&cut, i, batch->positions, batch->count, batch->first_position, &begin, &end);
        if (begin < end) list->leaves[count++] = (liana__leaf){begin, end - begin};
    }
    while (worker < list->num_workers) list->ends[worker++] = count;
    return batch_of(list, count);
}

/* Each process has the examples of its own shards; those of others begin nowhere here. */
static liana__leaf_batch of_processes(liana__shard_list *list, const liana__step_workers *workers)
{
    int64_t row = 0;
    size_t count = 0;
    for (size_t worker = 0; worker < workers->count; worker++) {
        for (int64_t i = workers->bounds[worker]; i < workers->bounds[worker + 1]; i++) {
            const int64_t size = workers->shard_counts[i];
            if (size == 0) continue;
            list->leaves[count++] = (liana__leaf){worker == workers->self ? row : 0, size};
            if (worker == workers->self) row += size;
        }
        if (worker < list->num_workers) list->ends[worker] = count;
    }
    liana__leaf_batch batch = batch_of(list, count);
    batch.has_own_rows = true;
    return batch;
}

liana__leaf_batch liana__shard_list_of(liana__shard_list *list, const liana__batch *batch)
{
    if (batch->workers) return of_processes(list, batch->workers);
    if (batch->num_positions == 0 || batch->num_positions == batch->count) {
        return liana__shard_list_whole(list, batch->count);
    }
    return with_gaps(list, batch);
}

/* ---- shards for workers ---- */

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
