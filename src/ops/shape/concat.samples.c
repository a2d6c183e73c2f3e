/* Samples of concat for the generated tests of ops. */
#include "ops/samples.h"

static liana_tensor build_channels(liana_graph *graph, liana_dtype dtype)
{
    liana_tensor a = liana__sample_input(graph, "a", dtype, liana_shape_of(2, 3, 4, 5), -1, 1);
    liana_tensor b = liana__sample_input(graph, "b", dtype, liana_shape_of(2, 3, 4, 1), -1, 1);
    liana_tensor c = liana__sample_input(graph, "c", dtype, liana_shape_of(2, 3, 4, 7), -1, 1);
    return liana_op_concat(((liana_tensor[]){a, b, c}), 3, -1);
}

static liana_tensor build_first(liana_graph *graph, liana_dtype dtype)
{
    liana_tensor a = liana__sample_input(graph, "a", dtype, liana_shape_of(3, 5), -1, 1);
    liana_tensor b = liana__sample_input(graph, "b", dtype, liana_shape_of(2, 5), -1, 1);
    return liana_op_concat(((liana_tensor[]){a, b}), 2, 0);
}

/* The same tensor twice: its gradients add up. */
static liana_tensor build_twice(liana_graph *graph, liana_dtype dtype)
{
    liana_tensor a = liana__sample_input(graph, "a", dtype, liana_shape_of(2, 3, 2), -1, 1);
    return liana_op_concat(((liana_tensor[]){a, a}), 2, -2);
}

static liana_tensor build_one(liana_graph *graph, liana_dtype dtype)
{
    liana_tensor a = liana__sample_input(graph, "a", dtype, liana_shape_of(4), -1, 1);
    return liana_op_concat(&a, 1, 0);
}

static liana_tensor build_u64(liana_graph *graph, liana_dtype dtype)
{
    (void)dtype;
    liana_tensor a = liana__sample_input(graph, "a", LIANA_U64, liana_shape_of(3, 2), 0, 1e15);
    liana_tensor b = liana__sample_input(graph, "b", LIANA_U64, liana_shape_of(3, 3), 0, 1e15);
    return liana_op_concat(((liana_tensor[]){a, b}), 2, 1);
}

static liana_tensor concatenate_planes(liana_graph *graph, liana_dtype dtype, liana_shape shape)
{
    liana_tensor planes[3];
    for (int i = 0; i < 3; i++) {
        planes[i] = liana__sample_input(graph, (char[]){(char)('a' + i), '\0'}, dtype, shape, 0, 255);
    }
    return liana_op_concat(planes, 3, -1);
}

static liana_tensor build_planes(liana_graph *graph, liana_dtype dtype)
{
    return concatenate_planes(graph, dtype, liana_shape_of(2, 5, 7, 1));
}

static liana_tensor build_bytes(liana_graph *graph, liana_dtype dtype)
{
    (void)dtype;
    return concatenate_planes(graph, LIANA_U8, liana_shape_of(3, 17, 1));
}

static const liana__sample concat_samples[] = {
    {"channels", build_channels, 0}, {"first", build_first, 0},   {"twice", build_twice, 0}, {"one", build_one, 0},
    {"u64", build_u64, 0},           {"planes", build_planes, 0}, {"bytes", build_bytes, 0},
};
LIANA__SAMPLES(concat, concat_samples);
