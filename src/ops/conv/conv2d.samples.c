/* Samples of conv2d for the generated tests of ops. */
#include "ops/conv/conv2d.h"
#include "ops/samples.h"

/* One convolution for all three ops: batch, input size, channels and filters, kernel size, options. */
typedef struct problem {
    int64_t batch, input[2], channels, filters, kernel[2];
    liana_conv_options options;
} problem;

static const problem unpadded = {2, {5, 7}, 3, 4, {3, 2}, {.groups = 1}};
static const problem same_strided = {2, {7, 6}, 2, 5, {3, 3}, {.strides = {2, 2}, .padding = LIANA_PADDING_SAME}};
static const problem asymmetric = {
    1, {6, 5}, 3, 2, {2, 3}, {.strides = {1, 2}, .padding = LIANA_PADDING_EXPLICIT, .explicit_padding = {0, 2, 1, 3}}};
static const problem dilated = {2, {8, 7}, 2, 3, {3, 2}, {.padding = LIANA_PADDING_SAME, .dilations = {2, 3}}};
static const problem grouped = {2, {5, 4}, 6,
                                9, {3, 3}, {.strides = {1, 2}, .padding = LIANA_PADDING_SAME, .groups = 3}};
static const problem pointwise = {2, {3, 5}, 7, 6, {1, 1}, {.groups = 1}};
static const problem pointwise_strided = {2, {3, 5}, 3, 17, {1, 1}, {.strides = {2, 2}}};
static const problem pointwise_sparse = {2, {9, 11}, 37, 35, {1, 1}, {.strides = {3, 2}}};
static const problem pointwise_lines = {3, {4, 5}, 34, 18, {1, 1}, {.strides = {1, 2}}};
static const problem pointwise_padded = {1,      {3, 4},
                                         3,      2,
                                         {1, 1}, {.padding = LIANA_PADDING_EXPLICIT, .explicit_padding = {1, 0, 2, 1}}};
/* Enough channels for full vectors and a tail; the window never reaches the last rows and columns. */
static const problem wide = {1, {6, 6}, 18, 35, {2, 3}, {.strides = {3, 2}}};
/* First layers: strides 1 and 2, one and three channels, padding below and right alone as fold_padding leaves it, rows
 * longer than the pixels that are computed at once, filters for several vectors and a tail. */
static const problem first_strided = {
    2,  {9, 33}, 3,
    24, {3, 3},  {.strides = {2, 2}, .padding = LIANA_PADDING_EXPLICIT, .explicit_padding = {0, 1, 0, 1}}};
static const problem first_7x7 = {1, {13, 15}, 3, 43, {7, 7}, {.strides = {2, 2}, .padding = LIANA_PADDING_SAME}};
static const problem first_grey = {2, {5, 17}, 1, 32, {3, 3}, {.padding = LIANA_PADDING_SAME}};
static const problem first_5x4 = {2, {7, 19}, 4, 19, {5, 4}, {.strides = {3, 1}}};
static const problem first_pixel = {3, {1, 1}, 3, 5, {3, 3}, {.strides = {2, 2}, .padding = LIANA_PADDING_SAME}};
/* A single pixel, whose neighbours are all padding; prime numbers of channels. */
static const problem one_pixel = {1, {1, 1}, 37, 23, {3, 3}, {.padding = LIANA_PADDING_SAME}};

/* Single pixels as matrix products: tiles, panels and blocks that do not come out even, steps of two units, one
 * channel, one filter, one pixel, and sums over many pixels. */
static const problem pointwise_halves = {1, {9, 5}, 8, 40, {1, 1}, {.groups = 1}};
static const problem pointwise_primes = {3, {7, 11}, 53, 67, {1, 1}, {.groups = 1}};
static const problem pointwise_panels = {1, {5, 13}, 20, 100, {1, 1}, {.groups = 1}};
static const problem pointwise_one_channel = {1, {5, 3}, 1, 19, {1, 1}, {.groups = 1}};
static const problem pointwise_one_filter = {1, {5, 3}, 34, 1, {1, 1}, {.groups = 1}};
static const problem pointwise_one_pixel = {1, {1, 1}, 31, 96, {1, 1}, {.groups = 1}};
static const problem pointwise_many_pixels = {5, {41, 37}, 16, 8, {1, 1}, {.groups = 1}};

/* Gradients of kernels from packed lines: blocks of lines that do not come out even, blocks of several images, lines
 * and rows beyond the padding, windows of an even size, panels of filters and tiles of channels with tails. */
static const problem lines_blocks = {1, {23, 41}, 17, 53, {3, 3}, {.padding = LIANA_PADDING_SAME}};
static const problem lines_images = {7,  {5, 3}, 19,
                                     35, {4, 2}, {.padding = LIANA_PADDING_EXPLICIT, .explicit_padding = {2, 5, 0, 3}}};
static const problem lines_of_one = {3, {9, 1}, 16, 16, {3, 3}, {.padding = LIANA_PADDING_SAME}};

/* Windows of 3x3 with fewer products: more tiles than one block has, fewer than a product has rows, tiles beyond the
 * image, padding more than the window has, channels and filters with and without tails. */
