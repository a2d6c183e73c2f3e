/* body.h - bodies: graphs that a node runs, as a loop its body.
 *
 * A body belongs to all graphs with nodes that have it, and does not change any more: passes make new ones. It has
 * inputs, in the order of the values that the op gives, and outputs; no variables and no assignments. */
#ifndef LIANA_IR_BODY_H
#define LIANA_IR_BODY_H

#include "ir/graph.h"
#include "ir/graph_bodies.h"

/* Bodies in bodies in bodies: a limit, so that code that walks them may call itself. */
enum { LIANA__MOST_BODY_DEPTH = 8 };

/* That a graph can be a body: it has not failed, is of the same context, and has no variables. `what` is "the body of
 * scan". */
liana_status liana__infer_body(liana__infer *infer, const liana_graph *body, size_t num_inputs, size_t num_outputs,
                               const char *what);

#endif
