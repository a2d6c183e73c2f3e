/* functions.h - what the files of this folder share. */
#ifndef LIANA_OPS_FUNCTIONS_H
#define LIANA_OPS_FUNCTIONS_H

#include "ops/ops.h"

#include <liana/functions.h>

/* A number of x's dtype. */
static inline liana_tensor liana__number_like(liana_location here, liana_tensor x, double value)
{
    return liana_graph_scalar_at(here, x.graph, liana_tensor_dtype(x), value);
}

/* Fails the graph of x with INVALID_ARGUMENT: "FUNCTION: MESSAGE". Returns an invalid tensor. */
liana_tensor liana__function_fail(liana_location here, liana_tensor x, const char *function, const char *format, ...)
    LIANA__PRINTF(4, 5);

/* Converts an axis from -rank..rank-1 to 0..rank-1. False, and the graph fails, if it is none of x, which has `more`
 * axes in addition to its own. */
bool liana__function_axis(liana_location here, liana_tensor x, const char *function, int more, int64_t *axis);

#endif
