/* Samples of conv2d for the generated tests of ops. */
#include "ops/conv/conv_samples.h"

static const liana__conv_problem problems[] = {
    {"unpadded", 2, {5, 7}, 3, 4, {3, 2}, {.groups = 1}},
    {"same_strided", 2, {7, 6}, 2, 5, {3, 3}, {.strides = {2, 2}, LIANA__SAME}},
    {"asymmetric", 1, {6, 5}, 3, 2, {2, 3}, {.strides = {1, 2}, LIANA__PADDED(0, 2, 1, 3)}},
    {"dilated", 2, {8, 7}, 2, 3, {3, 2}, {LIANA__SAME, .dilations = {2, 3}}},
    {"grouped", 2, {5, 4}, 6, 9, {3, 3}, {.strides = {1, 2}, LIANA__SAME, .groups = 3}},
    {"pointwise", 2, {3, 5}, 7, 6, {1, 1}, {.groups = 1}},
    {"pointwise_strided", 2, {3, 5}, 3, 17, {1, 1}, {.strides = {2, 2}}},
    {"pointwise_sparse", 2, {9, 11}, 37, 35, {1, 1}, {.strides = {3, 2}}},
    {"pointwise_lines", 3, {4, 5}, 34, 18, {1, 1}, {.strides = {1, 2}}},
    {"pointwise_padded", 1, {3, 4}, 3, 2, {1, 1}, {LIANA__PADDED(1, 0, 2, 1)}},
    /* Enough channels for full vectors and a tail; the window never reaches the last rows and columns. */
    {"wide", 1, {6, 6}, 18, 35, {2, 3}, {.strides = {3, 2}}},
    /* First layers: strides 1 and 2, one and three channels, padding below and right alone as fold_padding leaves it,
     * rows longer than the pixels that are computed at once, filters for several vectors and a tail. */
    {"first_strided", 2, {9, 33}, 3, 24, {3, 3}, {.strides = {2, 2}, LIANA__PADDED(0, 1, 0, 1)}},
    {"first_7x7", 1, {13, 15}, 3, 43, {7, 7}, {.strides = {2, 2}, LIANA__SAME}},
    {"first_grey", 2, {5, 17}, 1, 32, {3, 3}, {LIANA__SAME}},
    {"first_5x4", 2, {7, 19}, 4, 19, {5, 4}, {.strides = {3, 1}}},
    {"first_pixel", 3, {1, 1}, 3, 5, {3, 3}, {.strides = {2, 2}, LIANA__SAME}},
    /* A single pixel, whose neighbours are all padding; prime numbers of channels. */
    {"one_pixel", 1, {1, 1}, 37, 23, {3, 3}, {LIANA__SAME}},

    /* Single pixels as matrix products: tiles, panels and blocks that do not come out even, steps of two units, one
 * channel, one filter, one pixel, and sums over many pixels. */
    {"pointwise_halves", 1, {9, 5}, 8, 40, {1, 1}, {.groups = 1}},
    {"pointwise_primes", 3, {7, 11}, 53, 67, {1, 1}, {.groups = 1}},
    {"pointwise_panels", 1, {5, 13}, 20, 100, {1, 1}, {.groups = 1}},
    {"pointwise_one_channel", 1, {5, 3}, 1, 19, {1, 1}, {.groups = 1}},
    {"pointwise_one_filter", 1, {5, 3}, 34, 1, {1, 1}, {.groups = 1}},
    {"pointwise_one_pixel", 1, {1, 1}, 31, 96, {1, 1}, {.groups = 1}},
    {"pointwise_many_pixels", 5, {41, 37}, 16, 8, {1, 1}, {.groups = 1}},

    /* Gradients of kernels from packed lines: blocks of lines that do not come out even, blocks of several images,
     * lines and rows beyond the padding, windows of an even size, panels of filters and tiles of channels with
     * tails. */
    {"lines_blocks", 1, {23, 41}, 17, 53, {3, 3}, {LIANA__SAME}},
    {"lines_images", 7, {5, 3}, 19, 35, {4, 2}, {LIANA__PADDED(2, 5, 0, 3)}},
    {"lines_of_one", 3, {9, 1}, 16, 16, {3, 3}, {LIANA__SAME}},

    /* Windows of 3x3 with fewer products: more tiles than one block has, fewer than a product has rows, tiles beyond
     * the image, padding more than the window has, channels and filters with and without tails. */
    {"winograd_thirds", 2, {6, 5}, 32, 50, {3, 3}, {LIANA__SAME}},
    {"winograd_valid", 1, {10, 7}, 16, 64, {3, 3}, {.groups = 1}},
    {"winograd_padded", 2, {5, 9}, 9, 20, {3, 3}, {LIANA__PADDED(3, 5, 0, 1)}},
    {"winograd_blocks", 3, {33, 30}, 17, 35, {3, 3}, {LIANA__SAME}},
};

static liana_tensor image(liana_graph *graph, const char *name, liana_dtype dtype, const liana_shape *shape)
{
    return liana__sample_input(graph, name, dtype, *shape, -1, 1);
}

/* The gradients are taken from a forward node, whose attributes and shapes they share. */
liana_tensor liana__sample_convolution(liana_graph *graph, liana_dtype dtype, const liana__op *op, const void *row)
{
    const liana__conv_problem *p = row;
    const liana__conv_family *family = op->details;
    const bool of_input = op == family->input_gradient;
    const int64_t groups = p->options.groups && !family->depthwise ? p->options.groups : 1;
    const liana_shape x_shape = liana_shape_of(p->batch, p->input[0], p->input[1], p->channels);
    const liana_shape kernel_shape = liana_shape_of(p->kernel[0], p->kernel[1], p->channels / groups, p->filters);
    liana_tensor x = image(graph, "x", dtype, &x_shape), kernel = image(graph, "kernel", dtype, &kernel_shape);
    liana_tensor y = liana__conv_build(LIANA_HERE, family->forward, x, kernel, &p->options);
    const liana__node *node = liana__tensor_node(y);
    if (!node || op == family->forward) return y;
    liana__conv_attributes attributes = *(const liana__conv_attributes *)node->attributes;
    memcpy(attributes.size, of_input ? p->input : p->kernel, sizeof attributes.size);
    liana_tensor dy = image(graph, "dy", dtype, &node->shape);
    if (of_input) return liana__build2(LIANA_HERE, op, dy, kernel, &attributes);
    return liana__build2(LIANA_HERE, op, x, dy, &attributes);
}

/* Each element of the last row is a sum of 2,970 products. Added one by one in f32, as some of oneDNN's kernels do, the
 * partial sums reach about 18, so the rounding errors have a standard deviation of about 1e-5. The tolerance is five of
 * them, as there are 5,355 elements. */
enum { LAST_ROW = LIANA__COUNT(problems) - 1 };

static liana_tensor last_kernel_gradient(liana_graph *graph, liana_dtype dtype)
{
    return liana__sample_convolution(graph, dtype, &liana__op_conv2d_kernel_gradient, &problems[LAST_ROW]);
}

static const liana__built_sample last_sample[] = {{"winograd_blocks", last_kernel_gradient, 5e-5}};

LIANA__SAMPLE_ROWS(conv2d, problems, liana__sample_convolution);
LIANA__SAMPLE_ROWS(conv2d_input_gradient, problems, liana__sample_convolution);
LIANA__SAMPLE_ROWS_AND(conv2d_kernel_gradient, problems, LAST_ROW, liana__sample_convolution, last_sample);
