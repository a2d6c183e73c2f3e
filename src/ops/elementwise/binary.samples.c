/* Samples of binary for the generated tests of ops. */
#include "ops/samples.h"

/* Each op: the same shape, a vector along the last axis, a few channels of many pixels, a scalar on the left, a column,
 * and a channel factor for each image (squeeze and excite). */
#define PAIR(name, a_dims, b_dims, low, high)     \
    {                                             \
        name,                                     \
        {                                         \
            {"a", a_dims, low, high, LIANA_F32},  \
            {                                     \
                "b", b_dims, low, high, LIANA_F32 \
            }                                     \
        }                                         \
    }
/* Of float16. */
#define HALVES(low, high)                                   \
    {                                                       \
        "halves",                                           \
        {                                                   \
            {"a", LIANA__DIMS(5, 7), low, high, LIANA_F16}, \
            {                                               \
                "b", LIANA__DIMS(7), low, high, LIANA_F16   \
            }                                               \
        }                                                   \
    }
#define BINARY_SAMPLES(op, low, high)                                                          \
    static const liana__plain_row op##_rows[] = {                                              \
        PAIR("same shape", LIANA__DIMS(7, 19), LIANA__DIMS(7, 19), low, high),                 \
        PAIR("last axis", LIANA__DIMS(2, 3, 17), LIANA__DIMS(17), low, high),                  \
        PAIR("scalar first", LIANA__NO_DIMS, LIANA__DIMS(5, 7), low, high),                    \
        PAIR("outer", LIANA__DIMS(5, 1), LIANA__DIMS(1, 18), low, high),                       \
        PAIR("channel of image", LIANA__DIMS(2, 3, 2, 9), LIANA__DIMS(2, 1, 1, 9), low, high), \
        PAIR("few channels", LIANA__DIMS(5, 53, 3), LIANA__DIMS(3), low, high),                \
        HALVES(low, high)};                                                                    \
    LIANA__SAMPLE_ROWS(op, op##_rows, liana__sample_plain);

BINARY_SAMPLES(add, -2, 2)
BINARY_SAMPLES(subtract, -2, 2)
BINARY_SAMPLES(multiply, -2, 2)
BINARY_SAMPLES(divide, 0.3, 2)
BINARY_SAMPLES(maximum, -2, 2)
BINARY_SAMPLES(minimum, -2, 2)
BINARY_SAMPLES(power, 0.3, 2)
BINARY_SAMPLES(atan2, 0.3, 2)
BINARY_SAMPLES(equal, -2, 2)
BINARY_SAMPLES(not_equal, -2, 2)
BINARY_SAMPLES(less, -2, 2)
BINARY_SAMPLES(less_equal, -2, 2)
BINARY_SAMPLES(greater, -2, 2)
BINARY_SAMPLES(greater_equal, -2, 2)

static const liana__plain_row logical_rows[] = {
    {"last axis", {{"a", LIANA__DIMS(7, 19), 0, 1, LIANA_BOOL}, {"b", LIANA__DIMS(19), 0, 1, LIANA_BOOL}}},
};
LIANA__SAMPLE_ROWS(logical_and, logical_rows, liana__sample_plain);
LIANA__SAMPLE_ROWS(logical_or, logical_rows, liana__sample_plain);
LIANA__SAMPLE_ROWS(logical_xor, logical_rows, liana__sample_plain);

#define GATE_SAMPLES(op, low, high)                                                                         \
    static const liana__plain_row op##_rows[] = {                                                           \
        {"odd size",                                                                                        \
         {{"y", LIANA__DIMS(3, 41), low, high, LIANA_F32}, {"dy", LIANA__DIMS(3, 41), -2, 2, LIANA_F32}}}}; \
    LIANA__SAMPLE_ROWS(op, op##_rows, liana__sample_plain);

GATE_SAMPLES(relu_gradient, -2, 2)
GATE_SAMPLES(relu6_gradient, -2, 9)
GATE_SAMPLES(swish_gradient, -9, 9)
GATE_SAMPLES(gelu_gradient, -5, 5)
GATE_SAMPLES(gelu_tanh_gradient, -5, 5)
