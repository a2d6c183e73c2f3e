/* recomputed.h - nodes that compute again results that others gave and did not keep (plan/recompute.h), so that the
 * compiler does not see that: it would compute once, and keep the result. */
#ifndef LIANA_STABLEHLO_RECOMPUTED_H
#define LIANA_STABLEHLO_RECOMPUTED_H

#include "stablehlo/lowering_internal.h"

/* A run of such nodes, one behind the other. */
typedef struct liana__recomputed_run {
    uint32_t *ids;      /* of the inputs of the run from outside */
    liana__hlo *values; /* before the run */
    size_t count;
} liana__recomputed_run;

/* Call it before each node that is written. Where a run begins, its inputs from outside go through an
 * `optimization_barrier`, together with a gradient that the node behind the run reads: so the run does not begin before
 * that gradient is there. Where it ends, those values are as before. Errors: OUT_OF_MEMORY. */
liana_status liana__recomputed_step(liana__lowering *lowering, const liana_graph *graph, const bool *needed, size_t id,
                                    liana__recomputed_run *run) LIANA_MUST_USE;

#endif
