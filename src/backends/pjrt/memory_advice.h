/* memory_advice.h - what would fit into a device's memory. */
#ifndef LIANA_BACKENDS_PJRT_MEMORY_ADVICE_H
#define LIANA_BACKENDS_PJRT_MEMORY_ADVICE_H

#include "backends/pjrt/buffer.h"
#include "backends/pjrt/program.h"

/* Adds to an error OUT_OF_MEMORY of a program what it needs, what the device has, and which leaf would fit. Returns
 * OUT_OF_MEMORY. */
liana_status liana__pjrt_advise(const liana__pjrt_device *device, const liana_graph *graph,
                                const liana__pjrt_program *program, liana__error *error);

#endif
