/* memory_plan.h - the memory plan: where each tensor of a graph is while the graph runs. */
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
    LIANA__STORAGE_ELSEWHERE, /* in the caller's memory */
} liana__storage_kind;

/* `offset` is in bytes for the workspace; an index for inputs, variables and outputs; the node id for constants. */
typedef struct liana__storage {
    liana__storage_kind kind;
    size_t offset;
} liana__storage;

/* A copy at the end of an execution. */
typedef struct liana__plan_copy {
    uint32_t node;         /* the copied node */
    liana__storage target; /* OUTPUT or VARIABLE */
} liana__plan_copy;

typedef struct liana__memory_plan {
    liana__arena arena; /* has the lists */
    size_t num_nodes;
    liana__storage *storage; /* by node id */
    bool *computed;          /* by node id: a kernel has to run (needed, not a leaf, not an alias) */
    size_t *partials;        /* by node id: offset in the workspace of the partial results of slices: for a sum, of one
                              * at a time; for a merge, of all, each aligned */
    /* For graphs with a gradient, whose outputs may have to be added to existing contents of their buffers: by node id,
     * an offset in the workspace for each node that is stored in an output. Nothing else is there while the node is
     * computed, and no node of the graph reads it. NULL for other graphs. */
    size_t *spares;
    /* Copies that are needed, outputs first: results that are leaves or aliases, and assignments that could not be
     * written directly. */
    liana__plan_copy *copies;
    size_t num_copies;
    size_t workspace_size; /* bytes */
    size_t unshared_size;  /* bytes if every tensor had memory of its own; the plan saves the difference */
} liana__memory_plan;

/* Plans the memory for execution in a given order. With `share` false every tensor has memory of its own, and nothing
 * is overwritten (for LIANA_VALIDATE). elsewhere[id]: the caller has memory for this node, which is not an output and
 * not assigned; NULL: no such node. Free with liana__memory_plan_free. */
liana_status liana__memory_plan_make(const liana_graph *graph, const liana__execution_order *schedule, bool share,
                                     const bool *elsewhere, liana__memory_plan *plan, liana__error *error)
    LIANA_MUST_USE;
void liana__memory_plan_free(liana__memory_plan *plan);

#endif
