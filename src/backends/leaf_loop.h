/* leaf_loop.h - a replica for any device: it runs one leaf after the other, with the device contract's functions alone.
 */
#ifndef LIANA_BACKENDS_LEAF_LOOP_H
#define LIANA_BACKENDS_LEAF_LOOP_H

#include "backends/replica.h"

/* See replica.h. */
liana_status liana__leaf_loop_create(liana__device *device, const liana__leaf_plan *plan, liana__replica **replica,
                                     liana__error *error);
void liana__leaf_loop_destroy(liana__replica *replica);
liana_status liana__leaf_loop_prepare(liana__replica *replica, const liana__leaf_batch *batch, liana__error *error);
liana_status liana__leaf_loop_compute(liana__replica *replica, const liana__leaf_batch *batch,
                                      const liana__leaf_block **blocks, size_t *num_blocks, liana__error *error);
void liana__leaf_loop_memory(const liana__replica *replica, const liana__leaf_batch *batch,
                             liana__replica_memory *memory);

#endif
