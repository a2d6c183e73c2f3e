/* memory_plan.h - where each tensor of a graph lies while the graph runs. */
#ifndef LIANA_PASSES_MEMORY_PLAN_H
#define LIANA_PASSES_MEMORY_PLAN_H

#include "plan/execution_order.h"

typedef enum liana__storage_kind {
    LIANA__STORAGE_NONE, /* nobody needs the node */
    LIANA__STORAGE_WORKSPACE,
    LIANA__STORAGE_INPUT,
    LIANA__STORAGE_VARIABLE,
    LIANA__STORAGE_OUTPUT,
    LIANA__STORAGE_CONSTANT,
    LIANA__STORAGE_ELSEWHERE, /* the caller of the planner has it */
} liana__storage_kind;

/* `offset` is in bytes for the workspace, an index for inputs, variables and outputs, the node id for constants. */
typedef struct liana__storage {
    liana__storage_kind kind;
    size_t offset;
} liana__storage;

/* A copy at the end of an execution. */
typedef struct liana__plan_copy {
    uint32_t node;         /* what is copied */
    liana__storage target; /* OUTPUT or VARIABLE */
} liana__plan_copy;

typedef struct liana__memory_plan {
    size_t num_nodes;
    liana__storage *storage; /* by node id */
    bool *computed;          /* by node id: a kernel has to run (needed, not a leaf, not an alias) */
    size_t *partials;        /* by node id: for what the slices of a sum (one at a time) or of a merger (all, each
                              * aligned) give, an offset in the workspace */
    /* Of graphs with a gradient, whose outputs may have to be added to what others left in their buffers: by node id,
     * an offset in the workspace for each node that is stored in an output; nothing else is there while it is computed.
     * Nobody in the graph reads such a node. NULL for other graphs. */
    size_t *spares;
    /* Copies that are left, outputs first: results that are leaves or aliases, and assignments that could not be
     * written straight into their variable. */
    liana__plan_copy *copies;
    size_t num_copies;
    size_t workspace_size; /* bytes */
    size_t unshared_size;  /* bytes if every tensor had memory of its own: what the plan saves is the difference */
} liana__memory_plan;

/* Plans for execution by a schedule of the graph. With `share` false every tensor has memory of its own and nothing is
 * overwritten (for LIANA_VALIDATE). elsewhere[id]: the caller has memory for this node, which is no output and assigned
 * to nothing; NULL: for none. Free with liana__memory_plan_free. */
liana_status liana__memory_plan_make(const liana_graph *graph, const liana__execution_order *schedule, bool share,
                                     const bool *elsewhere, liana__memory_plan *plan, liana__error *error)
    LIANA_MUST_USE;
void liana__memory_plan_free(liana__memory_plan *plan);

#endif
