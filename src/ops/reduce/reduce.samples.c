/* Samples of reduce for the generated tests of ops. */
#include "ops/reduce/reduce.h"
#include "ops/samples.h"

#define REDUCE_SAMPLE(op, suffix, shape, axes, keep, low, high)                                     \
    static liana_tensor build_##op##_##suffix(liana_graph *graph, liana_dtype dtype)                \
    {                                                                                               \
        return liana_op_##op(liana__sample_input(graph, "x", dtype, shape, low, high), axes, keep); \
    }
#define REDUCE_SAMPLES(op, low, high, ...)                                                     \
    REDUCE_SAMPLE(op, all, liana_shape_of(5, 7, 9), LIANA_ALL_AXES, false, low, high)          \
    REDUCE_SAMPLE(op, last, liana_shape_of(5, 19), LIANA_AXES(-1), false, low, high)           \
    REDUCE_SAMPLE(op, first, liana_shape_of(13, 3, 11), LIANA_AXES(0, 1), false, low, high)    \
    REDUCE_SAMPLE(op, middle, liana_shape_of(2, 3, 5, 17), LIANA_AXES(1, 2), true, low, high)  \
    REDUCE_SAMPLE(op, split, liana_shape_of(3, 4, 5), LIANA_AXES(0, 2), false, low, high)      \
    REDUCE_SAMPLE(op, tall, liana_shape_of(131, 150), LIANA_AXES(0), false, low, high)         \
    REDUCE_SAMPLE(op, long, liana_shape_of(3, 2100), LIANA_AXES(1), false, low, high)          \
    static const liana__built_sample samples_##op[] = {                                        \
        {"all axes", build_##op##_all, 0},       {"last axis", build_##op##_last, 0},          \
        {"leading axes", build_##op##_first, 0}, {"image axes, kept", build_##op##_middle, 0}, \
        {"axes apart", build_##op##_split, 0},   {"many rows", build_##op##_tall, 0},          \
        {"long rows", build_##op##_long, 0},     __VA_ARGS__};                                 \
    LIANA__SAMPLES(op, samples_##op);

/* Of bf16, in f32; of channels, and of rows. */
#define WIDE_SAMPLE(op, suffix, axis)                                                                              \
    static liana_tensor build_##op##_##suffix(liana_graph *graph, liana_dtype dtype)                               \
    {                                                                                                              \
        liana_dtype narrow = dtype == LIANA_F64 ? LIANA_F64 : LIANA_BF16;                                          \
        liana_tensor x = liana__sample_input(graph, "x", narrow, liana_shape_of(67, 75), -2, 2);                   \
        static const liana__reduce_attributes attributes = {.axes = {.count = 1, .values = {axis}}, .wide = true}; \
        return liana__build1(LIANA_HERE, &liana__op_##op, x, &attributes);                                         \
    }
WIDE_SAMPLE(reduce_sum, wide_first, 0)
WIDE_SAMPLE(reduce_sum, wide_last, 1)
WIDE_SAMPLE(reduce_mean, wide_first, 0)
WIDE_SAMPLE(reduce_mean, wide_last, 1)

REDUCE_SAMPLES(reduce_sum, -2, 2, {"wide, leading axis", build_reduce_sum_wide_first, 0},
               {"wide, last axis", build_reduce_sum_wide_last, 0})
REDUCE_SAMPLES(reduce_mean, -2, 2, {"wide, leading axis", build_reduce_mean_wide_first, 0},
               {"wide, last axis", build_reduce_mean_wide_last, 0})
REDUCE_SAMPLES(reduce_max, -2, 2)
REDUCE_SAMPLES(reduce_min, -2, 2)
REDUCE_SAMPLES(reduce_prod, 0.9, 1.1)
