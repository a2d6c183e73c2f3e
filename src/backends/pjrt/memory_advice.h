/* memory_advice.h - the size that would fit into a device's memory. */
#ifndef LIANA_BACKENDS_PJRT_MEMORY_ADVICE_H
#define LIANA_BACKENDS_PJRT_MEMORY_ADVICE_H

#include "backends/pjrt/buffer.h"
#include "backends/pjrt/program.h"

/* The examples of a masked shard: the size of its input "present". 0: the graph is no shard. */
int64_t liana__pjrt_leaf_size(const liana_graph *graph);

/* Adds to an error OUT_OF_MEMORY of a program its memory, the device's memory, and the shard that would fit in place of
 * one of `size` examples (0: it has none). `program` NULL: it was not even compiled. `may_recompute`: it would help to
 * compute parts twice (recompute.h). Returns OUT_OF_MEMORY. */
liana_status liana__pjrt_advise(const liana__pjrt_device *device, int64_t size, const liana__pjrt_program *program,
                                bool may_recompute, liana__error *error);

#endif
