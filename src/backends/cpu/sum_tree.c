/* The CPU's sums of shards. Its workers claim shards in order; whoever completes the second half of a pair adds the
 * pair. Where the last shards would leave half of the workers idle or more, all workers compute them together, one
 * after the other. A shard is a leaf of the tree by which sums are added. */
#include "backends/cpu/sum_tree.h"

#include "backends/cpu/cpu.h"
#include "backends/host.h"
#include "base/denormals.h"

#include "base/threads.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Buffers for the sums of one subtree. */
typedef struct slot {
    liana__buffer **sums;
    atomic_bool in_use;
    atomic_int *arrivals; /* by sum: of two shards that write here */
    atomic_size_t passed; /* strands that were added to another slot */
} slot;

/* A shard that is being computed. */
typedef struct running_shard {
    liana__sum_tree *tree;
    size_t leaf;
    int worker;
    bool *climbed; /* by strand */
    liana_status status;
} running_shard;

static const size_t TAKEN = SIZE_MAX;

struct liana__sum_tree {
    liana__device *device;
    liana__arena arena; /* of all lists */
    size_t num_sums;
    size_t max_leaves;
    slot *slots;
    size_t num_slots;
    /* Sums go up the tree in strands, each as soon as it can: a strand for each sum, or one for all. */
    size_t num_strands;
    size_t *slot_of; /* by leaf; the sums of a tree node are in the slot of its first leaf */
    atomic_uchar
        *arrived;  /* by tree node and strand: how many of its children are done; level 0, the leaves, comes first */
    bool *climbed; /* by worker and strand: of the shard that it computes */
    atomic_size_t *slot_of_pair; /* by half the leaf's index: 1 more than its slot, which one of the two claims; 0:
                                  * none has; TAKEN: it is just being claimed */
    bool run_adds;
    size_t num_tree_nodes;
    liana__leaf_block *blocks;
    /* The running call. */
    size_t num_leaves;
    size_t first, end;
    size_t end_alone; /* shards [first, end_alone) are each computed by one worker */
    const liana__sum_watch *watch;
    liana__run_shard run;
    void *user;
    liana__error *errors;       /* by worker */
    size_t *failed_leaf;        /* by worker; it fails at most once in a call */
    atomic_size_t first_failed; /* the least failed shard so far; SIZE_MAX: none */
};

void liana__sum_tree_destroy(liana__sum_tree *own)
{
    if (!own) return;
    for (size_t i = 0; own->slots && i < own->num_slots; i++) {
        for (size_t k = 0; own->slots[i].sums && k < own->num_sums; k++) {
            liana__host_buffer_destroy(own->slots[i].sums[k]);
        }
    }
    liana__arena_free(&own->arena);
    free(own);
}

static size_t tree_levels(size_t num_leaves)
{
    size_t levels = 0;
    while (((size_t)1 << levels) < num_leaves) levels++;
    return levels;
}

size_t liana__sum_tree_num_together(const liana__device *device, size_t num_leaves)
{
    size_t workers = (size_t)liana__cpu_num_workers(device), rest = num_leaves % workers;
    return 2 * rest <= workers ? rest : 0;
}

/* Shards are claimed in order, so a finished subtree waits only for one that holds a running shard or lies at the
 * frontier: at most `levels` for each. The blocks of a range that is not all shards stay: at most two of each level.
 * And there are no more than each pair of shards, or each shard, needs. */
static size_t slots_needed(const liana__device *device, size_t max_leaves, bool in_pairs, bool of_parts)
{
    size_t workers = (size_t)liana__cpu_num_workers(device), most = 0;
    for (size_t count = 1; count <= max_leaves; count++) {
        size_t together = liana__sum_tree_num_together(device, count), alone = count - together;
        size_t needed = together + (in_pairs ? (alone + 1 + of_parts) / 2 : alone);
        if (needed > most) most = needed;
    }
    size_t bound = (workers + 1) * tree_levels(max_leaves) + workers;
    if (of_parts) bound += 2 * tree_levels(max_leaves);
    return bound < most ? bound : most;
}

