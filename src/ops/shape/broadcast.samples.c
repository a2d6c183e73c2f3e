/* Samples of broadcast for the generated tests of ops. */
#include "ops/samples.h"

static liana_tensor build_row(liana_graph *graph, liana_dtype dtype)
{
    return liana_op_broadcast_to(liana__sample_input(graph, "x", dtype, liana_shape_of(7), -2, 2),
                                 liana_shape_of(3, 5, 7));
}

static liana_tensor build_image(liana_graph *graph, liana_dtype dtype)
{
    return liana_op_broadcast_to(liana__sample_input(graph, "x", dtype, liana_shape_of(2, 1, 1, 5), -2, 2),
                                 liana_shape_of(2, 3, 4, 5));
}

static liana_tensor build_scalar(liana_graph *graph, liana_dtype dtype)
{
    return liana_op_broadcast_to(liana__sample_input(graph, "x", dtype, LIANA_SCALAR, -2, 2), liana_shape_of(37));
}

static liana_tensor build_column(liana_graph *graph, liana_dtype dtype)
{
    return liana_op_broadcast_to(liana__sample_input(graph, "x", dtype, liana_shape_of(5, 1), -2, 2),
                                 liana_shape_of(5, 9));
}

static const liana__sample samples[] = {{"last axis", build_row, 0},
                                        {"channel of image", build_image, 0},
                                        {"scalar", build_scalar, 0},
                                        {"column", build_column, 0}};
LIANA__SAMPLES(broadcast_to, samples);
