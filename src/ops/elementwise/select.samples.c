/* Samples of select for the generated tests of ops. */
#include "ops/samples.h"

static liana_tensor build_same(liana_graph *graph, liana_dtype dtype)
{
    liana_tensor condition = liana__sample_input(graph, "condition", LIANA_BOOL, liana_shape_of(3, 13), 0, 1);
    liana_tensor a = liana__sample_input(graph, "a", dtype, liana_shape_of(3, 13), -1, 1);
    liana_tensor b = liana__sample_input(graph, "b", dtype, liana_shape_of(3, 13), -1, 1);
    return liana_op_select(condition, a, b);
}

static liana_tensor build_rows(liana_graph *graph, liana_dtype dtype)
{
    liana_tensor condition = liana__sample_input(graph, "condition", LIANA_BOOL, liana_shape_of(4, 1), 0, 1);
    liana_tensor a = liana__sample_input(graph, "a", dtype, liana_shape_of(4, 5), -1, 1);
    liana_tensor b = liana__sample_input(graph, "b", dtype, liana_shape_of(5), -1, 1);
    return liana_op_select(condition, a, b);
}

static liana_tensor build_scalars(liana_graph *graph, liana_dtype dtype)
{
    liana_tensor condition = liana__sample_input(graph, "condition", LIANA_BOOL, liana_shape_of(2, 3, 4), 0, 1);
    liana_tensor a = liana__sample_input(graph, "a", dtype, LIANA_SCALAR, -1, 1);
    liana_tensor b = liana__sample_input(graph, "b", dtype, liana_shape_of(1, 3, 1), -1, 1);
    return liana_op_select(condition, a, b);
}

static liana_tensor build_one_condition(liana_graph *graph, liana_dtype dtype)
{
    liana_tensor condition = liana__sample_input(graph, "condition", LIANA_BOOL, LIANA_SCALAR, 0, 1);
    liana_tensor a = liana__sample_input(graph, "a", dtype, liana_shape_of(2, 1, 3), -1, 1);
    liana_tensor b = liana__sample_input(graph, "b", dtype, liana_shape_of(2, 4, 1), -1, 1);
    return liana_op_select(condition, a, b);
}

static liana_tensor build_u64(liana_graph *graph, liana_dtype dtype)
{
    (void)dtype;
    liana_tensor condition = liana__sample_input(graph, "condition", LIANA_BOOL, liana_shape_of(7), 0, 1);
    liana_tensor a = liana__sample_input(graph, "a", LIANA_U64, liana_shape_of(7), 0, 1e15);
    liana_tensor b = liana__sample_input(graph, "b", LIANA_U64, liana_shape_of(7), 0, 1e15);
    return liana_op_select(condition, a, b);
}

static const liana__sample select_samples[] = {
    {"same", build_same, 0},       {"rows", build_rows, 0},
    {"scalars", build_scalars, 0}, {"one_condition", build_one_condition, 0},
    {"u64", build_u64, 0},
};
LIANA__SAMPLES(select, select_samples);
