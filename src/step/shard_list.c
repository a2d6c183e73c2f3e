/* Lists the shards of a batch. */
#include "step/shard_list.h"

#include "batch/cut.h"
#include "distribute/cluster/cluster.h"

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

/* Finds the owner of each of `num_shards` shards. */
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
    /* The strategy decides which worker computes which shard, once all know the dead. */
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
