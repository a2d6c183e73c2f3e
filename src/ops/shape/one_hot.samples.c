/* Samples of one_hot for the generated tests of ops. */
#include "ops/samples.h"

static liana_tensor build_labels(liana_graph *graph, liana_dtype dtype)
{
    liana_tensor indices = liana__sample_input(graph, "indices", LIANA_S32, liana_shape_of(13), 0, 6);
    return liana_op_one_hot(indices, 7, dtype);
}

/* Some indices are out of range. */
static liana_tensor build_outside(liana_graph *graph, liana_dtype dtype)
{
    (void)dtype;
    liana_tensor indices = liana__sample_input(graph, "indices", LIANA_S32, liana_shape_of(3, 4, 2), -3, 8);
    return liana_op_one_hot(indices, 5, LIANA_BOOL);
}

static liana_tensor build_scalar(liana_graph *graph, liana_dtype dtype)
{
    (void)dtype;
    liana_tensor index = liana__sample_input(graph, "index", LIANA_S32, LIANA_SCALAR, 0, 2);
    return liana_op_one_hot(index, 3, LIANA_BF16);
}

static const liana__built_sample one_hot_samples[] = {
    {"labels", build_labels, 0},
    {"outside", build_outside, 0},
    {"scalar", build_scalar, 0},
};
LIANA__SAMPLES(one_hot, one_hot_samples);
