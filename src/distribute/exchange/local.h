/* local.h - the exchange between devices of one process: through the host's memory. */
#ifndef LIANA_DISTRIBUTE_EXCHANGE_LOCAL_H
#define LIANA_DISTRIBUTE_EXCHANGE_LOCAL_H

#include "backends/replica.h"
#include "distribute/tree.h"

/* Host memory for the sums of all blocks of a batch. */
typedef struct liana__local_exchange {
    size_t num_sums;
    size_t *offsets; /* by sum, and one more: elements before it in a block */
    float **slots;   /* by block, in the order of leaves: all sums of a block, one behind the other */
    size_t num_slots;
} liana__local_exchange;

/* For the first `num_sums` outputs of a leaf's graph, which must be f32. Errors: OUT_OF_MEMORY, INVALID_CONFIG. */
liana_status liana__local_exchange_create(const liana_graph *leaf, size_t num_sums, liana__local_exchange *exchange,
                                          liana__error *error) LIANA_MUST_USE;
void liana__local_exchange_free(liana__local_exchange *exchange);

/* Copies the blocks of a replica into the slots from `first_slot` on. Calls for different slots may run at the same
 * time, after liana__local_exchange_reserve. */
liana_status liana__local_exchange_reserve(liana__local_exchange *exchange, size_t num_slots, liana__error *error)
    LIANA_MUST_USE;
liana_status liana__local_exchange_take(liana__local_exchange *exchange, size_t first_slot,
                                        const liana__leaf_block *blocks, size_t num_blocks, liana__error *error)
    LIANA_MUST_USE;

#endif
