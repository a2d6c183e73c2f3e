/* local_exchange.h - the exchange between devices of one process: through the host's memory. */
#ifndef LIANA_DISTRIBUTE_LOCAL_EXCHANGE_H
#define LIANA_DISTRIBUTE_LOCAL_EXCHANGE_H

#include "backends/replica.h"
#include "distribute/tree.h"

/* The sums of all blocks of a batch, in the host's memory: those of a device that computes there stay where they
 * are. */
typedef struct liana__local_exchange {
    size_t num_sums;
    size_t *offsets;     /* by sum, and one more: elements before it in a block */
    float **slots;       /* by block, in the order of shards: memory for all sums of a block, one behind the other */
    const float **where; /* [blocks, sums]: where a sum lies, in its slot or on the device */
    size_t num_slots;
} liana__local_exchange;

/* For the first `num_sums` outputs of a shard's graph, which must be f32. Errors: OUT_OF_MEMORY, INVALID_CONFIG. */
liana_status liana__local_exchange_create(const liana_graph *shard, size_t num_sums, liana__local_exchange *exchange,
                                          liana__error *error) LIANA_MUST_USE;
void liana__local_exchange_free(liana__local_exchange *exchange);

/* Room for `num_slots` blocks. `fills`: with memory, in which all sums lie from then on. */
liana_status liana__local_exchange_reserve(liana__local_exchange *exchange, size_t num_slots, bool fills,
                                           liana__error *error) LIANA_MUST_USE;

/* The blocks of a replica: valid until that computes again. */
liana_status liana__local_exchange_take(liana__local_exchange *exchange, const liana__leaf_block *blocks,
                                        size_t num_blocks, liana__error *error) LIANA_MUST_USE;
/* Copies the first blocks to their slots, as far as they lie elsewhere: there they may be changed. */
liana_status liana__local_exchange_keep(liana__local_exchange *exchange, size_t num_blocks, liana__error *error)
    LIANA_MUST_USE;

static inline const float *liana__local_exchange_sum(const liana__local_exchange *exchange, size_t slot, size_t sum)
{
    return exchange->where[slot * exchange->num_sums + sum];
}

#endif
