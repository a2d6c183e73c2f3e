/* pass.h - the contract of passes: graph in, graph out, the same results (unless a graph asks for others).
 *
 * A backend runs the passes of passes.def, in order, on a graph that it is about to compile. LIANA_SKIP_PASSES names
 * those that are to be left out, to see what one does or to find out which is at fault. To add one: a file in
 * src/passes with the struct, and a row in passes.def. */
#ifndef LIANA_PASSES_PASS_H
#define LIANA_PASSES_PASS_H

#include "ir/graph.h"
#include "ops/ops.h"

/* A graph that is being rebuilt node by node. */
typedef struct liana__rewriter {
    const liana_graph *old;
    liana_graph *graph;       /* the new one */
    liana_tensor *map;        /* by old id: what stands for the node in the new graph */
    const uint32_t *num_uses; /* by old id: nodes, outputs and assignments that read it */
    void *analysis;           /* the pass's own, from malloc; freed after it */
} liana__rewriter;

typedef struct liana__pass {
    const char *name;
    const char *doc;
    /* For a pass that is no optimization but changes results, which every backend therefore runs: whether this graph
     * asks for it. NULL: it is an optimization. */
    bool (*asked_for)(const liana_graph *graph);
    /* Looks at the whole graph before it is rebuilt, and may set rewriter->analysis. NULL: nothing to do. */
    liana_status (*analyse)(liana__rewriter *rewriter, liana__error *error);
    /* Builds what stands for `node` (whose inputs are already in `map`); an invalid tensor keeps the node as it is.
     * NULL: the pass leaves the graph as it is, and a backend does what it says by another way. */
    liana_tensor (*rewrite)(const liana__rewriter *rewriter, const liana__node *node);
} liana__pass;

#define LIANA__PASS(stem, name) extern const liana__pass liana__pass_##name;
#include "passes/passes.def"
#undef LIANA__PASS

/* All passes in the order in which they run, NULL-terminated. */
extern const liana__pass *const liana__passes[];

/* Runs all passes but those named in LIANA_SKIP_PASSES. *result is a new graph with the same inputs, variables, outputs
 * and assignments, for the caller to destroy, or NULL if no pass was run. Errors: OUT_OF_MEMORY, INVALID_CONFIG (an
 * unknown name), INTERNAL. */
liana_status liana__passes_run(const liana_graph *graph, liana_graph **result, liana__error *error) LIANA_MUST_USE;

/* Runs those only that the graph asks for; otherwise the same. For a backend that does not optimize. */
liana_status liana__passes_run_asked_for(const liana_graph *graph, liana_graph **result, liana__error *error)
    LIANA_MUST_USE;

/* Whether LIANA_SKIP_PASSES leaves it in. */
bool liana__pass_is_on(const liana_context *context, const liana__pass *pass);

/* An input, variable or constant once more in another graph. */
liana_tensor liana__copy_leaf(liana_graph *graph, const liana__node *leaf);

/* Runs one. */
liana_status liana__pass_run(const liana__pass *pass, const liana_graph *graph, liana_graph **result,
                             liana__error *error) LIANA_MUST_USE;

#endif
