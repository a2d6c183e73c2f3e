/* Samples of transpose for the generated tests of ops. */
#include "ops/samples.h"

static liana_tensor build_matrix(liana_graph *graph, liana_dtype dtype)
{
    liana_tensor x = liana__sample_input(graph, "x", dtype, liana_shape_of(37, 70), -1, 1);
    return liana_op_transpose(x, LIANA_AXES(1, 0));
}

static liana_tensor build_channels_first(liana_graph *graph, liana_dtype dtype)
{
    liana_tensor x = liana__sample_input(graph, "x", dtype, liana_shape_of(2, 5, 7, 3), -1, 1);
    return liana_op_transpose(x, LIANA_AXES(0, -1, 1, 2));
}

static liana_tensor build_rows(liana_graph *graph, liana_dtype dtype)
{
    liana_tensor x = liana__sample_input(graph, "x", dtype, liana_shape_of(3, 4, 5), -1, 1);
    return liana_op_transpose(x, LIANA_AXES(1, 0, 2));
}

static liana_tensor build_rank5(liana_graph *graph, liana_dtype dtype)
{
    liana_tensor x = liana__sample_input(graph, "x", dtype, liana_shape_of(2, 3, 1, 4, 5), -1, 1);
    return liana_op_transpose(x, LIANA_AXES(4, 2, 0, 3, 1));
}

static liana_tensor build_vector(liana_graph *graph, liana_dtype dtype)
{
    liana_tensor x = liana__sample_input(graph, "x", dtype, liana_shape_of(6), -1, 1);
    return liana_op_transpose(x, LIANA_AXES(0));
}

static liana_tensor build_bools(liana_graph *graph, liana_dtype dtype)
{
    (void)dtype;
    liana_tensor x = liana__sample_input(graph, "x", LIANA_BOOL, liana_shape_of(35, 3, 33), 0, 1);
    return liana_op_transpose(x, LIANA_AXES(2, 1, 0));
}

static const liana__sample transpose_samples[] = {
    {"matrix", build_matrix, 0}, {"channels_first", build_channels_first, 0},
    {"rows", build_rows, 0},     {"rank5", build_rank5, 0},
    {"vector", build_vector, 0}, {"bools", build_bools, 0},
};
LIANA__SAMPLES(transpose, transpose_samples);
