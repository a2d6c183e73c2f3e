/* graph_facts.h - graphs as facts that processes compare. */
#ifndef LIANA_TRAIN_GRAPH_FACTS_H
#define LIANA_TRAIN_GRAPH_FACTS_H

#include "train/core/agreement.h"

/* The inputs, variables and outputs of a graph by their names, with dtypes and shapes, and its precision. `key` names the
 * graph: "a shard of mine". */
void liana__facts_add_graph(liana__facts *facts, const char *key, const liana_graph *graph);

/* Its ops with their inputs and attributes, the values of its constants, and what is assigned to its variables. Three things
 * are left out, since they may differ from process to process and change no bits: where an op was built (the paths of
 * sources), on which device of a scope it is computed, and what is recomputed to save memory. */
void liana__facts_add_ops(liana__facts *facts, const char *key, const liana_graph *graph);

#endif
