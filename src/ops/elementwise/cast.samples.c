/* Samples of cast for the generated tests of ops. */
#include "ops/samples.h"

static liana_tensor build_float(liana_graph *graph, liana_dtype dtype)
{
    /* Rounding makes a finite difference in f64 meaningless: there the cast is left out (test_graph has its gradient).
     */
    liana_dtype other = dtype == LIANA_F64 ? LIANA_F64 : LIANA_BF16;
    liana_tensor x = liana__sample_input(graph, "x", dtype, liana_shape_of(7, 19), -2, 2);
    return liana_op_cast(liana_op_cast(x, other), dtype);
}

static liana_tensor build_pixels(liana_graph *graph, liana_dtype dtype)
{
    return liana_op_cast(liana__sample_input(graph, "x", LIANA_U8, liana_shape_of(7, 19), 0, 255), dtype);
}

static liana_tensor build_bool(liana_graph *graph, liana_dtype dtype)
{
    return liana_op_cast(liana__sample_input(graph, "x", LIANA_BOOL, liana_shape_of(37), 0, 1), dtype);
}

static liana_tensor build_truncated(liana_graph *graph, liana_dtype dtype)
{
    return liana_op_cast(liana__sample_input(graph, "x", dtype, liana_shape_of(37), -300, 300), LIANA_S32);
}

static liana_tensor build_from_integer(liana_graph *graph, liana_dtype dtype)
{
    return liana_op_cast(liana__sample_input(graph, "x", LIANA_S32, liana_shape_of(3, 13), -1e9, 1e9), dtype);
}

static liana_tensor build_from_narrow(liana_graph *graph, liana_dtype dtype)
{
    return liana_op_cast(liana__sample_input(graph, "x", LIANA_BF16, liana_shape_of(43), -9, 9), dtype);
}

static liana_tensor build_to_narrow(liana_graph *graph, liana_dtype dtype)
{
    if (dtype == LIANA_F64) return build_float(graph, dtype);
    return liana_op_cast(liana__sample_input(graph, "x", dtype, liana_shape_of(43), -9, 9), LIANA_BF16);
}

static const liana__sample samples[] = {
    {"pixels", build_pixels, 0},
    {"bool", build_bool, 0},
    {"to integer", build_truncated, 0},
    {"through a narrower float", build_float, 0},
    {"from integer", build_from_integer, 0},
    {"from a narrower float", build_from_narrow, 0},
    {"to a narrower float", build_to_narrow, 0},
};
LIANA__SAMPLES(cast, samples);
