/* recompute.h - training graphs that need less of a plugin's device: parts of the forward pass are computed a second
 * time.
 *
 * Which parts, the CPU's plan says (plan/recompute.h). How much that saves on the device, only the plugin's compiler
 * knows, which has a plan of its own. So levels are compiled, one after the other, until the plan fits. */
#ifndef LIANA_BACKENDS_PJRT_RECOMPUTE_H
#define LIANA_BACKENDS_PJRT_RECOMPUTE_H

#include "backends/backend.h"
#include "plan/recompute.h"

enum { LIANA__MOST_RECOMPUTED = 4 };

/* Chooses the nodes that level `level` (1 to LIANA__MOST_RECOMPUTED) computes twice: with each level more, and the last
 * one all that saves memory. made->graph is NULL if that is nothing. Free with liana__recomputation_free. Errors:
 * OUT_OF_MEMORY. */
liana_status liana__pjrt_recompute(const liana_graph *graph, int level, liana__recomputation *made, liana__error *error)
    LIANA_MUST_USE;

/* Operations of one execution, without those that are done a second time. */
double liana__pjrt_count_flops(const liana_graph *graph);

/* Bytes that executions may take in addition to a device's buffers. INT64_MAX: nobody has set a limit, and nothing is
 * to be computed twice. */
int64_t liana__pjrt_limit(const liana__device *device);

/* Names the least memory of training in addition to buffers (`least`; -1: unknown), and its limit. Returns
 * OUT_OF_MEMORY. */
liana_status liana__pjrt_fail_limit(const liana__device *device, int64_t least, liana__error *error);

#endif
