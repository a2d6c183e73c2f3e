/* Samples of gather for the generated tests of ops. */
#include "ops/gradients.h"
#include "ops/samples.h"

static liana_tensor build_rows(liana_graph *graph, liana_dtype dtype)
{
    liana_tensor x = liana__sample_input(graph, "x", dtype, liana_shape_of(5, 7), -1, 1);
    liana_tensor indices = liana__sample_input(graph, "indices", LIANA_S32, liana_shape_of(9), 0, 4);
    return liana_op_gather(x, indices, 0);
}

/* Two axes of indices take the place of the middle one; some are out of range. */
static liana_tensor build_middle(liana_graph *graph, liana_dtype dtype)
{
    liana_tensor x = liana__sample_input(graph, "x", dtype, liana_shape_of(3, 4, 2), -1, 1);
    liana_tensor indices = liana__sample_input(graph, "indices", LIANA_S32, liana_shape_of(2, 3), -2, 5);
    return liana_op_gather(x, indices, -2);
}

static liana_tensor build_last(liana_graph *graph, liana_dtype dtype)
{
    liana_tensor x = liana__sample_input(graph, "x", dtype, liana_shape_of(2, 3, 6), -1, 1);
    liana_tensor indices = liana__sample_input(graph, "indices", LIANA_S32, liana_shape_of(5), 0, 5);
    return liana_op_gather(x, indices, 2);
}

static liana_tensor build_scalar_index(liana_graph *graph, liana_dtype dtype)
{
    liana_tensor x = liana__sample_input(graph, "x", dtype, liana_shape_of(4, 3), -1, 1);
    liana_tensor index = liana__sample_input(graph, "index", LIANA_S32, LIANA_SCALAR, 0, 3);
    return liana_op_gather(x, index, 0);
}

static liana_tensor build_s64(liana_graph *graph, liana_dtype dtype)
{
    (void)dtype;
    liana_tensor x = liana__sample_input(graph, "x", LIANA_S64, liana_shape_of(6), -1e15, 1e15);
    liana_tensor indices = liana__sample_input(graph, "indices", LIANA_S32, liana_shape_of(4), 0, 5);
    return liana_op_gather(x, indices, 0);
}

static const liana__sample gather_samples[] = {
    {"rows", build_rows, 0}, {"middle", build_middle, 0},
    {"last", build_last, 0}, {"scalar_index", build_scalar_index, 0},
    {"s64", build_s64, 0},
};
LIANA__SAMPLES(gather, gather_samples);

static liana_tensor build_scatter(liana_graph *graph, liana_dtype dtype)
{
    liana_tensor updates = liana__sample_input(graph, "updates", dtype, liana_shape_of(2, 9, 5), -1, 1);
    liana_tensor indices = liana__sample_input(graph, "indices", LIANA_S32, liana_shape_of(9), -1, 4);
    return liana__op_scatter_add_at(LIANA_HERE, updates, indices, 1, 4);
}

static liana_tensor build_scatter_wide(liana_graph *graph, liana_dtype dtype)
{
    liana_tensor updates = liana__sample_input(graph, "updates", dtype, liana_shape_of(3, 2, 7), -1, 1);
    liana_tensor indices = liana__sample_input(graph, "indices", LIANA_S32, liana_shape_of(3, 2), 0, 10);
    return liana__op_scatter_add_at(LIANA_HERE, updates, indices, 0, 11);
}

static const liana__sample scatter_samples[] = {
    {"middle", build_scatter, 0},
    {"wide", build_scatter_wide, 0},
};
LIANA__SAMPLES(scatter_add, scatter_samples);