static liana_status make_slots(liana__sum_tree *own, const liana_graph *graph, liana__error *error)
{
    own->slots = liana__arena_allocate(&own->arena, own->num_slots * sizeof *own->slots);
    for (size_t i = 0; own->slots && i < own->num_slots; i++) {
        slot *each = &own->slots[i];
        each->sums = liana__arena_allocate(&own->arena, (own->num_sums + 1) * sizeof *each->sums);
        each->arrivals = liana__arena_allocate(&own->arena, (own->num_sums + 1) * sizeof *each->arrivals);
        if (own->arena.failed) break;
        for (size_t k = 0; k < own->num_sums; k++) {
            const liana__node *node = graph->outputs[k].node;
            LIANA_TRY(liana__host_buffer_create(own->device, node->dtype, &node->shape, &each->sums[k], error));
        }
    }
    return own->arena.failed ? liana__fail_memory(error, "the sums of the shards") : LIANA_OK;
}

liana_status liana__sum_tree_create(liana__device *device, const liana_graph *graph, size_t num_sums, size_t max_leaves,
                                    bool of_parts, liana__sum_tree **tree, liana__error *error)
{
    *tree = NULL;
    liana__sum_tree *own = calloc(1, sizeof *own);
    if (!own) return liana__fail_memory(error, "the sums of the shards");
    size_t workers = (size_t)liana__cpu_num_workers(device);
    own->device = device;
    own->num_sums = num_sums;
    own->max_leaves = max_leaves;
    own->run_adds = graph->first_gradient > 0;
    own->num_slots = slots_needed(device, max_leaves, own->run_adds, of_parts);
    own->num_tree_nodes = 2 * max_leaves + 64;
    own->num_strands = own->run_adds ? num_sums : 1;
    liana__arena *arena = &own->arena;
    own->slot_of = liana__arena_allocate(arena, max_leaves * sizeof *own->slot_of);
    own->arrived = liana__arena_allocate(arena, own->num_tree_nodes * own->num_strands * sizeof *own->arrived);
    own->climbed = liana__arena_allocate(arena, workers * own->num_strands * sizeof *own->climbed);
    own->slot_of_pair = liana__arena_allocate(arena, max_leaves * sizeof *own->slot_of_pair);
    own->blocks = liana__arena_allocate(arena, max_leaves * sizeof *own->blocks);
    own->errors = liana__arena_allocate(arena, workers * sizeof *own->errors);
    own->failed_leaf = liana__arena_allocate(arena, workers * sizeof *own->failed_leaf);
    const liana_status status = make_slots(own, graph, error);
    if (status != LIANA_OK) {
        liana__sum_tree_destroy(own);
        return status;
    }
    *tree = own;
    return LIANA_OK;
}

/* There is always a free one (slots_needed), but it may be that a neighbour is just about to give it back. */
static size_t claim_slot(liana__sum_tree *own)
{
    for (;;) {
        for (size_t i = 0; i < own->num_slots; i++) {
            if (atomic_exchange(&own->slots[i].in_use, true)) continue;
            atomic_store(&own->slots[i].passed, 0);
            return i;
        }
        sched_yield();
    }
}

/* Neighbours write to the same slot, where each is computed by one worker: their sums are added up as they are made. */
static bool shares_slot(const liana__sum_tree *own, size_t leaf)
{
    return own->run_adds && (leaf & ~(size_t)1) >= own->first && (leaf | 1) < own->end_alone;
}

static size_t claim_slot_of_pair(liana__sum_tree *own, size_t pair)
{
    atomic_size_t *slot_of_pair = &own->slot_of_pair[pair];
    size_t known = 0;
    if (atomic_compare_exchange_strong(slot_of_pair, &known, TAKEN)) {
        size_t claimed = claim_slot(own);
        for (size_t k = 0; k < own->num_sums; k++) atomic_store(&own->slots[claimed].arrivals[k], LIANA__NOBODY_YET);
        atomic_store(slot_of_pair, claimed + 1);
        return claimed;
    }
    while ((known = atomic_load(slot_of_pair)) == TAKEN) sched_yield();
    return known - 1;
}

/* A slot whose strands were all added to others is free. */
static liana_status add_strand(liana__sum_tree *own, size_t into, size_t from, size_t strand, liana__error *error)
{
    const bool is_one = own->num_strands > 1;
    const size_t first = is_one ? strand : 0, end = is_one ? strand + 1 : own->num_sums;
    for (size_t k = first; k < end; k++) {
        LIANA_TRY(liana__host_buffer_add(own->slots[into].sums[k], own->slots[from].sums[k], error));
    }
    if (atomic_fetch_add(&own->slots[from].passed, 1) + 1 == own->num_strands) {
        atomic_store(&own->slots[from].in_use, false);
    }
    return LIANA_OK;
}

