/* The sums of several devices meet as they come. */
#include "distribute/group_sums.h"

#include "base/denormals.h"

#include <string.h>

static const size_t none = SIZE_MAX;

void liana__group_sums_free(liana__group_sums *sums)
{
    liana__arena_free(&sums->arena);
    *sums = (liana__group_sums){.add = sums->add};
}

/* ---- one sum ---- */

static size_t first_leaf(const liana__group_sums *own, size_t slot)
{
    return liana__tree_leaves(own->tree->num_leaves, own->tree->slots[own->first_slot + slot].block).begin;
}

static float *place_of(const liana__group_sums *own, size_t slot, size_t sum)
{
    return own->exchange->slots[slot] + own->exchange->offsets[sum];
}

static int64_t size_of(const liana__group_sums *own, size_t sum)
{
    return (int64_t)(own->exchange->offsets[sum + 1] - own->exchange->offsets[sum]);
}

static void add(const liana__group_sums *own, const liana__group_addition *addition, size_t sum)
{
    float *into = place_of(own, addition->into, sum);
    own->add(into, into, place_of(own, addition->from, sum), size_of(own, sum));
}

/* A sum of a slot is there: it goes up the tree, until the other side of an addition is to come. The second one
 * adds. */
static void go_up(liana__group_sums *own, size_t slot, size_t sum)
{
    size_t at = own->next[slot];
    while (at != none) {
        if (atomic_fetch_add(&own->arrived[at * own->exchange->num_sums + sum], 1) == 0) return;
        add(own, &own->additions[at], sum);
        slot = own->additions[at].into;
        at = own->additions[at].after;
    }
    own->listener->made(own->listener->user, first_leaf(own, slot), sum, place_of(own, slot, sum));
}

/* On any of a device's threads. */
static void hear(void *user, size_t block, size_t sum, const void *data)
{
    liana__group_sums *own = user;
    size_t slot = 0;
    while (slot < own->num_slots && first_leaf(own, slot) != block) slot++;
    if (slot == own->num_slots || sum >= own->exchange->num_sums) return;
    memcpy(place_of(own, slot, sum), data, (size_t)size_of(own, sum) * sizeof(float));
    atomic_store(&own->taken[slot * own->exchange->num_sums + sum], true);
    const liana__denormals before = liana__denormals_flush();
    go_up(own, slot, sum);
    liana__denormals_restore(before);
}

/* ---- the additions of a step ---- */

/* The block of the range that a slot is a part of. */
static size_t block_of(const liana__group_sums *own, size_t slot)
{
    const size_t leaf = first_leaf(own, slot);
    size_t block = 0;
    while (block + 1 < own->num_blocks && leaf >= liana__tree_leaves(own->tree->num_leaves, own->blocks[block]).end) {
        block++;
    }
    return block;
}

/* Only additions within one block: the others are for the holder of all blocks. */
static void list_additions(liana__group_sums *own)
{
    own->num_additions = 0;
    for (size_t i = 0; i < own->tree->num_additions; i++) {
        /* A slot before the first becomes a large number. */
        const size_t into = own->tree->additions[i].into - own->first_slot;
        const size_t from = own->tree->additions[i].from - own->first_slot;
        if (into >= own->num_slots || from >= own->num_slots || block_of(own, into) != block_of(own, from)) continue;
        own->additions[own->num_additions++] = (liana__group_addition){into, from, none};
    }
    for (size_t i = 0; i < own->num_slots; i++) own->next[i] = none;
    for (size_t i = own->num_additions; i-- > 0;) {
        liana__group_addition *each = &own->additions[i];
        each->after = own->next[each->into];
        own->next[each->into] = own->next[each->from] = i;
    }
}

static liana_status reserve(liana__group_sums *own, liana__error *error)
{
    const size_t count = own->num_slots, num_cells = count * own->exchange->num_sums;
    if (count <= own->num_reserved && num_cells <= own->num_cells) return LIANA_OK;
    liana__arena_free(&own->arena);
    own->additions = liana__arena_allocate(&own->arena, count * sizeof *own->additions);
    own->next = liana__arena_allocate(&own->arena, count * sizeof *own->next);
    own->arrived = liana__arena_allocate(&own->arena, num_cells * sizeof *own->arrived);
    own->taken = liana__arena_allocate(&own->arena, num_cells * sizeof *own->taken);
    const bool enough = !own->arena.failed;
    own->num_reserved = enough ? count : 0;
    own->num_cells = enough ? num_cells : 0;
    return enough ? LIANA_OK : liana__fail_memory(error, "the sums of several devices");
}

liana_status liana__group_sums_begin(liana__group_sums *sums, const liana__tree_plan *tree, size_t first_slot,
                                     size_t end_slot, liana__leaf_range leaves, liana__local_exchange *exchange,
                                     const liana__sum_watch *listener, liana__error *error)
{
    sums->tree = tree;
    sums->exchange = exchange;
    sums->listener = listener;
    sums->first_slot = first_slot;
    sums->num_slots = end_slot - first_slot;
    sums->num_blocks = liana__tree_blocks(tree->num_leaves, leaves, sums->blocks);
    sums->watch = (liana__sum_watch){hear, sums};
    LIANA_TRY(reserve(sums, error));
    LIANA_TRY(liana__local_exchange_reserve(exchange, sums->num_slots, true, error));
    list_additions(sums);
    for (size_t i = 0; i < sums->num_slots * exchange->num_sums; i++) {
        atomic_store(&sums->arrived[i], 0);
        atomic_store(&sums->taken[i], false);
    }
    return LIANA_OK;
}

liana_status liana__group_sums_take(liana__group_sums *sums, size_t slot, const liana__leaf_block *blocks,
                                    size_t num_blocks, liana__error *error)
{
    const size_t num_sums = sums->exchange->num_sums;
    for (size_t block = 0; block < num_blocks; block++) {
        for (size_t i = 0; i < num_sums; i++) {
            const liana__buffer *sum = blocks[block].sums[i];
            if (atomic_load(&sums->taken[(slot + block) * num_sums + i])) continue;
            LIANA_TRY(sum->device->backend->download(sum, place_of(sums, slot + block, i), error));
        }
    }
    return LIANA_OK;
}

/* A block's sum is in the slot that begins with it. Slots behind it are not needed, or are sums of later blocks. */
static void bring_forward(const liana__group_sums *own)
{
    liana__local_exchange *exchange = own->exchange;
    float **slots = exchange->slots;
    for (size_t block = 0, slot = 0; block < own->num_blocks; block++) {
        while (block_of(own, slot) != block) slot++;
        float *sum = slots[slot];
        slots[slot] = slots[block];
        slots[block] = sum;
        for (size_t i = 0; i < exchange->num_sums; i++) {
            exchange->where[block * exchange->num_sums + i] = sum + exchange->offsets[i];
        }
    }
}

void liana__group_sums_end(liana__group_sums *sums)
{
    const size_t num_sums = sums->exchange->num_sums;
    const liana__denormals before = liana__denormals_flush();
    for (size_t i = 0; i < sums->num_additions; i++) {
        for (size_t sum = 0; sum < num_sums; sum++) {
            if (atomic_load(&sums->arrived[i * num_sums + sum]) < 2) add(sums, &sums->additions[i], sum);
        }
    }
    liana__denormals_restore(before);
    bring_forward(sums);
}
