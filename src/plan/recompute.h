/* recompute.h - less memory for more work: whole parts of the forward pass are computed a second time when the backward
 * pass needs them, instead of being kept (Chen et al., "Training deep nets with sublinear memory cost", 2016).
 *
 * What is computed again is a segment of the schedule, with the slices that it had the first time. Nodes before and
 * after it stay in segments of their own with slices of their own, so that no bit of any result changes. */
#ifndef LIANA_PASSES_RECOMPUTE_H
#define LIANA_PASSES_RECOMPUTE_H

#include "plan/execution_order.h"

typedef struct liana__recomputation {
    liana_graph *graph; /* with nodes that are computed again; NULL: there are none */
    liana__execution_order schedule;
    bool *elsewhere;       /* for the memory plan */
    size_t num_segments;   /* that run twice */
    size_t workspace_size; /* of the memory plan */
    double flops;          /* of what is computed again (liana__node_cost) */
} liana__recomputation;

/* Chooses the cheapest segments it can find whose recomputation brings the memory plan's workspace down to `limit`
 * bytes: one after the other the segment that takes most bytes over the limit away for an operation, then leaves out
 * those that turned out not to be needed. `elsewhere` is as in liana__memory_plan_make. If nothing does, the result is
 * the smallest workspace that was found. Free with liana__recomputation_free. Errors: OUT_OF_MEMORY. */
liana_status liana__recompute(const liana_graph *graph, const liana__execution_order *schedule, const bool *elsewhere,
                              size_t limit, liana__recomputation *made, liana__error *error) LIANA_MUST_USE;
void liana__recomputation_free(liana__recomputation *made);

/* The same where nothing limits memory: chooses those segments that give much memory for little work, one after the
 * other, a share of the workspace for a tenth of that share of an execution's work, and all together no more than an
 * eightieth of it (the pass recompute_light). */
liana_status liana__recompute_light(const liana_graph *graph, const liana__execution_order *schedule,
                                    const bool *elsewhere, liana__recomputation *made, liana__error *error)
    LIANA_MUST_USE;

/* Whether a graph that trains has `node` - a large kernel of convolutions, rounded - once for its forward and once for
 * its backward part (the pass recompute_cheap). So nobody need hold it in between, nor between executions: casting a
 * weight is little beside the products with it for all pixels of a shard, and rounded weights of all layers are half as
 * many bytes as the weights. Products of a dense layer have few rows. */
bool liana__is_cast_twice(const liana_graph *graph, const liana__node *node);

/* ---- between its two files ---- */

/* Which nodes a choice of segments has computed again, and when. */
typedef struct liana__recompute_view {
    const liana_graph *graph;
    const liana__execution_order *schedule;
    const bool *elsewhere;
    uint32_t turn;     /* the first segment with a node of the backward pass */
    bool *may;         /* by node id: is not kept if its segment is computed again */
    bool *again;       /* by segment: the choice */
    bool *cloned;      /* by node id: is computed again */
    uint32_t *trigger; /* by segment: the one before which it runs again; UINT32_MAX: it does not */
} liana__recompute_view;

static inline bool liana__recompute_reads_clone(const liana__recompute_view *view, const liana__node *input)
{
    return view->may[input->id] && view->again[view->schedule->segment_of[input->id]];
}

/* Rebuilds graph and schedule by a view whose `cloned` and `trigger` are up to date. */
liana_status liana__recompute_build(const liana__recompute_view *view, liana__recomputation *made, liana__error *error)
    LIANA_MUST_USE;

#endif
