/* One device: its workers claim shards in order; whoever completes the second half of a pair adds the pair up. Shards
 * that would leave half of the workers idle or more are computed by all of them together, one after the other. */
#include "distribute/strategy.h"

#include "base/threads.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

/* Buffers for the sums of one subtree. */
typedef struct slot {
    liana__buffer **sums;
    atomic_bool in_use;
    atomic_int *arrivals; /* by sum: of two shards that write here */
} slot;

static const size_t TAKEN = SIZE_MAX;

typedef struct one_device {
    liana__device *device;
    size_t num_sums;
    size_t max_shards;
    slot *slots;
    size_t num_slots;
    /* By tree node: which slot holds its sums, and how many of its children are done. Level 0, the shards, comes first.
     */
    size_t *slot_of;
    atomic_int *arrived;
    atomic_size_t *slot_of_pair; /* by half the shard's index: 1 more than its slot, which one of the two claims; 0:
                                  * none has; TAKEN: it is just being claimed */
    bool run_adds;
    size_t num_tree_nodes;
    /* The running call. */
    size_t num_shards;
    size_t num_alone; /* of them, the first ones: each computed by one worker */
    liana__run_shard run;
    void *user;
    liana__error *errors;       /* by worker */
    size_t *failed_shard;       /* by worker; it fails at most once in a call */
    atomic_size_t first_failed; /* the least failed shard so far; SIZE_MAX: none */
} one_device;

static void destroy(liana__strategy_instance *instance)
{
    one_device *own = (one_device *)instance;
    if (!own) return;
    for (size_t i = 0; own->slots && i < own->num_slots; i++) {
        for (size_t k = 0; own->slots[i].sums && k < own->num_sums; k++) {
            own->device->backend->buffer_destroy(own->slots[i].sums[k]);
        }
        free(own->slots[i].sums);
        free(own->slots[i].arrivals);
    }
    free(own->slots);
    free(own->slot_of);
    free(own->arrived);
    free(own->slot_of_pair);
    free(own->errors);
    free(own->failed_shard);
    free(own);
}

static size_t tree_levels(size_t num_shards)
{
    size_t levels = 0;
    while (((size_t)1 << levels) < num_shards) levels++;
    return levels;
}

static size_t num_together(const liana__device *device, size_t num_shards)
{
    size_t workers = (size_t)device->num_workers, rest = num_shards % workers;
    return 2 * rest <= workers ? rest : 0;
}

/* Shards are claimed in order, so a finished subtree waits only for one that holds a running shard or lies at the
 * frontier: at most `levels` for each. And there are no more than each pair of shards, or each shard, needs. */
static size_t slots_needed(const liana__device *device, size_t max_shards, bool in_pairs)
{
    size_t workers = (size_t)device->num_workers, most = 0;
    for (size_t count = 1; count <= max_shards; count++) {
        size_t together = num_together(device, count), alone = count - together;
        size_t needed = together + (in_pairs ? (alone + 1) / 2 : alone);
        if (needed > most) most = needed;
    }
    size_t bound = (workers + 1) * tree_levels(max_shards) + workers;
    return bound < most ? bound : most;
}

static liana_status make_slots(one_device *own, const liana__sum_types *types, liana__error *error)
{
    own->slots = calloc(own->num_slots, sizeof *own->slots);
    if (!own->slots) return liana__fail_memory(error, "the sums of the shards");
    for (size_t i = 0; i < own->num_slots; i++) {
        own->slots[i].sums = calloc(own->num_sums + 1, sizeof *own->slots[i].sums);
        own->slots[i].arrivals = calloc(own->num_sums + 1, sizeof *own->slots[i].arrivals);
        if (!own->slots[i].sums || !own->slots[i].arrivals) return liana__fail_memory(error, "the sums of the shards");
        for (size_t k = 0; k < own->num_sums; k++) {
            LIANA_TRY(own->device->backend->buffer_create(own->device, types->dtypes[k], &types->shapes[k],
                                                          &own->slots[i].sums[k], error));
        }
    }
    return LIANA_OK;
}

