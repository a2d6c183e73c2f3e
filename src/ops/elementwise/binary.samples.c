/* Samples of binary for the generated tests of ops. */
#include "ops/gradients.h"
#include "ops/samples.h"

/* Each op: the same shape, a vector along the last axis, a few channels of many pixels, a scalar on the left, a column,
 * and a channel factor for each image (squeeze and excite). */
#define BINARY_SAMPLE(op, suffix, shape_a, shape_b, low, high)                       \
    static liana_tensor build_##op##_##suffix(liana_graph *graph, liana_dtype dtype) \
    {                                                                                \
        liana_tensor a = liana__sample_input(graph, "a", dtype, shape_a, low, high); \
        liana_tensor b = liana__sample_input(graph, "b", dtype, shape_b, low, high); \
        return liana_op_##op(a, b);                                                  \
    }
#define BINARY_SAMPLES(op, low, high)                                                           \
    BINARY_SAMPLE(op, same, liana_shape_of(7, 19), liana_shape_of(7, 19), low, high)            \
    BINARY_SAMPLE(op, row, liana_shape_of(2, 3, 17), liana_shape_of(17), low, high)             \
    BINARY_SAMPLE(op, pixels, liana_shape_of(5, 53, 3), liana_shape_of(3), low, high)           \
    BINARY_SAMPLE(op, scalar, LIANA_SCALAR, liana_shape_of(5, 7), low, high)                    \
    BINARY_SAMPLE(op, outer, liana_shape_of(5, 1), liana_shape_of(1, 18), low, high)            \
    BINARY_SAMPLE(op, image, liana_shape_of(2, 3, 2, 9), liana_shape_of(2, 1, 1, 9), low, high) \
    static const liana__sample samples_##op[] = {                                               \
        {"same shape", build_##op##_same, 0},        {"last axis", build_##op##_row, 0},        \
        {"scalar first", build_##op##_scalar, 0},    {"outer", build_##op##_outer, 0},          \
        {"channel of image", build_##op##_image, 0}, {"few channels", build_##op##_pixels, 0},  \
    };                                                                                          \
    LIANA__SAMPLES(op, samples_##op);

BINARY_SAMPLES(add, -2, 2)
BINARY_SAMPLES(subtract, -2, 2)
BINARY_SAMPLES(multiply, -2, 2)
BINARY_SAMPLES(divide, 0.3, 2)
BINARY_SAMPLES(maximum, -2, 2)
BINARY_SAMPLES(minimum, -2, 2)
BINARY_SAMPLES(power, 0.3, 2)
BINARY_SAMPLES(equal, -2, 2)
BINARY_SAMPLES(not_equal, -2, 2)
BINARY_SAMPLES(less, -2, 2)
BINARY_SAMPLES(less_equal, -2, 2)
BINARY_SAMPLES(greater, -2, 2)
BINARY_SAMPLES(greater_equal, -2, 2)

#define LOGICAL_SAMPLES(op)                                                                        \
    static liana_tensor build_##op(liana_graph *graph, liana_dtype dtype)                          \
    {                                                                                              \
        (void)dtype;                                                                               \
        liana_tensor a = liana__sample_input(graph, "a", LIANA_BOOL, liana_shape_of(7, 19), 0, 1); \
        liana_tensor b = liana__sample_input(graph, "b", LIANA_BOOL, liana_shape_of(19), 0, 1);    \
        return liana_op_##op(a, b);                                                                \
    }                                                                                              \
    static const liana__sample samples_##op[] = {{"last axis", build_##op, 0}};                    \
    LIANA__SAMPLES(op, samples_##op);

LOGICAL_SAMPLES(logical_and)
LOGICAL_SAMPLES(logical_or)
LOGICAL_SAMPLES(logical_xor)

#define GATE_SAMPLES(op, low, high)                                                                \
    static liana_tensor build_##op(liana_graph *graph, liana_dtype dtype)                          \
    {                                                                                              \
        liana_tensor y = liana__sample_input(graph, "y", dtype, liana_shape_of(3, 41), low, high); \
        liana_tensor dy = liana__sample_input(graph, "dy", dtype, liana_shape_of(3, 41), -2, 2);   \
        return liana__##op##_at(LIANA_HERE, y, dy);                                                \
    }                                                                                              \
    static const liana__sample samples_##op[] = {{"odd size", build_##op, 0}};

GATE_SAMPLES(op_relu_gradient, -2, 2)
LIANA__SAMPLES(relu_gradient, samples_op_relu_gradient);
GATE_SAMPLES(op_relu6_gradient, -2, 9)
LIANA__SAMPLES(relu6_gradient, samples_op_relu6_gradient);
GATE_SAMPLES(op_swish_gradient, -9, 9)
LIANA__SAMPLES(swish_gradient, samples_op_swish_gradient);
