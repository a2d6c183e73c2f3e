/* Samples of straight_through for the generated tests of ops. Its path is a constant here: the gradient that goes there is not
 * the derivative of the value. tests/ops/test_masked_normalization.c tests that one. */
#include "ops/samples.h"

static liana_tensor constant_path(liana_graph *graph, liana_dtype dtype, liana_shape shape)
{
    return liana_op_broadcast_to(liana_graph_scalar(graph, dtype, 2), shape);
}

static liana_tensor build_some(liana_graph *graph, liana_dtype dtype)
{
    const liana_shape shape = liana_shape_of(3, 4, 5);
    liana_tensor value = liana__sample_input(graph, "value", dtype, shape, -2, 2);
    return liana_op_straight_through(value, constant_path(graph, dtype, shape));
}

static liana_tensor build_scalar(liana_graph *graph, liana_dtype dtype)
{
    liana_tensor value = liana__sample_input(graph, "value", dtype, LIANA_SCALAR, -2, 2);
    return liana_op_straight_through(value, constant_path(graph, dtype, LIANA_SCALAR));
}

static const liana__sample samples[] = {{"rank 3", build_some, 0}, {"a scalar", build_scalar, 0}};
LIANA__SAMPLES(straight_through, samples);
