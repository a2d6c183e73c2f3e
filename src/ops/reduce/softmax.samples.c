/* Samples of softmax for the generated tests of ops. */
#include "ops/samples.h"

static liana_tensor build_softmax(liana_graph *graph, liana_dtype dtype)
{
    return liana_op_softmax(liana__sample_input(graph, "x", dtype, liana_shape_of(3, 10), -3, 3));
}

static liana_tensor build_softmax_long(liana_graph *graph, liana_dtype dtype)
{
    return liana_op_softmax(liana__sample_input(graph, "x", dtype, liana_shape_of(2, 2, 37), -8, 8));
}

static liana_tensor build_softmax_one_row(liana_graph *graph, liana_dtype dtype)
{
    return liana_op_softmax(liana__sample_input(graph, "x", dtype, liana_shape_of(16), -1, 1));
}

static liana_tensor build_softmax_one_class(liana_graph *graph, liana_dtype dtype)
{
    return liana_op_softmax(liana__sample_input(graph, "x", dtype, liana_shape_of(5, 1), -1, 1));
}

static const liana__sample softmax_samples[] = {
    {"ten", build_softmax, 0},
    {"long", build_softmax_long, 0},
    {"one_row", build_softmax_one_row, 0},
    {"one_class", build_softmax_one_class, 0},
};
LIANA__SAMPLES(softmax, softmax_samples);

static liana_tensor build_log(liana_graph *graph, liana_dtype dtype)
{
    return liana_op_log_softmax(liana__sample_input(graph, "x", dtype, liana_shape_of(4, 7), -3, 3));
}

static liana_tensor build_log_long(liana_graph *graph, liana_dtype dtype)
{
    return liana_op_log_softmax(liana__sample_input(graph, "x", dtype, liana_shape_of(1, 3, 2, 1, 35), -8, 8));
}

/* Differences beyond which e^x is 0 in float. */
static liana_tensor build_log_far(liana_graph *graph, liana_dtype dtype)
{
    return liana_op_log_softmax(liana__sample_input(graph, "x", dtype, liana_shape_of(2, 33), -500, 500));
}

static const liana__sample log_softmax_samples[] = {
    {"seven", build_log, 0},
    {"long", build_log_long, 0},
    {"far", build_log_far, 0},
};
LIANA__SAMPLES(log_softmax, log_softmax_samples);
