/* part_result.h - checks the results of parts' functions (base/part.h). */
#ifndef LIANA_IR_PART_RESULT_H
#define LIANA_IR_PART_RESULT_H

#include "base/part.h"

#include <liana/graph.h>

/* Returns the tensor if it is one of the graph, of this dtype and shape (NULL: any dtype and shape). Otherwise the
 * graph fails, unless it has: "the loss 'x': elements gave f32 [8, 1], expected f32 [8]". `function` is the member of
 * the part's struct. */
liana_tensor liana__part_result(const liana_part *part, const char *function, liana_tensor result, liana_graph *graph,
                                liana_dtype dtype, const liana_shape *shape);

#endif
