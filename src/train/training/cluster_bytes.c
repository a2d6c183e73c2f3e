/* Counts the messages of an update, as distribute/cluster, the loader and the fit send them. */
#include "train/training/cluster_time.h"

#include "base/scoped.h"
#include "step/shard_list.h"

#include <stdlib.h>

/* The bytes of small messages to each other process. */
enum {
    MEETING = 8 + 2 * 8, /* the loaders: a size, then no failure and no gaps */
    STATUS = 4,          /* before the first sums of the own blocks */
    FINDING = 8 + 256,   /* of the check of sums, and again of new values */
    INTERRUPTED = 1,     /* whether the training is to end */
};

/* Two of the loaders' meeting, blocks, two checks, new values, the end. */
enum { NUM_OPERATIONS = 7 };
/* That all are done. */
enum { MIRROR_OPERATIONS = 1 };

/* Of one cluster. */
typedef struct cut {
    const liana__plan_update *update;
    size_t num_shards, num_workers;
    liana__leaf_range *ranges;
    liana__slice_end *ends;
    liana__slice_piece *pieces;
} cut;

static void cut_free(cut *own)
{
    free(own->ranges);
    free(own->ends);
    free(own->pieces);
}

static liana_status cut_make(cut *own, liana__error *error)
{
    const liana__update_items *items = own->update->items;
    own->ranges = calloc(own->num_workers, sizeof *own->ranges);
    own->ends = calloc(own->num_workers + 1, sizeof *own->ends);
    own->pieces = calloc(items->num_items + 1, sizeof *own->pieces);
    if (!own->ranges || !own->ends || !own->pieces) return liana__fail_memory(error, "the plan of a cluster");
    LIANA_TRY(liana__share_shards(own->num_shards, own->num_workers, own->ranges, error));
    return liana__slices_choose(items->items, items->num_items, own->num_workers, own->ends, error);
}

/* The elements of a worker's slice. */
static uint64_t slice_of(const cut *own, size_t worker)
{
    return (uint64_t)liana__slice_size(own->update->items->items, &own->ends[worker]);
}

/* Bytes of a worker's slice of the sums, on their way to it. */
static uint64_t sums_of(const cut *own, size_t worker)
{
    const liana__update_items *items = own->update->items;
    uint64_t size = slice_of(own, worker) * sizeof(float);
    if (!own->update->short_sums) return size;
    const size_t count = liana__slice_pieces(items->items, items->num_items, &own->ends[worker], own->pieces);
    for (size_t i = 0; i < count; i++) {
        const liana__slice_piece *piece = &own->pieces[i];
        if (liana__update_item_variable(items, piece->item)->is_average) continue;
        size -= (uint64_t)(piece->end - piece->begin) * (sizeof(float) - sizeof(uint16_t));
    }
    return size;
}

/* Bytes of the sums over chunks that a worker tells each other one, in all rounds. */
static uint64_t rounds_of(const cut *own, size_t worker)
{
    const liana__update_items *items = own->update->items;
    const size_t count = liana__slice_pieces(items->items, items->num_items, &own->ends[worker], own->pieces);
    const liana__update_slice slice = {own->pieces, count};
    uint64_t sums = 0;
    for (size_t i = 0; i < items->reads.num_rounds; i++) sums += items->reads.rounds[i].num_sums;
    return sums ? sums * (uint64_t)liana__slice_num_chunks(items, &slice) * sizeof(float) : 0;
}

/* Bytes that a worker sends each other one, except slices. */
static uint64_t small_of(const cut *own, size_t worker, size_t blocks)
{
    const liana__plan_update *update = own->update;
    uint64_t size = MEETING + STATUS + blocks * update->first_sum * sizeof(float) + 2 * FINDING + INTERRUPTED;
    if (update->num_counts) size += STATUS + blocks * update->num_counts * sizeof(float);
    return size + rounds_of(own, worker);
}

static uint64_t greater(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void add_up(const cut *own, liana__cluster_bytes *bytes, uint64_t *sent)
{
    const uint64_t others = own->num_workers - 1;
    uint64_t all = 0, all_sums = 0;
    for (size_t i = 0; i < own->num_workers; i++) {
        all += slice_of(own, i);
        all_sums += sums_of(own, i);
        bytes->num_blocks += liana__tree_blocks(own->num_shards, own->ranges[i], NULL);
    }
    bytes->variables = all * sizeof(float);
    bytes->has_mirrors = own->update->mirrored && others;
    const bool mirrors_add = bytes->has_mirrors && own->num_workers == 2 && bytes->num_blocks == 2;
    for (size_t i = 0; i < own->num_workers; i++) {
        const uint64_t slice = slice_of(own, i) * sizeof(float), rest = bytes->variables - slice;
        const size_t blocks = liana__tree_blocks(own->num_shards, own->ranges[i], NULL);
        const uint64_t own_sums = sums_of(own, i), added_sums = mirrors_add ? all_sums : own_sums;
        const uint64_t sums = blocks * (mirrors_add ? all_sums : all_sums - own_sums);
        const uint64_t taken = (bytes->num_blocks - blocks) * added_sums;
        const uint64_t known_there = bytes->has_mirrors ? slice : 0, values = others * slice - known_there;
        const uint64_t mirrored = mirrors_add ? 0 : known_there;
        /* The slice before it is mirrored here: its new values are known. */
        const uint64_t known = bytes->has_mirrors ? slice_of(own, (i + others) % own->num_workers) * sizeof(float) : 0;
        const uint64_t total = sums + values + mirrored + others * small_of(own, i, blocks);
        const size_t shards = own->ranges[i].end - own->ranges[i].begin;
        if (sent) sent[i] = total;
        bytes->most_sent = greater(bytes->most_sent, total);
        bytes->most_sums = greater(bytes->most_sums, greater(sums, taken));
        bytes->most_values = greater(bytes->most_values, greater(values, others ? rest - known : 0));
        bytes->most_mirrored = greater(bytes->most_mirrored, mirrored);
        bytes->largest_slice = greater(bytes->largest_slice, slice);
        bytes->most_blocks = (size_t)greater(bytes->most_blocks, blocks);
        bytes->most_shards = (size_t)greater(bytes->most_shards, shards);
    }
    const liana__plan_update *update = own->update;
    bytes->num_operations = others ? NUM_OPERATIONS + update->items->reads.num_rounds + (update->num_counts > 0) : 0;
    if (bytes->has_mirrors && !mirrors_add) bytes->num_operations += MIRROR_OPERATIONS;
}

liana_status liana__cluster_bytes_of(const liana__plan_update *update, size_t num_shards, size_t num_workers,
                                     liana__cluster_bytes *bytes, uint64_t *sent, liana__error *error)
{
    LIANA__SCOPED(cut) own = {.update = update, .num_shards = num_shards, .num_workers = num_workers};
    *bytes = (liana__cluster_bytes){.num_workers = num_workers, .num_shards = num_shards};
    if (num_shards < 1 || num_workers < 1) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "a plan of %zu shards for %zu workers, expected some of both",
                           num_shards, num_workers);
    }
    LIANA_TRY(cut_make(&own, error));
    add_up(&own, bytes, sent);
    return LIANA_OK;
}

double liana__ring_bytes(const liana__cluster_bytes *bytes)
{
    const double workers = (double)bytes->num_workers;
    return 2 * (workers - 1) / workers * (double)bytes->variables;
}
