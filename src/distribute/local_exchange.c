/* Blocks on the host. */
#include "distribute/local_exchange.h"

#include "backends/host.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

liana_status liana__local_exchange_create(const liana_graph *shard, size_t num_sums, liana__local_exchange *exchange,
                                          liana__error *error)
{
    *exchange = (liana__local_exchange){.num_sums = num_sums};
    exchange->offsets = calloc(num_sums + 1, sizeof *exchange->offsets);
    if (!exchange->offsets) return liana__fail_memory(error, "the exchange of sums");
    for (size_t i = 0; i < num_sums; i++) {
        const liana__node *node = shard->outputs[i].node;
        if (node->dtype != LIANA_F32) {
            return liana__fail(error, LIANA_INVALID_CONFIG, "the sum '%s' is %s; several devices exchange f32 only",
                               shard->outputs[i].name, liana__type_print(node->dtype, &node->shape).text);
        }
        exchange->offsets[i + 1] = exchange->offsets[i] + (size_t)liana_shape_size(&node->shape);
    }
    return LIANA_OK;
}

void liana__local_exchange_free(liana__local_exchange *exchange)
{
    for (size_t i = 0; i < exchange->num_slots; i++) free(exchange->slots[i]);
    free(exchange->slots);
    free(exchange->where);
    free(exchange->offsets);
    *exchange = (liana__local_exchange){0};
}

static liana_status grow(liana__local_exchange *exchange, size_t num_slots, liana__error *error)
{
    if (num_slots <= exchange->num_slots) return LIANA_OK;
    float **slots = realloc(exchange->slots, num_slots * sizeof *slots);
    if (slots) exchange->slots = slots;
    const float **where = realloc(exchange->where, (num_slots * exchange->num_sums + 1) * sizeof *where);
    if (where) exchange->where = where;
    if (!slots || !where) return liana__fail_memory(error, "the exchange of sums");
    while (exchange->num_slots < num_slots) slots[exchange->num_slots++] = NULL;
    return LIANA_OK;
}

static float *fill_slot(liana__local_exchange *exchange, size_t slot, liana__error *error)
{
    float **memory = &exchange->slots[slot];
    if (!*memory) *memory = liana__allocate_aligned((exchange->offsets[exchange->num_sums] + 1) * sizeof **memory);
    if (!*memory) liana__fail_memory(error, "the exchange of sums");
    return *memory;
}

liana_status liana__local_exchange_reserve(liana__local_exchange *exchange, size_t num_slots, bool fills,
                                           liana__error *error)
{
    LIANA_TRY(grow(exchange, num_slots, error));
    for (size_t slot = 0; fills && slot < num_slots; slot++) {
        const float *memory = fill_slot(exchange, slot, error);
        if (!memory) return LIANA_OUT_OF_MEMORY;
        for (size_t i = 0; i < exchange->num_sums; i++) {
            exchange->where[slot * exchange->num_sums + i] = memory + exchange->offsets[i];
        }
    }
    return LIANA_OK;
}

static liana_status take_sum(liana__local_exchange *exchange, size_t slot, size_t number, const liana__buffer *sum,
                             liana__error *error)
{
    const float **where = &exchange->where[slot * exchange->num_sums + number];
    *where = liana__host_view(sum);
    if (*where) return LIANA_OK;
    float *memory = fill_slot(exchange, slot, error);
    if (!memory) return LIANA_OUT_OF_MEMORY;
    *where = memory + exchange->offsets[number];
    return sum->device->backend->download(sum, memory + exchange->offsets[number], error);
}

liana_status liana__local_exchange_take(liana__local_exchange *exchange, const liana__leaf_block *blocks,
                                        size_t num_blocks, liana__error *error)
{
    LIANA_TRY(liana__local_exchange_reserve(exchange, num_blocks, false, error));
    for (size_t block = 0; block < num_blocks; block++) {
        for (size_t i = 0; i < exchange->num_sums; i++) {
            LIANA_TRY(take_sum(exchange, block, i, blocks[block].sums[i], error));
        }
    }
    return LIANA_OK;
}

liana_status liana__local_exchange_keep(liana__local_exchange *exchange, size_t num_blocks, liana__error *error)
{
    for (size_t slot = 0; slot < num_blocks; slot++) {
        float *memory = fill_slot(exchange, slot, error);
        if (!memory) return LIANA_OUT_OF_MEMORY;
        for (size_t i = 0; i < exchange->num_sums; i++) {
            const float **where = &exchange->where[slot * exchange->num_sums + i];
            float *to = memory + exchange->offsets[i];
            if (*where != to) memcpy(to, *where, (exchange->offsets[i + 1] - exchange->offsets[i]) * sizeof *to);
            *where = to;
        }
    }
    return LIANA_OK;
}
