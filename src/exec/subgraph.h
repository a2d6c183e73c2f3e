/* subgraph.h - the part of a graph that some results and assignments need: a program compiles it when it is first asked
 * for them. */
#ifndef LIANA_EXEC_SUBGRAPH_H
#define LIANA_EXEC_SUBGRAPH_H

#include "ir/graph.h"

/* The wanted part of a graph: results, and assignments by their index. */
typedef struct liana__wanted {
    liana__node *const *results;
    size_t num_results;
    const size_t *assignments;
    size_t num_assignments;
} liana__wanted;

/* Sets needed[id] for each node that is wanted or that something wanted depends on. */
void liana__wanted_mark(const liana_graph *graph, const liana__wanted *wanted, bool *needed);

/* Makes a graph with only the nodes that are needed, in the same order. Output i, called "0", "1", ..., is result i.
 * Variables that are only assigned to come last. The first `*num_read` variables are those whose old values are read.
 * Errors: OUT_OF_MEMORY, in the graph's context; the graph's own error. */
liana_status liana__subgraph(const liana_graph *graph, const liana__wanted *wanted, liana_graph **result,
                             size_t *num_read) LIANA_MUST_USE;

#endif
