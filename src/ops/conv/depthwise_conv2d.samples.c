/* Samples of depthwise_conv2d for the generated tests of ops. */
#include "ops/conv/conv2d.h"
#include "ops/samples.h"

/* One convolution for all three ops. */
typedef struct problem {
    int64_t batch, input[2], channels, multiplier, kernel[2];
    liana_conv_options options;
} problem;

/* More columns than a tile of outputs, channels with a tail; then fewer than a vector has. */
static const problem unpadded = {2, {5, 13}, 19, 1, {3, 2}, {.groups = 1}};
static const problem few_channels = {2, {5, 6}, 3, 1, {2, 3}, {.padding = LIANA_PADDING_SAME}};
static const problem same = {2, {7, 11}, 32, 1, {3, 3}, {.padding = LIANA_PADDING_SAME}};
static const problem same_strided = {1, {9, 24}, 24, 1, {3, 3}, {.strides = {2, 2}, .padding = LIANA_PADDING_SAME}};
static const problem five = {1, {8, 19}, 17, 1, {5, 5}, {.strides = {2, 1}, .padding = LIANA_PADDING_SAME}};
static const problem asymmetric = {
    1, {6, 5}, 16, 1, {2, 3}, {.strides = {1, 2}, .padding = LIANA_PADDING_EXPLICIT, .explicit_padding = {0, 2, 1, 3}}};
static const problem dilated = {2, {8, 15}, 9, 1, {3, 2}, {.padding = LIANA_PADDING_SAME, .dilations = {2, 3}}};
static const problem dilated_strided = {
    1, {9, 16}, 20, 1, {3, 3}, {.strides = {2, 3}, .padding = LIANA_PADDING_SAME, .dilations = {2, 2}}};
static const problem multiplied = {2, {5, 4}, 3, 7, {3, 2}, {.strides = {1, 2}, .padding = LIANA_PADDING_SAME}};
/* A window larger than the image without its padding: no output sees all taps. */
static const problem mostly_padding = {1, {3, 2}, 16, 1, {5, 5}, {.padding = LIANA_PADDING_SAME}};
/* Rows that the gradient of the kernel adds up in parts, and many of them. */
static const problem long_rows = {1, {3, 211}, 20, 1, {2, 3}, {.padding = LIANA_PADDING_SAME}};
static const problem many_rows = {3, {9, 10}, 16, 1, {3, 3}, {.strides = {1, 2}, .padding = LIANA_PADDING_SAME}};
/* A single pixel, whose neighbours are all padding; a prime number of channels. */
static const problem one_pixel = {1, {1, 1}, 37, 1, {3, 3}, {.padding = LIANA_PADDING_SAME}};
/* The windows that have tiles, over rows that no tile divides, with strides, and with padding of either parity. */
static const problem three_strided = {2, {10, 21}, 23, 1, {3, 3}, {.strides = {2, 2}, .padding = LIANA_PADDING_SAME}};
static const problem three_unpadded = {1, {9, 17}, 32, 1, {3, 3}, {.strides = {2, 2}}};
static const problem three_odd = {
    1, {8, 15}, 16,
    1, {3, 3},  {.strides = {1, 2}, .padding = LIANA_PADDING_EXPLICIT, .explicit_padding = {1, 0, 1, 2}}};
static const problem four_by_three = {2, {13, 3}, 17, 1, {4, 3}, {.strides = {3, 1}, .padding = LIANA_PADDING_SAME}};
static const problem five_same = {2, {6, 12}, 48, 1, {5, 5}, {.padding = LIANA_PADDING_SAME}};
static const problem five_strided = {1, {11, 27}, 33, 1, {5, 5}, {.strides = {2, 2}, .padding = LIANA_PADDING_SAME}};
static const problem seven = {1, {9, 15}, 21, 1, {7, 7}, {.padding = LIANA_PADDING_SAME}};
static const problem seven_strided = {1, {10, 18}, 19, 1, {7, 7}, {.strides = {2, 2}, .padding = LIANA_PADDING_SAME}};
static const problem thin = {1, {1, 14}, 16, 1, {1, 3}, {.padding = LIANA_PADDING_SAME}};
/* Windows that lie in the padding altogether. */
static const problem far_padding = {1, {2, 3}, 18,
                                    1, {3, 3}, {.padding = LIANA_PADDING_EXPLICIT, .explicit_padding = {4, 3, 5, 4}}};
static const problem far_padding_strided = {
    1, {3, 2}, 18, 1, {5, 5}, {.strides = {2, 2}, .padding = LIANA_PADDING_EXPLICIT, .explicit_padding = {7, 6, 8, 7}}};
/* Fewer channels than a vector of 16 has. */
static const problem three_few = {2, {9, 14}, 8, 1, {3, 3}, {.padding = LIANA_PADDING_SAME}};
static const problem three_few_strided = {1, {10, 13}, 12,
                                          1, {3, 3},   {.strides = {2, 2}, .padding = LIANA_PADDING_SAME}};