static const problem winograd_blocks = {3, {33, 30}, 17, 35, {3, 3}, {.padding = LIANA_PADDING_SAME}};
static const problem winograd_thirds = {2, {6, 5}, 32, 50, {3, 3}, {.padding = LIANA_PADDING_SAME}};
static const problem winograd_valid = {1, {10, 7}, 16, 64, {3, 3}, {.groups = 1}};
static const problem winograd_padded = {2,      {5, 9},
                                        9,      20,
                                        {3, 3}, {.padding = LIANA_PADDING_EXPLICIT, .explicit_padding = {3, 5, 0, 1}}};

static liana_tensor image(liana_graph *graph, const char *name, liana_dtype dtype, const liana_shape *shape)
{
    return liana__sample_input(graph, name, dtype, *shape, -1, 1);
}

static liana_tensor build_forward(liana_graph *graph, liana_dtype dtype, const problem *p)
{
    int64_t groups = p->options.groups ? p->options.groups : 1;
    const liana_shape x_shape = liana_shape_of(p->batch, p->input[0], p->input[1], p->channels);
    const liana_shape kernel_shape = liana_shape_of(p->kernel[0], p->kernel[1], p->channels / groups, p->filters);
    liana_tensor x = image(graph, "x", dtype, &x_shape), kernel = image(graph, "kernel", dtype, &kernel_shape);
    return liana_op_conv2d(x, kernel, p->options);
}

/* The gradients are taken from a forward node, whose attributes and shapes they share. */
static liana_tensor build_gradient(liana_graph *graph, liana_dtype dtype, const problem *p, const liana__op *op)
{
    liana_tensor y = build_forward(graph, dtype, p);
    const liana__node *node = liana__tensor_node(y);
    if (!node) return y;
    bool of_input = op == &liana__op_conv2d_input_gradient;
    liana__conv_attributes attributes = *(const liana__conv_attributes *)node->attributes;
    memcpy(attributes.size, of_input ? p->input : p->kernel, sizeof attributes.size);
    liana_tensor dy = image(graph, "dy", dtype, &node->shape);
    liana_tensor x = liana__node_tensor(graph, node->inputs[0]), kernel = liana__node_tensor(graph, node->inputs[1]);
    if (of_input) return liana__build2(LIANA_HERE, op, dy, kernel, &attributes);
    return liana__build2(LIANA_HERE, op, x, dy, &attributes);
}

#define PROBLEMS(X)          \
    X(unpadded)              \
    X(same_strided)          \
    X(asymmetric)            \
    X(dilated)               \
    X(grouped)               \
    X(pointwise)             \
    X(pointwise_strided)     \
    X(pointwise_sparse)      \
    X(pointwise_lines)       \
    X(pointwise_padded)      \
    X(wide)                  \
    X(one_pixel)             \
    X(pointwise_halves)      \
    X(pointwise_primes)      \
    X(pointwise_panels)      \
    X(pointwise_one_channel) \
    X(pointwise_one_filter)  \
    X(pointwise_one_pixel)   \
    X(pointwise_many_pixels) \
    X(lines_blocks)          \
    X(lines_images)          \
    X(lines_of_one)          \
    X(winograd_thirds)       \
    X(winograd_valid)        \
    X(winograd_padded)       \
    X(first_strided)         \
    X(first_7x7)             \
    X(first_grey)            \
    X(first_5x4)             \
    X(first_pixel)

#define BUILD(p)                                                                      \
    static liana_tensor p##_forward(liana_graph *graph, liana_dtype dtype)            \
    {                                                                                 \
        return build_forward(graph, dtype, &(p));                                     \
    }                                                                                 \
    static liana_tensor p##_input(liana_graph *graph, liana_dtype dtype)              \
    {                                                                                 \
        return build_gradient(graph, dtype, &(p), &liana__op_conv2d_input_gradient);  \
    }                                                                                 \
    static liana_tensor p##_kernel(liana_graph *graph, liana_dtype dtype)             \
    {                                                                                 \
        return build_gradient(graph, dtype, &(p), &liana__op_conv2d_kernel_gradient); \
    }
PROBLEMS(BUILD)
BUILD(winograd_blocks)
#undef BUILD

#define FORWARD(p) {#p, p##_forward, 0},
static const liana__sample forward_samples[] = {PROBLEMS(FORWARD) FORWARD(winograd_blocks)};
#define INPUT_GRADIENT(p) {#p, p##_input, 0},
static const liana__sample input_samples[] = {PROBLEMS(INPUT_GRADIENT) INPUT_GRADIENT(winograd_blocks)};
#define KERNEL_GRADIENT(p) {#p, p##_kernel, 0},
/* Each element of the last sample is a sum of 2,970 products. Added one by one in f32, as some of oneDNN's kernels do,
 * the partial sums reach about 18, so the rounding errors have a standard deviation of about 1e-5. The tolerance is
 * five of them, as there are 5,355 elements. */
static const liana__sample kernel_samples[] = {
    PROBLEMS(KERNEL_GRADIENT){"winograd_blocks", winograd_blocks_kernel, 5e-5},
};

LIANA__SAMPLES(conv2d, forward_samples);
LIANA__SAMPLES(conv2d_input_gradient, input_samples);
LIANA__SAMPLES(conv2d_kernel_gradient, kernel_samples);
