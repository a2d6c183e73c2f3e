/* Samples of pad for the generated tests of ops. */
#include "ops/gradients.h"
#include "ops/samples.h"

static liana_tensor build_image(liana_graph *graph, liana_dtype dtype)
{
    liana_tensor x = liana__sample_input(graph, "x", dtype, liana_shape_of(2, 3, 5, 4), -1, 1);
    return liana_op_pad(x, ((int64_t[]){0, 1, 0, 0}), ((int64_t[]){0, 2, 1, 0}), 0);
}

static liana_tensor build_value(liana_graph *graph, liana_dtype dtype)
{
    liana_tensor x = liana__sample_input(graph, "x", dtype, liana_shape_of(3, 4), -1, 1);
    return liana_op_pad(x, ((int64_t[]){2, 0}), ((int64_t[]){1, 3}), -2.5);
}

static liana_tensor build_nothing(liana_graph *graph, liana_dtype dtype)
{
    liana_tensor x = liana__sample_input(graph, "x", dtype, liana_shape_of(3), -1, 1);
    return liana_op_pad(x, ((int64_t[]){0}), ((int64_t[]){0}), 7);
}

static liana_tensor build_interior(liana_graph *graph, liana_dtype dtype)
{
    liana_tensor x = liana__sample_input(graph, "x", dtype, liana_shape_of(3, 2, 4), -1, 1);
    return liana__pad_interior(LIANA_HERE, x, (int64_t[]){1, 0, 2}, (int64_t[]){0, 3, 1}, (int64_t[]){2, 0, 1}, 0.5);
}

static liana_tensor build_rank5(liana_graph *graph, liana_dtype dtype)
{
    liana_tensor x = liana__sample_input(graph, "x", dtype, liana_shape_of(2, 1, 3, 2, 2), -1, 1);
    return liana_op_pad(x, ((int64_t[]){1, 0, 0, 1, 0}), ((int64_t[]){0, 2, 1, 0, 1}), 1);
}

static liana_tensor build_s32(liana_graph *graph, liana_dtype dtype)
{
    (void)dtype;
    liana_tensor x = liana__sample_input(graph, "x", LIANA_S32, liana_shape_of(5, 3), -1000, 1000);
    return liana_op_pad(x, ((int64_t[]){1, 1}), ((int64_t[]){0, 2}), -7);
}

/* More cells than a register has, and a last one that fills none. */
static liana_tensor build_wide(liana_graph *graph, liana_dtype dtype)
{
    liana_tensor x = liana__sample_input(graph, "x", dtype, liana_shape_of(2, 3, 7, 9), -1, 1);
    return liana_op_pad(x, ((int64_t[]){0, 2, 1, 3}), ((int64_t[]){0, 1, 2, 5}), -1.5);
}

static const liana__sample pad_samples[] = {
    {"image", build_image, 0},       {"value", build_value, 0}, {"nothing", build_nothing, 0},
    {"interior", build_interior, 0}, {"rank5", build_rank5, 0}, {"s32", build_s32, 0},
    {"wide", build_wide, 0},
};
LIANA__SAMPLES(pad, pad_samples);
