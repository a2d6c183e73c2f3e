/* Samples of pool2d for the generated tests of ops. */
#include "ops/pool/pool2d.h"
#include "ops/samples.h"

typedef struct problem {
    int64_t batch, input[2], channels;
    liana_pool_options options;
} problem;

static const problem plain = {2, {7, 6}, 19, {.window = {2, 2}}};
static const problem same = {2, {7, 5}, 33, {.window = {3, 2}, .strides = {2, 2}, .padding = LIANA_PADDING_SAME}};
static const problem overlapping = {1, {6, 9}, 3, {.window = {3, 3}, .strides = {1, 2}}};
static const problem gaps = {1, {8, 7}, 8, {.window = {2, 1}, .strides = {3, 2}}};
static const problem asymmetric = {
    1,
    {5, 6},
    17,
    {.window = {3, 4}, .strides = {2, 1}, .padding = LIANA_PADDING_EXPLICIT, .explicit_padding = {2, 0, 1, 3}}};
static const problem whole = {2, {3, 5}, 16, {.window = {3, 5}}};
static const problem one_pixel = {1, {1, 1}, 37, {.window = {3, 2}, .padding = LIANA_PADDING_SAME}};

static liana_tensor images(liana_graph *graph, liana_dtype dtype, const problem *p)
{
    liana_shape shape = liana_shape_of(p->batch, p->input[0], p->input[1], p->channels);
    return liana__sample_input(graph, "x", dtype, shape, -1, 1);
}

/* dy of the pooling of x. */
static liana_tensor output_gradient(liana_graph *graph, liana_dtype dtype, liana_tensor y)
{
    return liana__sample_input(graph, "dy", dtype, liana_tensor_shape(y), -1, 1);
}

static const liana__pool_attributes *attributes_of(liana_tensor y)
{
    return liana__tensor_node(y)->attributes;
}

static liana_tensor build_max(liana_graph *graph, liana_dtype dtype, const problem *p)
{
    return liana_op_max_pool2d(images(graph, dtype, p), p->options);
}

static liana_tensor build_average(liana_graph *graph, liana_dtype dtype, const problem *p)
{
    return liana_op_average_pool2d(images(graph, dtype, p), p->options);
}

static liana_tensor build_max_gradient(liana_graph *graph, liana_dtype dtype, const problem *p)
{
    liana_tensor x = images(graph, dtype, p), y = liana_op_max_pool2d(x, p->options);
    if (!liana__tensor_node(y)) return y;
    return liana__op_max_pool2d_gradient_at(LIANA_HERE, x, output_gradient(graph, dtype, y), attributes_of(y));
}

static liana_tensor build_average_gradient(liana_graph *graph, liana_dtype dtype, const problem *p)
{
    liana_tensor y = build_average(graph, dtype, p);
    if (!liana__tensor_node(y)) return y;
    liana__pool_attributes attributes = *attributes_of(y);
    memcpy(attributes.input, p->input, sizeof attributes.input);
    return liana__op_average_pool2d_gradient_at(LIANA_HERE, output_gradient(graph, dtype, y), &attributes);
}

#define PROBLEMS(X) \
    X(plain)        \
    X(same)         \
    X(overlapping)  \
    X(gaps)         \
    X(asymmetric)   \
    X(whole)        \
    X(one_pixel)

#define BUILD(p)                                                                    \
    static liana_tensor p##_max(liana_graph *graph, liana_dtype dtype)              \
    {                                                                               \
        return build_max(graph, dtype, &(p));                                       \
    }                                                                               \
    static liana_tensor p##_average(liana_graph *graph, liana_dtype dtype)          \
    {                                                                               \
        return build_average(graph, dtype, &(p));                                   \
    }                                                                               \
    static liana_tensor p##_max_gradient(liana_graph *graph, liana_dtype dtype)     \
    {                                                                               \
        return build_max_gradient(graph, dtype, &(p));                              \
    }                                                                               \
    static liana_tensor p##_average_gradient(liana_graph *graph, liana_dtype dtype) \
    {                                                                               \
        return build_average_gradient(graph, dtype, &(p));                          \
    }
PROBLEMS(BUILD)
#undef BUILD

/* Ties: whole numbers from 0 to 2, so that most windows have several greatest elements. */
static liana_tensor build_ties(liana_graph *graph, liana_dtype dtype)
{
    liana_tensor x =
        liana_op_cast(liana__sample_input(graph, "x", LIANA_S32, liana_shape_of(2, 5, 7, 18), 0, 2), dtype);
    liana_tensor y = liana_op_max_pool2d(x, overlapping.options);
    if (!liana__tensor_node(y)) return y;
    return liana__op_max_pool2d_gradient_at(LIANA_HERE, x, output_gradient(graph, dtype, y), attributes_of(y));
}

#define MAX(p) {#p, p##_max, 0},
static const liana__sample max_samples[] = {PROBLEMS(MAX)};
#define AVERAGE(p) {#p, p##_average, 0},
static const liana__sample average_samples[] = {PROBLEMS(AVERAGE)};
#define MAX_GRADIENT(p) {#p, p##_max_gradient, 0},
static const liana__sample max_gradient_samples[] = {PROBLEMS(MAX_GRADIENT){"ties", build_ties, 0}};
#define AVERAGE_GRADIENT(p) {#p, p##_average_gradient, 0},
static const liana__sample average_gradient_samples[] = {PROBLEMS(AVERAGE_GRADIENT)};

LIANA__SAMPLES(max_pool2d, max_samples);
LIANA__SAMPLES(max_pool2d_gradient, max_gradient_samples);
LIANA__SAMPLES(average_pool2d, average_samples);
LIANA__SAMPLES(average_pool2d_gradient, average_gradient_samples);