/* An odd number of pairs of vectors, and a vector of its own. */
static const problem odd_pairs = {2, {7, 96}, 112, 1, {3, 3}, {.strides = {2, 2}, .padding = LIANA_PADDING_SAME}};
/* More vectors of channels than go through an image at once. */
static const problem many_channels = {1, {5, 23}, 331, 1, {3, 3}, {.padding = LIANA_PADDING_SAME}};

static liana_tensor build_forward(liana_graph *graph, liana_dtype dtype, const problem *p)
{
    const liana_shape x_shape = liana_shape_of(p->batch, p->input[0], p->input[1], p->channels);
    const liana_shape kernel_shape = liana_shape_of(p->kernel[0], p->kernel[1], p->channels, p->multiplier);
    liana_tensor x = liana__sample_input(graph, "x", dtype, x_shape, -1, 1);
    liana_tensor kernel = liana__sample_input(graph, "kernel", dtype, kernel_shape, -1, 1);
    return liana_op_depthwise_conv2d(x, kernel, p->options);
}

/* The gradients are taken from a forward node, whose attributes and shapes they share. */
static liana_tensor build_gradient(liana_graph *graph, liana_dtype dtype, const problem *p, const liana__op *op)
{
    const liana__node *node = liana__tensor_node(build_forward(graph, dtype, p));
    if (!node) return (liana_tensor){graph, 0};
    bool of_input = op == &liana__op_depthwise_conv2d_input_gradient;
    liana__conv_attributes attributes = *(const liana__conv_attributes *)node->attributes;
    memcpy(attributes.size, of_input ? p->input : p->kernel, sizeof attributes.size);
    liana_tensor dy = liana__sample_input(graph, "dy", dtype, node->shape, -1, 1);
    liana_tensor x = liana__node_tensor(graph, node->inputs[0]), kernel = liana__node_tensor(graph, node->inputs[1]);
    if (of_input) return liana__build2(LIANA_HERE, op, dy, kernel, &attributes);
    return liana__build2(LIANA_HERE, op, x, dy, &attributes);
}

#define PROBLEMS(X)        \
    X(unpadded)            \
    X(few_channels)        \
    X(same)                \
    X(same_strided)        \
    X(five)                \
    X(asymmetric)          \
    X(dilated)             \
    X(dilated_strided)     \
    X(multiplied)          \
    X(mostly_padding)      \
    X(long_rows)           \
    X(many_rows)           \
    X(one_pixel)           \
    X(three_strided)       \
    X(three_unpadded)      \
    X(three_odd)           \
    X(four_by_three)       \
    X(five_same)           \
    X(five_strided)        \
    X(seven)               \
    X(seven_strided)       \
    X(thin)                \
    X(far_padding)         \
    X(far_padding_strided) \
    X(three_few)           \
    X(three_few_strided)   \
    X(odd_pairs)           \
    X(many_channels)

#define BUILD(p)                                                                                \
    static liana_tensor p##_forward(liana_graph *graph, liana_dtype dtype)                      \
    {                                                                                           \
        return build_forward(graph, dtype, &(p));                                               \
    }                                                                                           \
    static liana_tensor p##_input(liana_graph *graph, liana_dtype dtype)                        \
    {                                                                                           \
        return build_gradient(graph, dtype, &(p), &liana__op_depthwise_conv2d_input_gradient);  \
    }                                                                                           \
    static liana_tensor p##_kernel(liana_graph *graph, liana_dtype dtype)                       \
    {                                                                                           \
        return build_gradient(graph, dtype, &(p), &liana__op_depthwise_conv2d_kernel_gradient); \
    }
PROBLEMS(BUILD)
#undef BUILD

/* Sums of 73728 products, along rows of 768, which floats added one by one would show; too many for differences in
 * double. A sum is about 90, and the errors of the additions in floats are about 2e-5 together. Where a sum is near 0
 * nothing but these errors counts: LARGE_TOLERANCE is five of them. */
#define LARGE_TOLERANCE 1e-4

static liana_tensor large_kernel(liana_graph *graph, liana_dtype dtype)
{
    problem large = same;
    if (dtype != LIANA_F64) large = (problem){2, {48, 768}, 47, 1, {1, 3}, {.padding = LIANA_PADDING_SAME}};
    return build_gradient(graph, dtype, &large, &liana__op_depthwise_conv2d_kernel_gradient);
}

#define FORWARD(p) {#p, p##_forward, 0},
static const liana__sample forward_samples[] = {PROBLEMS(FORWARD)};
#define INPUT_GRADIENT(p) {#p, p##_input, 0},
static const liana__sample input_samples[] = {PROBLEMS(INPUT_GRADIENT)};
#define KERNEL_GRADIENT(p) {#p, p##_kernel, 0},
static const liana__sample kernel_samples[] = {PROBLEMS(KERNEL_GRADIENT){"large", large_kernel, LARGE_TOLERANCE}};

LIANA__SAMPLES(depthwise_conv2d, forward_samples);
LIANA__SAMPLES(depthwise_conv2d_input_gradient, input_samples);
LIANA__SAMPLES(depthwise_conv2d_kernel_gradient, kernel_samples);
