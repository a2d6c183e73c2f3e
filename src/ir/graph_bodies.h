/* graph_bodies.h - graphs as the owners of the bodies (body.h) of their nodes. */
#ifndef LIANA_IR_GRAPH_BODIES_H
#define LIANA_IR_GRAPH_BODIES_H

#include "ir/op.h"

/* Adds an owner to a graph; liana_graph_destroy takes one away, and frees it with the last. */
void liana__graph_hold(liana_graph *graph);

/* Has a graph own the bodies of a node. False: out of memory. */
bool liana__graph_keep_bodies(liana_graph *graph, const liana__node *node);

/* How deep bodies lie in each other below the nodes of a graph; 0: there are none. */
int liana__graph_body_depth(const liana_graph *graph);

/* A node as a variable, for the choice of kernels: of a body's input that is the same in all steps, as weights are. It
 * has no name. */
liana__node liana__node_as_weights(const liana__node *node);

/* Whether a tensor depends on such a variable and on nothing else: it is packed once for many steps. */
bool liana__is_of_loop_weights(const liana__node *node);

/* The bodies of a node, of which it has op->num_bodies. */
static inline liana_graph *liana__node_body(const liana__node *node, size_t index)
{
    return ((const liana__bodies *)node->attributes)->items[index];
}

#endif
