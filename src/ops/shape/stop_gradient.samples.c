/* Samples of stop_gradient for the generated tests of ops. tests/ops/test_masked_normalization.c tests that it
 * stops gradients. */
#include "ops/samples.h"

static liana_tensor build_some(liana_graph *graph, liana_dtype dtype)
{
    return liana_op_stop_gradient(liana__sample_input(graph, "x", dtype, liana_shape_of(3, 4, 5), -2, 2));
}

static liana_tensor build_scalar(liana_graph *graph, liana_dtype dtype)
{
    return liana_op_stop_gradient(liana__sample_input(graph, "x", dtype, LIANA_SCALAR, -2, 2));
}

static const liana__sample samples[] = {{"rank 3", build_some, 0}, {"a scalar", build_scalar, 0}};
LIANA__SAMPLES(stop_gradient, samples);
