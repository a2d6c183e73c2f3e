/* graph_facts.h - graphs as facts that processes compare. */
#ifndef LIANA_STEP_GRAPH_FACTS_H
#define LIANA_STEP_GRAPH_FACTS_H

#include "step/agreement.h"

/* The inputs, variables and outputs of a graph by their names, with dtypes and shapes, and its precision. `key` names
 * the graph: "a shard of mine". */
void liana__facts_add_graph(liana__facts *facts, const char *key, const liana_graph *graph);

/* Its ops with their inputs and attributes, the values of its constants, and the assignments to its variables. Three
 * things are left out, since they may differ from process to process and change no bits: where an op was built (the
 * paths of sources), on which device of a scope it is computed, and which nodes are recomputed to save memory. */
void liana__facts_add_ops(liana__facts *facts, const char *key, const liana_graph *graph);

/* A graph, its device and its variables. */
typedef struct liana__graph_agreement {
    liana__device *device;
    liana__variables *variables;
    liana__cluster *cluster;
    const char *name; /* "a shard of the step 'gan'" */
} liana__graph_agreement;

/* Compares the graph, its ops and the values of its variables, and then each process's results for made-up examples.
 * The graph is freed. `facts` are compared too. Errors: INVALID_CONFIG with the difference; UNAVAILABLE for a process
 * that computes other bits; those of compiling. */
liana_status liana__agree_on_graph(const liana__graph_agreement *own, liana_graph *graph, liana__facts *facts,
                                   liana__error *error) LIANA_MUST_USE;
/* `facts`, the graph and its ops alone. Errors: INVALID_CONFIG with the difference. */
liana_status liana__agree_on_ops(const liana__graph_agreement *own, const liana_graph *graph, liana__facts *facts,
                                 liana__error *error) LIANA_MUST_USE;

#endif
