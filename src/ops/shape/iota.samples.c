/* Samples of iota for the generated tests of ops. */
#include "ops/samples.h"

static liana_tensor build_vector(liana_graph *graph, liana_dtype dtype)
{
    return liana_op_iota(graph, dtype, liana_shape_of(11), 0);
}

static liana_tensor build_middle(liana_graph *graph, liana_dtype dtype)
{
    (void)dtype;
    return liana_op_iota(graph, LIANA_S32, liana_shape_of(2, 5, 3), -2);
}

static liana_tensor build_bytes(liana_graph *graph, liana_dtype dtype)
{
    (void)dtype;
    return liana_op_iota(graph, LIANA_U8, liana_shape_of(3, 256), 1);
}

static const liana__built_sample iota_samples[] = {
    {"vector", build_vector, 0},
    {"middle", build_middle, 0},
    {"bytes", build_bytes, 0},
};
LIANA__SAMPLES(iota, iota_samples);
