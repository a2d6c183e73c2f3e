/* Samples of reshape for the generated tests of ops. */
#include "ops/samples.h"

static liana_tensor build_open(liana_graph *graph, liana_dtype dtype)
{
    return liana_op_reshape(liana__sample_input(graph, "x", dtype, liana_shape_of(3, 4, 5), -2, 2),
                            liana_shape_of(-1, 6));
}

static liana_tensor build_scalar(liana_graph *graph, liana_dtype dtype)
{
    return liana_op_reshape(liana__sample_input(graph, "x", dtype, liana_shape_of(1, 1), -2, 2), LIANA_SCALAR);
}

static liana_tensor build_halves(liana_graph *graph, liana_dtype dtype)
{
    (void)dtype;
    return liana_op_reshape(liana__sample_input(graph, "x", LIANA_F16, liana_shape_of(3, 4), -2, 2),
                            liana_shape_of(12));
}

static const liana__built_sample samples[] = {{"open dimension", build_open, 0},
                                              {"to a scalar", build_scalar, 0},
                                              {"halves", build_halves, 0}};
LIANA__SAMPLES(reshape, samples);
