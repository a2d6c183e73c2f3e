/* Samples of slice for the generated tests of ops. */
#include "ops/samples.h"

static liana_tensor build_box(liana_graph *graph, liana_dtype dtype)
{
    liana_tensor x = liana__sample_input(graph, "x", dtype, liana_shape_of(4, 5, 3), -1, 1);
    return liana_op_slice(x, ((int64_t[]){1, 0, 2}), ((int64_t[]){3, 5, 3}), NULL);
}

static liana_tensor build_rows(liana_graph *graph, liana_dtype dtype)
{
    liana_tensor x = liana__sample_input(graph, "x", dtype, liana_shape_of(7, 9), -1, 1);
    return liana_op_slice(x, ((int64_t[]){2, 0}), ((int64_t[]){6, 9}), NULL);
}

static liana_tensor build_strided(liana_graph *graph, liana_dtype dtype)
{
    liana_tensor x = liana__sample_input(graph, "x", dtype, liana_shape_of(3, 8, 7, 2), -1, 1);
    return liana_op_slice(x, ((int64_t[]){0, 1, 0, 1}), ((int64_t[]){3, 8, 6, 2}), ((int64_t[]){2, 3, 2, 1}));
}

static liana_tensor build_rank1(liana_graph *graph, liana_dtype dtype)
{
    liana_tensor x = liana__sample_input(graph, "x", dtype, liana_shape_of(11), -1, 1);
    return liana_op_slice(x, ((int64_t[]){1}), ((int64_t[]){10}), ((int64_t[]){4}));
}

static liana_tensor build_rank5(liana_graph *graph, liana_dtype dtype)
{
    liana_tensor x = liana__sample_input(graph, "x", dtype, liana_shape_of(2, 3, 4, 2, 3), -1, 1);
    return liana_op_slice(x, ((int64_t[]){1, 0, 1, 0, 0}), ((int64_t[]){2, 3, 4, 2, 2}), ((int64_t[]){1, 2, 1, 1, 1}));
}

static liana_tensor build_bytes(liana_graph *graph, liana_dtype dtype)
{
    (void)dtype;
    liana_tensor x = liana__sample_input(graph, "x", LIANA_U8, liana_shape_of(5, 13), 0, 255);
    return liana_op_slice(x, ((int64_t[]){0, 3}), ((int64_t[]){5, 12}), ((int64_t[]){2, 1}));
}

static liana_tensor build_wide_integers(liana_graph *graph, liana_dtype dtype)
{
    (void)dtype;
    liana_tensor x = liana__sample_input(graph, "x", LIANA_S64, liana_shape_of(6, 5), -1e15, 1e15);
    return liana_op_slice(x, ((int64_t[]){1, 1}), ((int64_t[]){6, 4}), ((int64_t[]){2, 2}));
}

/* All rows of a part of each, as in a batch. */
static liana_tensor build_columns(liana_graph *graph, liana_dtype dtype)
{
    liana_tensor x = liana__sample_input(graph, "x", dtype, liana_shape_of(6, 5, 3), -1, 1);
    return liana_op_slice(x, ((int64_t[]){0, 1, 0}), ((int64_t[]){6, 4, 3}), ((int64_t[]){1, 2, 1}));
}

static const liana__sample slice_samples[] = {
    {"columns", build_columns, 0}, {"box", build_box, 0},           {"rows", build_rows, 0},
    {"strided", build_strided, 0}, {"rank1", build_rank1, 0},       {"rank5", build_rank5, 0},
    {"bytes", build_bytes, 0},     {"s64", build_wide_integers, 0},
};
LIANA__SAMPLES(slice, slice_samples);
