/* Samples of in_top_k for the generated tests of ops. */
#include "ops/samples.h"

static liana_tensor build_top(liana_graph *graph, liana_dtype dtype, int64_t k)
{
    liana_tensor predictions = liana__sample_input(graph, "predictions", dtype, liana_shape_of(17, 7), 0, 1);
    liana_tensor targets = liana__sample_input(graph, "targets", LIANA_S32, liana_shape_of(17), -1, 7);
    return liana_op_in_top_k(predictions, targets, k);
}

static liana_tensor build_top1(liana_graph *graph, liana_dtype dtype)
{
    return build_top(graph, dtype, 1);
}

static liana_tensor build_top3(liana_graph *graph, liana_dtype dtype)
{
    return build_top(graph, dtype, 3);
}

static const liana__sample in_top_k_samples[] = {
    {"top1", build_top1, 0},
    {"top3", build_top3, 0},
};
LIANA__SAMPLES(in_top_k, in_top_k_samples);
