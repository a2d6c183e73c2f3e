/* Samples of conv2d_affine for the generated tests of ops. */
#include "ops/fused/conv2d_affine.h"
#include "ops/samples.h"

/* Batch, input size, channels and filters (the dense op's), kernel size, the epilogue, options. */
typedef struct problem {
    const char *name;
    int64_t batch, input[2], channels, filters, kernel[2];
    int activation;
    bool adds;
    liana_conv_options options;
} problem;

static const problem dense[] = {
    /* Single pixels: tiles, panels and blocks that do not come out even, half-idle vectors, blocks of rows, one filter,
     * one pixel, strides; each with another activation, with and without a residual. */
    {"primes", 3, {7, 11}, 53, 67, {1, 1}, LIANA__FUSED_RELU, true, {.groups = 1}},
    {"halves", 1, {9, 5}, 8, 40, {1, 1}, LIANA__FUSED_RELU6, true, {.groups = 1}},
    {"panels", 1, {5, 13}, 20, 100, {1, 1}, LIANA__FUSED_SWISH, false, {.groups = 1}},
    {"swish_halves", 2, {3, 5}, 36, 24, {1, 1}, LIANA__FUSED_SWISH, true, {.groups = 1}},
    {"few_filters", 5, {41, 37}, 16, 8, {1, 1}, LIANA__FUSED_LINEAR, true, {.groups = 1}},
    {"one_filter", 1, {5, 3}, 34, 1, {1, 1}, LIANA__FUSED_RELU6, false, {.groups = 1}},
    {"one_pixel", 1, {1, 1}, 31, 96, {1, 1}, LIANA__FUSED_LINEAR, false, {.groups = 1}},
    {"sparse", 2, {9, 11}, 37, 35, {1, 1}, LIANA__FUSED_RELU, true, {.strides = {3, 2}}},
    {"lines", 3, {4, 5}, 34, 18, {1, 1}, LIANA__FUSED_SWISH, false, {.strides = {1, 2}}},
    /* Windows of 3x3 with fewer products, in large and small tiles. */
    {"winograd", 2, {9, 13}, 18, 37, {3, 3}, LIANA__FUSED_RELU, true, {LIANA__SAME}},
    {"winograd_thirds", 1, {6, 6}, 16, 20, {3, 3}, LIANA__FUSED_SWISH, true, {.groups = 1}},
    {"winograd_plain", 2, {5, 6}, 33, 16, {3, 3}, LIANA__FUSED_RELU6, false, {.groups = 1}},
    /* No fast kernel does these. */
    {"windows", 2, {5, 4}, 6, 9, {3, 2}, LIANA__FUSED_SWISH, true, {LIANA__SAME, .groups = 3}},
};

static const problem depthwise[] = {
    /* Depthwise: all windows and strides of the tiles, channels of one vector, several, with and without a tail. */
    {"dw_3", 2, {7, 9}, 48, 1, {3, 3}, LIANA__FUSED_RELU6, false, {LIANA__SAME}},
    {"dw_3_strided", 2, {8, 11}, 37, 1, {3, 3}, LIANA__FUSED_RELU, false, {.strides = {2, 2}}},
    {"dw_5", 1, {6, 13}, 35, 1, {5, 5}, LIANA__FUSED_SWISH, false, {LIANA__SAME}},
    /* More vectors than wait for swish together, and a tail. */
    {"dw_wide", 1, {3, 5}, 309, 1, {3, 3}, LIANA__FUSED_SWISH, false, {LIANA__SAME}},
    {"dw_5_strided", 1, {9, 10}, 64, 1, {5, 5}, LIANA__FUSED_SWISH, false, {.strides = {2, 2}, LIANA__SAME}},
    {"dw_7", 1, {5, 8}, 16, 1, {3, 7}, LIANA__FUSED_LINEAR, false, {LIANA__SAME}},
    {"dw_7_strided", 2, {9, 12}, 19, 1, {7, 7}, LIANA__FUSED_RELU6, false, {.strides = {1, 2}, LIANA__SAME}},
    /* No fast kernel does these. */
    {"dw_dilated", 2, {8, 7}, 18, 1, {3, 3}, LIANA__FUSED_RELU, false, {.dilations = {2, 2}}},
    {"dw_multiplied", 2, {5, 4}, 3, 2, {2, 3}, LIANA__FUSED_SWISH, false, {.groups = 1}},
};

static liana_tensor parameters(liana_graph *graph, const char *name, liana_dtype dtype, liana_shape shape, double low,
                               double high)
{
    return liana__sample_input(graph, name, liana__wide_dtype(dtype), shape, low, high);
}

static liana_tensor build_convolution(liana_graph *graph, liana_dtype dtype, const liana__op *op, const void *row)
{
    const problem *p = row;
    const bool is_depthwise = op == &liana__op_depthwise_conv2d_affine;
    const int64_t groups = p->options.groups ? p->options.groups : 1;
    liana_tensor x =
        liana__sample_input(graph, "x", dtype, liana_shape_of(p->batch, p->input[0], p->input[1], p->channels), -1, 1);
    liana_shape shape = liana_shape_of(p->kernel[0], p->kernel[1], p->channels / groups, p->filters);
    if (is_depthwise) shape.dims[2] = p->channels;
    liana_tensor kernel = liana__sample_input(graph, "kernel", dtype, shape, -1, 1);
    liana_tensor plain =
        is_depthwise ? liana_op_depthwise_conv2d(x, kernel, p->options) : liana_op_conv2d(x, kernel, p->options);
    const liana__node *node = liana__tensor_node(plain);
    if (!node) return plain;
    const liana_shape rows = liana_shape_of(2, node->shape.dims[3]);
    const liana_tensor inputs[] = {x, kernel, parameters(graph, "affine", dtype, rows, -2, 2),
                                   p->adds ? liana__sample_input(graph, "residual", dtype, node->shape, -4, 6)
                                           : (liana_tensor){0}};
    liana__conv_attributes attributes = *(const liana__conv_attributes *)node->attributes;
    attributes.activation = p->activation;
    return liana__build(LIANA_HERE, graph, op, inputs, p->adds ? 4 : 3, &attributes);
}

static liana_tensor build_affine(liana_graph *graph, liana_dtype dtype, int64_t channels, bool biased)
{
    const liana_shape row = liana_shape_of(channels);
    const liana_tensor inputs[] = {parameters(graph, "gamma", dtype, row, -2, 2),
                                   parameters(graph, "beta", dtype, row, -1, 1),
                                   parameters(graph, "mean", dtype, row, -1, 1),
                                   parameters(graph, "variance", dtype, row, 0.3, 2)};
    liana_tensor bias = biased ? parameters(graph, "bias", dtype, row, -1, 1) : (liana_tensor){0};
    return liana__op_batch_norm_affine_at(LIANA_HERE, inputs, bias, 1e-3);
}

static liana_tensor build_unbiased(liana_graph *graph, liana_dtype dtype)
{
    return build_affine(graph, dtype, 37, false);
}

static liana_tensor build_biased(liana_graph *graph, liana_dtype dtype)
{
    return build_affine(graph, dtype, 21, true);
}

static const liana__built_sample affine_samples[] = {{"unbiased", build_unbiased, 0}, {"biased", build_biased, 0}};

LIANA__SAMPLES(batch_norm_affine, affine_samples);
LIANA__SAMPLE_ROWS(conv2d_affine, dense, build_convolution);
LIANA__SAMPLE_ROWS(depthwise_conv2d_affine, depthwise, build_convolution);
