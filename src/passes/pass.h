/* pass.h - the contract of passes: graph in, graph out, with the same results (unless the graph asks for others).
 *
 * A backend runs the passes of passes.def, in order, on a graph before compiling it. LIANA_SKIP_PASSES names passes to
 * leave out, to see the effect of a pass or whether it causes an error. To add one: a file in src/passes with the
 * struct, and a row in passes.def. */
#ifndef LIANA_PASSES_PASS_H
#define LIANA_PASSES_PASS_H

#include "ir/copy_node.h"
#include "ops/ops.h"

/* A graph that is being rebuilt node by node. */
typedef struct liana__rewriter {
    const liana_graph *old;
    liana_graph *graph;       /* the new one */
    liana_tensor *map;        /* by old id: the node's replacement in the new graph */
    const uint32_t *num_uses; /* by old id: number of nodes, outputs and assignments that read it */
    void *analysis;           /* what the pass has found, from the arena */
    liana__arena arena;       /* freed after the pass */
} liana__rewriter;

typedef struct liana__pass {
    const char *name;
    const char *doc;
    /* For a pass that changes results, and which every backend therefore runs: whether this graph asks for it. NULL:
     * the pass is an optimization. */
    bool (*asked_for)(const liana_graph *graph);
    /* Looks at the whole graph before it is rebuilt, and may set rewriter->analysis. NULL: nothing to do. */
    liana_status (*analyse)(liana__rewriter *rewriter, liana__error *error);
    /* Builds the replacement of `node`, whose inputs are already in `map`. An invalid tensor keeps the node as it is.
     * NULL: the pass does not change the graph; a backend does its work in another way. */
    liana_tensor (*rewrite)(const liana__rewriter *rewriter, const liana__node *node);
} liana__pass;

#define LIANA__PASS(stem, name) extern const liana__pass liana__pass_##name;
#include "passes/passes.def"
#undef LIANA__PASS

/* All passes in the order in which they run, NULL-terminated. */
extern const liana__pass *const liana__passes[];

/* Runs all passes except those in LIANA_SKIP_PASSES. *result is a new graph with the same inputs, variables, outputs
 * and assignments, which the caller destroys; NULL: no pass was run. Errors: OUT_OF_MEMORY, INVALID_CONFIG (an unknown
 * name), INTERNAL. */
liana_status liana__passes_run(const liana_graph *graph, liana_graph **result, liana__error *error) LIANA_MUST_USE;

/* The same with only the passes that the graph asks for; for a backend that does not optimize. */
liana_status liana__passes_run_asked_for(const liana_graph *graph, liana_graph **result, liana__error *error)
    LIANA_MUST_USE;

/* Whether the pass is not in LIANA_SKIP_PASSES. */
bool liana__pass_is_on(const liana_context *context, const liana__pass *pass);

/* Fails with OUT_OF_MEMORY at the node that is rebuilt. */
liana_tensor liana__pass_fail_memory(liana_graph *graph, const liana__node *node);

/* Runs one pass. */
liana_status liana__pass_run(const liana__pass *pass, const liana_graph *graph, liana_graph **result,
                             liana__error *error) LIANA_MUST_USE;

#endif