static liana_status create(liana__device *device, const liana__sum_types *types, size_t max_shards,
                           liana__strategy_instance **instance, liana__error *error)
{
    *instance = NULL;
    one_device *own = calloc(1, sizeof *own);
    if (!own) return liana__fail_memory(error, "the strategy");
    size_t workers = (size_t)device->num_workers;
    own->device = device;
    own->num_sums = types->count;
    own->max_shards = max_shards;
    own->run_adds = types->run_adds;
    own->num_slots = slots_needed(device, max_shards, types->run_adds);
    own->num_tree_nodes = 2 * max_shards + 64;
    own->slot_of = calloc(own->num_tree_nodes, sizeof *own->slot_of);
    own->arrived = calloc(own->num_tree_nodes, sizeof *own->arrived);
    own->slot_of_pair = calloc(max_shards, sizeof *own->slot_of_pair);
    own->errors = calloc(workers, sizeof *own->errors);
    own->failed_shard = calloc(workers, sizeof *own->failed_shard);
    bool enough = own->slot_of && own->arrived && own->slot_of_pair && own->errors && own->failed_shard;
    liana_status status = enough ? make_slots(own, types, error) : liana__fail_memory(error, "the strategy");
    if (status != LIANA_OK) {
        destroy((liana__strategy_instance *)own);
        return status;
    }
    *instance = (liana__strategy_instance *)own;
    return LIANA_OK;
}

/* There is always a free one (slots_needed), but it may be that a neighbour is just about to give it back. */
static size_t claim_slot(one_device *own)
{
    for (;;) {
        for (size_t i = 0; i < own->num_slots; i++) {
            if (!atomic_exchange(&own->slots[i].in_use, true)) return i;
        }
        sched_yield();
    }
}

/* Neighbours write to the same slot, where each is computed by one worker: their sums are added up as they are made. */
static bool shares_slot(const one_device *own, size_t shard)
{
    return own->run_adds && (shard | 1) < own->num_alone;
}

static size_t claim_slot_of_pair(one_device *own, size_t pair)
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

static liana_status add_slot(one_device *own, size_t into, size_t from, liana__error *error)
{
    for (size_t k = 0; k < own->num_sums; k++) {
        LIANA_TRY(own->device->backend->buffer_add(own->slots[into].sums[k], own->slots[from].sums[k], error));
    }
    atomic_store(&own->slots[from].in_use, false);
    return LIANA_OK;
}

/* `begin` is of liana__clock; nothing is recorded unless somebody looks. */
static void record(const one_device *own, liana__event_kind kind, uint64_t begin, size_t shard, int worker)
{
    if (!own->device->recorder) return;
    liana__event event = {.begin = begin, .kind = kind, .number = (uint32_t)shard};
    liana__recorder_add(own->device->recorder, (size_t)worker, event);
}

static uint64_t clock_if_recorded(const one_device *own)
{
    return own->device->recorder ? liana__clock() : 0;
}

/* Takes the sums of a finished shard up the tree as far as they are complete. */
static liana_status climb(one_device *own, size_t shard, int worker, liana__error *error)
{
    size_t index = shard, level_begin = 0, level_count = own->num_shards;
    while (level_count > 1) {
        size_t parent = level_begin + level_count + index / 2, left = level_begin + (index & ~(size_t)1);
        bool has_sibling = (index | 1) < level_count;
        if (has_sibling) {
            if (atomic_fetch_add(&own->arrived[parent], 1) == 0) return LIANA_OK;
            if (own->slot_of[left] != own->slot_of[left + 1]) {
                uint64_t begin = clock_if_recorded(own);
                LIANA_TRY(add_slot(own, own->slot_of[left], own->slot_of[left + 1], error));
                record(own, LIANA__EVENT_REDUCE, begin, shard, worker);
            }
        }
        own->slot_of[parent] = own->slot_of[left];
        level_begin += level_count;
        level_count = (level_count + 1) / 2;
        index /= 2;
    }
    return LIANA_OK;
}

