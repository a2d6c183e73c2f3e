/* own_result.h - checks what functions of own parts have built (base/own_part.h). */
#ifndef LIANA_IR_OWN_RESULT_H
#define LIANA_IR_OWN_RESULT_H

#include "base/own_part.h"

#include <liana/graph.h>

/* Returns the tensor if it is one of the graph, of this dtype and shape (NULL: any dtype and shape). Otherwise the graph
 * fails, unless it has: "the loss 'x': elements gave f32 [8, 1], expected f32 [8]". `function` is the member of the
 * public struct. */
liana_tensor liana__own_result(const liana__own_part *own, const char *function, liana_tensor result,
                               liana_graph *graph, liana_dtype dtype, const liana_shape *shape);

#endif