/* `begin` is of liana__clock; nothing is recorded unless somebody looks. */
static void record(const liana__sum_tree *own, liana__event_kind kind, uint64_t begin, size_t leaf, int worker)
{
    if (!own->device->recorder) return;
    liana__event event = {.begin = begin, .kind = kind, .number = (uint32_t)leaf};
    liana__recorder_add(own->device->recorder, (size_t)worker, event);
}

static uint64_t clock_if_recorded(const liana__sum_tree *own)
{
    return own->device->recorder ? liana__clock() : 0;
}

/* Whether the call computes all leaves of a tree node: number `index` of a level whose nodes have `span` leaves. */
static bool is_within(const liana__sum_tree *own, size_t index, size_t span)
{
    size_t begin = index * span, end = begin + span;
    return begin >= own->first && (end < own->num_leaves ? end : own->num_leaves) <= own->end;
}

/* A strand of a block is done. */
static void tell(const liana__sum_tree *own, size_t first_leaf, size_t strand)
{
    if (!own->watch || own->num_strands == 1) return;
    const slot *held = &own->slots[own->slot_of[first_leaf]];
    own->watch->made(own->watch->user, first_leaf, strand, liana__host_data(held->sums[strand]));
}

/* Takes a strand of a shard up the tree as far as it is complete. `kind`: of the event that additions are. */
static liana_status climb(liana__sum_tree *own, size_t leaf, size_t strand, int worker, liana__event_kind kind,
                          liana__error *error)
{
    size_t index = leaf, level_begin = 0, level_count = own->num_leaves, span = 1;
    while (level_count > 1) {
        const size_t parent = level_begin + level_count + index / 2;
        bool has_sibling = (index | 1) < level_count;
        if (has_sibling) {
            if (!is_within(own, index ^ 1, span)) break;
            if (atomic_fetch_add(&own->arrived[parent * own->num_strands + strand], 1) == 0) return LIANA_OK;
            const size_t into = own->slot_of[(index & ~(size_t)1) * span], from = own->slot_of[(index | 1) * span];
            if (into != from) {
                uint64_t begin = clock_if_recorded(own);
                LIANA_TRY(add_strand(own, into, from, strand, error));
                record(own, kind, begin, leaf, worker);
            }
        }
        level_begin += level_count;
        level_count = (level_count + 1) / 2;
        index /= 2;
        span *= 2;
    }
    tell(own, index * span, strand);
    return LIANA_OK;
}

/* While the shard is computed: one of its outputs is there. */
static void climb_early(void *user, size_t output)
{
    running_shard *running = user;
    liana__sum_tree *own = running->tree;
    if (output >= own->num_strands || running->status != LIANA_OK) return;
    running->climbed[output] = true;
    running->status =
        climb(own, running->leaf, output, running->worker, LIANA__EVENT_ADD, &own->errors[running->worker]);
}

/* The sums that have not gone up before. */
static liana_status climb_rest(const running_shard *running, liana__error *error)
{
    liana__sum_tree *own = running->tree;
    for (size_t strand = 0; strand < own->num_strands; strand++) {
        if (running->climbed[strand]) continue;
        LIANA_TRY(climb(own, running->leaf, strand, running->worker, LIANA__EVENT_REDUCE, error));
    }
    return LIANA_OK;
}

static void note_failure(liana__sum_tree *own, size_t leaf, int worker, liana_status status)
{
    liana__error *error = &own->errors[worker];
    if (error->status == LIANA_OK) liana__fail(error, status, "shard %zu failed", leaf);
    own->failed_leaf[worker] = leaf;
    size_t first = atomic_load(&own->first_failed);
    while (leaf < first && !atomic_compare_exchange_weak(&own->first_failed, &first, leaf)) continue;
}

