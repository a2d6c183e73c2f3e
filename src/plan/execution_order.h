/* execution_order.h - the order in which the nodes of a graph run, and which of them run together on a part of the
 * batch.
 *
 * A segment is a sequence of nodes that is repeated for each slice of the batch (some rows of axis 0). So the results
 * that one node leaves for the next are in the cache. Tensors that nobody outside of the segment reads exist for one
 * slice at a time; they are "internal". A segment ends where a node needs the result of all slices together.
 *
 * If all large tensors are element-wise, as in an optimizer's update, slices are of elements instead.
 *
 * All this depends on the graph alone. */
#ifndef LIANA_PASSES_EXECUTION_ORDER_H
#define LIANA_PASSES_EXECUTION_ORDER_H

#include "ir/graph.h"

typedef struct liana__segment {
    size_t begin, end;  /* positions in the order */
    int64_t rows;       /* of the batch */
    int64_t slice_rows; /* of a slice, a divisor of `rows`. Equal to it: one node that runs whole */
    bool flat;          /* rows are elements: the nodes are element-wise */
} liana__segment;

typedef struct liana__execution_order {
    liana__arena arena; /* has the lists */
    size_t num_nodes;
    uint32_t *order; /* ids of the needed nodes that are not leaves */
    size_t count;
    liana__segment *segments;
    size_t num_segments;
    uint32_t *position;   /* by node id: its place in the order; UINT32_MAX: not in it */
    uint32_t *segment_of; /* by node id */
    bool *internal;       /* by node id */
} liana__execution_order;

/* Makes the order. `slice_bytes`: the bytes that a node should read and write for a slice, as far as whole rows allow;
 * 0: all nodes run whole, in the order of their ids. Free with liana__execution_order_free. */
liana_status liana__execution_order_make(const liana_graph *graph, size_t slice_bytes, liana__execution_order *schedule,
                                         liana__error *error) LIANA_MUST_USE;
void liana__execution_order_free(liana__execution_order *schedule);
/* Room for an order without nodes. False: out of memory. */
bool liana__execution_order_allocate(liana__execution_order *schedule, size_t num_nodes, size_t num_segments);

static inline bool liana__segment_is_sliced(const liana__segment *segment)
{
    return segment->slice_rows < segment->rows;
}

static inline size_t liana__segment_num_slices(const liana__segment *segment)
{
    return liana__segment_is_sliced(segment) ? (size_t)(segment->rows / segment->slice_rows) : 1;
}

/* How a node of a segment computes from a slice. */
static inline liana__parts liana__segment_parts(const liana__segment *segment, const liana__node *node)
{
    return segment->flat ? liana__node_flat_parts(node) : liana__node_parts(node);
}

/* The segment of a node that is in the order. */
static inline const liana__segment *liana__execution_order_segment(const liana__execution_order *schedule, uint32_t id)
{
    return &schedule->segments[schedule->segment_of[id]];
}

#endif
