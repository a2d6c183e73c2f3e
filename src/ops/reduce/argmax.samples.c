/* Samples of argmax for the generated tests of ops. */
#include "ops/samples.h"

static liana_tensor build_classes(liana_graph *graph, liana_dtype dtype)
{
    return liana_op_argmax(liana__sample_input(graph, "x", dtype, liana_shape_of(9, 10), -1, 1), -1);
}

static liana_tensor build_long(liana_graph *graph, liana_dtype dtype)
{
    return liana_op_argmax(liana__sample_input(graph, "x", dtype, liana_shape_of(3, 2, 67), -1, 1), 2);
}

static liana_tensor build_middle(liana_graph *graph, liana_dtype dtype)
{
    return liana_op_argmax(liana__sample_input(graph, "x", dtype, liana_shape_of(3, 5, 4), -1, 1), -2);
}

/* Many equal elements: the first wins. */
static liana_tensor build_ties(liana_graph *graph, liana_dtype dtype)
{
    liana_tensor x = liana__sample_input(graph, "x", LIANA_S32, liana_shape_of(7, 40), 0, 3);
    return liana_op_argmax(liana_op_cast(x, dtype), 1);
}

static liana_tensor build_bytes(liana_graph *graph, liana_dtype dtype)
{
    (void)dtype;
    return liana_op_argmax(liana__sample_input(graph, "x", LIANA_U8, liana_shape_of(11), 0, 255), 0);
}

static const liana__sample argmax_samples[] = {
    {"classes", build_classes, 0}, {"long", build_long, 0},   {"middle", build_middle, 0},
    {"ties", build_ties, 0},       {"bytes", build_bytes, 0},
};
LIANA__SAMPLES(argmax, argmax_samples);