static void note_failure(one_device *own, size_t shard, int worker, liana_status status)
{
    liana__error *error = &own->errors[worker];
    if (error->status == LIANA_OK) liana__fail(error, status, "shard %zu failed", shard);
    own->failed_shard[worker] = shard;
    size_t first = atomic_load(&own->first_failed);
    while (shard < first && !atomic_compare_exchange_weak(&own->first_failed, &first, shard)) continue;
}

/* By worker `worker`, or by all, of which 0 is the caller. */
static void compute_shard(one_device *own, size_t shard, int worker, bool together)
{
    /* Shards before a failed one still run: one of them may fail too, and is then the first. */
    if (shard > atomic_load(&own->first_failed)) return;
    liana__error *error = &own->errors[worker];
    const bool shares = shares_slot(own, shard);
    size_t slot_index = shares ? claim_slot_of_pair(own, shard / 2) : claim_slot(own);
    const slot *taken = &own->slots[slot_index];
    own->slot_of[shard] = slot_index;
    uint64_t begin = clock_if_recorded(own);
    liana_status status = own->run(own->user, shard, together ? LIANA__ALL_WORKERS : worker, taken->sums,
                                   shares ? taken->arrivals : NULL, error);
    record(own, LIANA__EVENT_SHARD, begin, shard, worker);
    if (status == LIANA_OK) status = climb(own, shard, worker, error);
    if (status != LIANA_OK) note_failure(own, shard, worker, status);
}

static void run_task(void *user, size_t shard, int worker)
{
    compute_shard(user, shard, worker, false);
}

static liana_status report_first_failure(const one_device *own, liana__error *error)
{
    int first = -1;
    for (int worker = 0; worker < own->device->num_workers; worker++) {
        if (own->errors[worker].status == LIANA_OK) continue;
        if (first < 0 || own->failed_shard[worker] < own->failed_shard[first]) first = worker;
    }
    if (error) *error = own->errors[first];
    return own->errors[first].status;
}

static size_t root_of(size_t num_shards)
{
    size_t root = 0;
    while (num_shards > 1) {
        root += num_shards;
        num_shards = (num_shards + 1) / 2;
    }
    return root;
}

static liana_status sum_shards(liana__strategy_instance *instance, size_t num_shards, liana__run_shard run, void *user,
                               liana__buffer *const **sums, liana__error *error)
{
    one_device *own = (one_device *)instance;
    if (num_shards < 1 || num_shards > own->max_shards) {
        return liana__fail(error, LIANA_INTERNAL, "%zu shards asked for, planned for 1 to %zu", num_shards,
                           own->max_shards);
    }
    own->num_shards = num_shards;
    own->num_alone = num_shards - num_together(own->device, num_shards);
    own->run = run;
    own->user = user;
    atomic_store(&own->first_failed, SIZE_MAX);
    for (size_t i = 0; i < own->num_tree_nodes; i++) atomic_store_explicit(&own->arrived[i], 0, memory_order_relaxed);
    for (size_t i = 0; i < num_shards; i++) atomic_store_explicit(&own->slot_of_pair[i], 0, memory_order_relaxed);
    for (size_t i = 0; i < own->num_slots; i++) atomic_store(&own->slots[i].in_use, false);
    for (int worker = 0; worker < own->device->num_workers; worker++) own->errors[worker].status = LIANA_OK;
    if (own->device->num_workers == 1) {
        for (size_t shard = 0; shard < num_shards; shard++) run_task(own, shard, 0);
    } else {
        liana__pool_run(own->device->context->pool, own->num_alone, run_task, own);
        for (size_t shard = own->num_alone; shard < num_shards; shard++) compute_shard(own, shard, 0, true);
    }
    if (atomic_load(&own->first_failed) != SIZE_MAX) return report_first_failure(own, error);
    *sums = own->slots[own->slot_of[root_of(num_shards)]].sums;
    return LIANA_OK;
}

const liana__strategy liana__strategy_one_device = {
    .name = "one_device",
    .doc = "All shards on one device, one on each of its workers at a time.",
    .create = create,
    .destroy = destroy,
    .num_together = num_together,
    .sum_shards = sum_shards,
};
