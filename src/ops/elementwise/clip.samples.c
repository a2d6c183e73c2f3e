/* Samples of clip for the generated tests of ops. */
#include "ops/samples.h"

static liana_tensor build_both_sides(liana_graph *graph, liana_dtype dtype)
{
    liana_tensor x = liana__sample_input(graph, "x", dtype, liana_shape_of(3, 19), -2, 3);
    return liana_op_clip(x, -0.75, 1.5);
}

static liana_tensor build_one_side(liana_graph *graph, liana_dtype dtype)
{
    liana_tensor x = liana__sample_input(graph, "x", dtype, liana_shape_of(2, 3, 5), -2, 3);
    return liana_op_clip(x, -INFINITY, 0.5);
}

static const liana__sample clip_samples[] = {
    {"both_sides", build_both_sides, 0},
    {"one_side", build_one_side, 0},
};
LIANA__SAMPLES(clip, clip_samples);
