/* Samples of loop_part for the generated tests of ops. */
#include "ops/control/flat.h"
#include "ops/samples.h"

static liana_tensor build_middle(liana_graph *graph, liana_dtype dtype)
{
    liana_tensor list = liana__sample_input(graph, "list", dtype, liana_shape_of(23), -1, 1);
    return liana__loop_part(LIANA_HERE, list, 5, liana_shape_of(2, 3, 2));
}

static liana_tensor build_whole(liana_graph *graph, liana_dtype dtype)
{
    liana_tensor list = liana__sample_input(graph, "list", dtype, liana_shape_of(6), -1, 1);
    return liana__loop_part(LIANA_HERE, list, 0, liana_shape_of(2, 3));
}

static liana_tensor build_scalar(liana_graph *graph, liana_dtype dtype)
{
    liana_tensor list = liana__sample_input(graph, "list", dtype, liana_shape_of(4), -1, 1);
    return liana__loop_part(LIANA_HERE, list, 3, LIANA_SCALAR);
}

static const liana__built_sample samples[] = {{"middle", build_middle, 0},
                                              {"whole", build_whole, 0},
                                              {"scalar", build_scalar, 0}};

LIANA__SAMPLES(loop_part, samples);
