/* recompute.h - recomputation: parts of the forward pass are computed a second time when the backward pass needs them,
 * instead of being kept (Chen et al., "Training deep nets with sublinear memory cost", 2016). It needs less memory, for
 * more work.
 *
 * A recomputed part is a segment of the execution order, with the slices of the first time. Nodes before and after it
 * stay in segments of their own, with slices of their own. So results are bit-identical.
 * docs/explanation/recomputation.md says more. */
#ifndef LIANA_PASSES_RECOMPUTE_H
#define LIANA_PASSES_RECOMPUTE_H

#include "plan/execution_order.h"

typedef struct liana__recomputation {
    liana_graph *graph; /* with the nodes that are computed again; NULL: none */
    liana__execution_order schedule;
    bool *elsewhere;       /* for the memory plan */
    size_t num_segments;   /* that run twice */
    size_t workspace_size; /* of the memory plan */
    double flops;          /* of the recomputed nodes (liana__node_cost) */
} liana__recomputation;

/* Chooses segments whose recomputation brings the memory plan's workspace down to `limit` bytes, as cheaply as the
 * search finds: one after the other, the segment that removes most bytes above the limit for each operation. Then
 * leaves out those that are not needed. `elsewhere` is as in liana__memory_plan_make. If nothing reaches the limit, the
 * result has the smallest workspace that was found. Free with liana__recomputation_free. Errors: OUT_OF_MEMORY. */
liana_status liana__recompute(const liana_graph *graph, const liana__execution_order *schedule, const bool *elsewhere,
                              size_t limit, liana__recomputation *made, liana__error *error) LIANA_MUST_USE;
void liana__recomputation_free(liana__recomputation *made);

/* The same without a limit (the pass recompute_light): recomputes a segment if (memory saved, %) is at least 10 x (work
 * added, %), up to 1/80 more work in all. */
liana_status liana__recompute_light(const liana_graph *graph, const liana__execution_order *schedule,
                                    const bool *elsewhere, liana__recomputation *made, liana__error *error)
    LIANA_MUST_USE;

/* Whether a training graph casts `node`, a large kernel of convolutions, twice: for its forward and for its backward
 * part (the pass recompute_cheap). So the rounded kernel is kept neither in between nor between executions. Casting a
 * weight costs little compared with its products with all pixels of a shard, and the rounded weights of all layers take
 * half as many bytes as the weights. Not for dense layers, whose products have few rows. */
bool liana__is_cast_twice(const liana_graph *graph, const liana__node *node);

/* ---- shared by its two files ---- */

/* Which nodes are recomputed for a choice of segments, and when. */
typedef struct liana__recompute_view {
    const liana_graph *graph;
    const liana__execution_order *schedule;
    const bool *elsewhere;
    uint32_t turn;     /* the first segment with a node of the backward pass */
    bool *may;         /* by node id: is not kept if its segment is recomputed */
    bool *again;       /* by segment: the choice */
    bool *cloned;      /* by node id: is recomputed */
    uint32_t *trigger; /* by segment: the segment before which it runs again; UINT32_MAX: it does not */
} liana__recompute_view;

static inline bool liana__recompute_reads_clone(const liana__recompute_view *view, const liana__node *input)
{
    return view->may[input->id] && view->again[view->schedule->segment_of[input->id]];
}

/* Rebuilds graph and order from a view whose `cloned` and `trigger` are up to date. */
liana_status liana__recompute_build(const liana__recompute_view *view, liana__recomputation *made, liana__error *error)
    LIANA_MUST_USE;

#endif
