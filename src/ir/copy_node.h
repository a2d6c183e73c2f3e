/* copy_node.h - copies of nodes in other graphs. */
#ifndef LIANA_IR_COPY_NODE_H
#define LIANA_IR_COPY_NODE_H

#include "ir/graph.h"

/* Makes a copy of an input, variable or constant in another graph. */
liana_tensor liana__copy_leaf(liana_graph *graph, const liana__node *leaf);

/* Makes a copy of a node in another graph. `map`: by id, the copies of the nodes before it. */
liana_tensor liana__copy_node(liana_graph *graph, const liana__node *node, const liana_tensor *map);

#endif
