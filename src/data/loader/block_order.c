/* Shuffles blocks, and records in windows of them. */
#include "data/loader/block_order.h"

#include "base/random.h"
#include "base/search.h"

#include <stdbool.h>
#include <stdlib.h>

struct liana__block_order {
    const uint64_t *block_starts;
    uint64_t num_records;
    uint64_t seed;
    size_t num_blocks; /* those with records: `take` may leave some out */
    bool laid_out;
    uint64_t pass;
    uint64_t *starts; /* [num_blocks + 1] the index in the pass of the first record of each block, in its order */
};

liana_status liana__block_order_create(const uint64_t *block_starts, size_t num_blocks, uint64_t num_records,
                                       uint64_t seed, liana__block_order **out, liana__error *error)
{
    *out = NULL;
    liana__block_order *order = calloc(1, sizeof *order);
    if (!order) return liana__fail_memory(error, "the order of the data");
    *order = (liana__block_order){.block_starts = block_starts, .num_records = num_records, .seed = seed};
    while (order->num_blocks < num_blocks && block_starts[order->num_blocks] < num_records) order->num_blocks++;
    order->starts = malloc((order->num_blocks + 1) * sizeof *order->starts);
    if (!order->starts) {
        free(order);
        return liana__fail_memory(error, "the order of the data");
    }
    *out = order;
    return LIANA_OK;
}

void liana__block_order_destroy(liana__block_order *order)
{
    if (!order) return;
    free(order->starts);
    free(order);
}

/* The seeds of the two permutations, which are independent of each other and of the order without blocks. */
static uint64_t seed_of(const liana__block_order *order, uint32_t salt)
{
    liana__philox_key key = liana__philox_make_key(order->seed, LIANA__STREAM_SHUFFLE, salt);
    return (uint64_t)key.words[1] << 32 | key.words[0];
}

/* The block that comes at a place of the pass. */
static size_t block_at(const liana__block_order *order, size_t place)
{
    return (size_t)liana__permute(seed_of(order, 1), order->pass, place, order->num_blocks);
}

static uint64_t first_of(const liana__block_order *order, size_t block)
{
    return block < order->num_blocks ? order->block_starts[block] : order->num_records;
}

static void lay_out(liana__block_order *order, uint64_t pass)
{
    order->pass = pass;
    order->laid_out = true;
    uint64_t start = 0;
    for (size_t place = 0; place < order->num_blocks; place++) {
        size_t block = block_at(order, place);
        order->starts[place] = start;
        start += first_of(order, block + 1) - first_of(order, block);
    }
    order->starts[order->num_blocks] = start;
}

/* The place whose records include the one at `index`. */
static size_t place_of(const liana__block_order *order, uint64_t index)
{
    return liana__part_of(order->starts, order->num_blocks, index);
}

uint64_t liana__block_order_record(liana__block_order *order, uint64_t pass, uint64_t index)
{
    if (!order->laid_out || order->pass != pass) lay_out(order, pass);
    size_t window = place_of(order, index) / LIANA__BLOCK_WINDOW, begin = window * LIANA__BLOCK_WINDOW;
    size_t end = begin + LIANA__BLOCK_WINDOW < order->num_blocks ? begin + LIANA__BLOCK_WINDOW : order->num_blocks;
    uint64_t first = order->starts[begin], count = order->starts[end] - first;
    /* Each window of each pass has a permutation of its own. */
    index = first + liana__permute(seed_of(order, (uint32_t)window + 2), pass, index - first, count);
    size_t place = place_of(order, index);
    return first_of(order, block_at(order, place)) + (index - order->starts[place]);
}
