/* Samples of dropout for the generated tests of ops. */
#include "ops/samples.h"

static liana_tensor build_features(liana_graph *graph, liana_dtype dtype)
{
    liana_tensor x = liana__sample_input(graph, "x", dtype, liana_shape_of(5, 37), -1, 1);
    liana_tensor positions = liana__sample_input(graph, "positions", LIANA_U64, liana_shape_of(5), 0, 1e15);
    return liana_op_dropout(x, positions, 0.3, 7, 1);
}

static liana_tensor build_image(liana_graph *graph, liana_dtype dtype)
{
    liana_tensor x = liana__sample_input(graph, "x", dtype, liana_shape_of(3, 5, 3, 11), -1, 1);
    liana_tensor positions = liana__sample_input(graph, "positions", LIANA_U64, liana_shape_of(3), 0, 1000);
    return liana_op_dropout(x, positions, 0.5, UINT64_MAX, UINT32_MAX);
}

static liana_tensor build_one_each(liana_graph *graph, liana_dtype dtype)
{
    liana_tensor x = liana__sample_input(graph, "x", dtype, liana_shape_of(9), -1, 1);
    liana_tensor positions = liana__sample_input(graph, "positions", LIANA_U64, liana_shape_of(9), 0, 1000);
    return liana_op_dropout(x, positions, 0.9, 0, 0);
}

static liana_tensor build_nothing(liana_graph *graph, liana_dtype dtype)
{
    liana_tensor x = liana__sample_input(graph, "x", dtype, liana_shape_of(2, 130), -1, 1);
    liana_tensor positions = liana__sample_input(graph, "positions", LIANA_U64, liana_shape_of(2), 0, 1000);
    return liana_op_dropout(x, positions, 0, 3, 2);
}

static const liana__sample dropout_samples[] = {
    {"features", build_features, 0},
    {"image", build_image, 0},
    {"one_each", build_one_each, 0},
    {"nothing", build_nothing, 0},
};
LIANA__SAMPLES(dropout, dropout_samples);