/* By worker `worker`, or by all, of which 0 is the caller. */
static void compute_shard(liana__sum_tree *own, size_t leaf, int worker, bool together)
{
    /* Shards before a failed one still run: one of them may fail too, and is then the first. */
    if (leaf > atomic_load(&own->first_failed)) return;
    liana__error *error = &own->errors[worker];
    const bool shares = shares_slot(own, leaf);
    size_t slot_index = shares ? claim_slot_of_pair(own, leaf / 2) : claim_slot(own);
    const slot *taken = &own->slots[slot_index];
    own->slot_of[leaf] = slot_index;
    running_shard running = {own, leaf, worker, own->climbed + (size_t)worker * own->num_strands, LIANA_OK};
    memset(running.climbed, 0, own->num_strands * sizeof *running.climbed);
    const liana__output_watch watch = {climb_early, &running};
    const liana__shard_target into = {taken->sums, shares ? taken->arrivals : NULL,
                                      own->run_adds && !together ? &watch : NULL};
    uint64_t begin = clock_if_recorded(own);
    liana_status status = own->run(own->user, leaf, together ? LIANA__ALL_WORKERS : worker, &into, error);
    record(own, LIANA__EVENT_SHARD, begin, leaf, worker);
    if (status == LIANA_OK) status = running.status;
    if (status == LIANA_OK) status = climb_rest(&running, error);
    if (status != LIANA_OK) note_failure(own, leaf, worker, status);
}

static void run_task(void *user, size_t task, int worker)
{
    liana__sum_tree *own = user;
    const liana__denormals before = liana__denormals_flush();
    compute_shard(own, own->first + task, worker, false);
    liana__denormals_restore(before);
}

static liana_status report_first_failure(const liana__sum_tree *own, liana__error *error)
{
    int first = -1;
    for (int worker = 0; worker < liana__cpu_num_workers(own->device); worker++) {
        if (own->errors[worker].status == LIANA_OK) continue;
        if (first < 0 || own->failed_leaf[worker] < own->failed_leaf[first]) first = worker;
    }
    if (error) *error = own->errors[first];
    return own->errors[first].status;
}

static void reset(liana__sum_tree *own)
{
    atomic_store(&own->first_failed, SIZE_MAX);
    for (size_t i = 0; i < own->num_tree_nodes * own->num_strands; i++) {
        atomic_store_explicit(&own->arrived[i], 0, memory_order_relaxed);
    }
    for (size_t i = 0; i < own->max_leaves; i++) atomic_store_explicit(&own->slot_of_pair[i], 0, memory_order_relaxed);
    for (size_t i = 0; i < own->num_slots; i++) atomic_store(&own->slots[i].in_use, false);
    for (int i = 0; i < liana__cpu_num_workers(own->device); i++) own->errors[i].status = LIANA_OK;
}

static void run_all(liana__sum_tree *own)
{
    const liana__denormals before = liana__denormals_flush();
    if (liana__cpu_num_workers(own->device) == 1) {
        for (size_t leaf = own->first; leaf < own->end; leaf++) compute_shard(own, leaf, 0, false);
    } else {
        liana__pool_run(((liana__cpu_device *)own->device)->pool, own->end_alone - own->first, run_task, own);
        for (size_t leaf = own->end_alone; leaf < own->end; leaf++) compute_shard(own, leaf, 0, true);
    }
    liana__denormals_restore(before);
}

liana_status liana__sum_tree_run(liana__sum_tree *own, const liana__leaf_batch *batch, liana__run_shard run, void *user,
                                 const liana__leaf_block **blocks, size_t *num_blocks, liana__error *error)
{
    *num_blocks = 0;
    *blocks = own->blocks;
    if (batch->num_leaves > own->max_leaves || batch->end > batch->num_leaves || batch->first > batch->end) {
        return liana__fail(error, LIANA_INTERNAL, "the shards %zu to %zu of %zu were asked for, planned for %zu",
                           batch->first, batch->end, batch->num_leaves, own->max_leaves);
    }
    own->num_leaves = batch->num_leaves;
    own->first = batch->first;
    own->end = batch->end;
    own->end_alone = batch->end - liana__sum_tree_num_together(own->device, batch->end - batch->first);
    own->watch = batch->watch;
    own->run = run;
    own->user = user;
    reset(own);
    run_all(own);
    if (atomic_load(&own->first_failed) != SIZE_MAX) return report_first_failure(own, error);
    for (size_t leaf = batch->first; leaf < batch->end; leaf += own->blocks[*num_blocks - 1].count) {
        own->blocks[(*num_blocks)++] = (liana__leaf_block){
            .first = leaf,
            .count = liana__leaf_block_size(leaf, batch->end, batch->num_leaves),
            .sums = own->slots[own->slot_of[leaf]].sums,
        };
    }
    return LIANA_OK;
}
