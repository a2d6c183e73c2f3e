/* Blocks go to the host. */
#include "distribute/exchange/local.h"

#include "base/memory.h"

#include <stdlib.h>

liana_status liana__local_exchange_create(const liana_graph *leaf, size_t num_sums, liana__local_exchange *exchange,
                                          liana__error *error)
{
    *exchange = (liana__local_exchange){.num_sums = num_sums};
    exchange->offsets = calloc(num_sums + 1, sizeof *exchange->offsets);
    if (!exchange->offsets) return liana__fail_memory(error, "the exchange of sums");
    for (size_t i = 0; i < num_sums; i++) {
        const liana__node *node = leaf->outputs[i].node;
        if (node->dtype != LIANA_F32) {
            return liana__fail(error, LIANA_INVALID_CONFIG, "the sum '%s' is %s; several devices exchange f32 only",
                               leaf->outputs[i].name, liana__type_print(node->dtype, &node->shape).text);
        }
        exchange->offsets[i + 1] = exchange->offsets[i] + (size_t)liana_shape_size(&node->shape);
    }
    return LIANA_OK;
}

void liana__local_exchange_free(liana__local_exchange *exchange)
{
    for (size_t i = 0; i < exchange->num_slots; i++) free(exchange->slots[i]);
    free(exchange->slots);
    free(exchange->offsets);
    *exchange = (liana__local_exchange){0};
}

liana_status liana__local_exchange_reserve(liana__local_exchange *exchange, size_t num_slots, liana__error *error)
{
    if (num_slots <= exchange->num_slots) return LIANA_OK;
    float **slots = realloc(exchange->slots, num_slots * sizeof *slots);
    if (!slots) return liana__fail_memory(error, "the exchange of sums");
    exchange->slots = slots;
    while (exchange->num_slots < num_slots) {
        float *slot = liana__allocate_aligned(exchange->offsets[exchange->num_sums] * sizeof *slot);
        if (!slot) return liana__fail_memory(error, "the exchange of sums");
        slots[exchange->num_slots++] = slot;
    }
    return LIANA_OK;
}

liana_status liana__local_exchange_take(liana__local_exchange *exchange, size_t first_slot,
                                        const liana__leaf_block *blocks, size_t num_blocks, liana__error *error)
{
    for (size_t block = 0; block < num_blocks; block++) {
        float *slot = exchange->slots[first_slot + block];
        for (size_t i = 0; i < exchange->num_sums; i++) {
            const liana__buffer *sum = blocks[block].sums[i];
            LIANA_TRY(sum->device->backend->download(sum, slot + exchange->offsets[i], error));
        }
    }
    return LIANA_OK;
}
