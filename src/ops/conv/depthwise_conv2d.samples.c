/* Samples of depthwise_conv2d for the generated tests of ops. */
#include "ops/conv/conv_samples.h"

static const liana__conv_problem problems[] = {
    /* More columns than a tile of outputs, channels with a tail; then fewer than a vector has. */
    {"unpadded", 2, {5, 13}, 19, 1, {3, 2}, {.groups = 1}},
    {"few_channels", 2, {5, 6}, 3, 1, {2, 3}, {LIANA__SAME}},
    {"same", 2, {7, 11}, 32, 1, {3, 3}, {LIANA__SAME}},
    {"same_strided", 1, {9, 24}, 24, 1, {3, 3}, {.strides = {2, 2}, LIANA__SAME}},
    {"five", 1, {8, 19}, 17, 1, {5, 5}, {.strides = {2, 1}, LIANA__SAME}},
    {"asymmetric", 1, {6, 5}, 16, 1, {2, 3}, {.strides = {1, 2}, LIANA__PADDED(0, 2, 1, 3)}},
    {"dilated", 2, {8, 15}, 9, 1, {3, 2}, {LIANA__SAME, .dilations = {2, 3}}},
    {"dilated_strided", 1, {9, 16}, 20, 1, {3, 3}, {.strides = {2, 3}, LIANA__SAME, .dilations = {2, 2}}},
    {"multiplied", 2, {5, 4}, 3, 7, {3, 2}, {.strides = {1, 2}, LIANA__SAME}},
    /* A window larger than the image without its padding: no output sees all taps. */
    {"mostly_padding", 1, {3, 2}, 16, 1, {5, 5}, {LIANA__SAME}},
    /* Rows that the gradient of the kernel adds up in parts, and many of them. */
    {"long_rows", 1, {3, 211}, 20, 1, {2, 3}, {LIANA__SAME}},
    {"many_rows", 3, {9, 10}, 16, 1, {3, 3}, {.strides = {1, 2}, LIANA__SAME}},
    /* A single pixel, whose neighbours are all padding; a prime number of channels. */
    {"one_pixel", 1, {1, 1}, 37, 1, {3, 3}, {LIANA__SAME}},
    /* The windows that have tiles, over rows that no tile divides, with strides, and with padding of either parity. */
    {"three_strided", 2, {10, 21}, 23, 1, {3, 3}, {.strides = {2, 2}, LIANA__SAME}},
    {"three_unpadded", 1, {9, 17}, 32, 1, {3, 3}, {.strides = {2, 2}}},
    {"three_odd", 1, {8, 15}, 16, 1, {3, 3}, {.strides = {1, 2}, LIANA__PADDED(1, 0, 1, 2)}},
    {"four_by_three", 2, {13, 3}, 17, 1, {4, 3}, {.strides = {3, 1}, LIANA__SAME}},
    {"five_same", 2, {6, 12}, 48, 1, {5, 5}, {LIANA__SAME}},
    {"five_strided", 1, {11, 27}, 33, 1, {5, 5}, {.strides = {2, 2}, LIANA__SAME}},
    {"seven", 1, {9, 15}, 21, 1, {7, 7}, {LIANA__SAME}},
    {"seven_strided", 1, {10, 18}, 19, 1, {7, 7}, {.strides = {2, 2}, LIANA__SAME}},
    {"thin", 1, {1, 14}, 16, 1, {1, 3}, {LIANA__SAME}},
    /* Windows that lie in the padding altogether. */
    {"far_padding", 1, {2, 3}, 18, 1, {3, 3}, {LIANA__PADDED(4, 3, 5, 4)}},
    {"far_padding_strided", 1, {3, 2}, 18, 1, {5, 5}, {.strides = {2, 2}, LIANA__PADDED(7, 6, 8, 7)}},
    /* Fewer channels than a vector of 16 has. */
    {"three_few", 2, {9, 14}, 8, 1, {3, 3}, {LIANA__SAME}},
    {"three_few_strided", 1, {10, 13}, 12, 1, {3, 3}, {.strides = {2, 2}, LIANA__SAME}},
    /* An odd number of pairs of vectors, and a vector of its own. */
    {"odd_pairs", 2, {7, 96}, 112, 1, {3, 3}, {.strides = {2, 2}, LIANA__SAME}},
    /* More vectors of channels than go through an image at once. */
    {"many_channels", 1, {5, 23}, 331, 1, {3, 3}, {LIANA__SAME}},
};

/* Sums of 73728 products, along rows of 768, which floats added one by one would show; too many for differences in
 * double. A sum is about 90, and the errors of the additions in floats are about 2e-5 together. Where a sum is near 0
 * nothing but these errors counts: LARGE_TOLERANCE is five of them. */
#define LARGE_TOLERANCE 1e-4

static liana_tensor large_kernel(liana_graph *graph, liana_dtype dtype)
{
    liana__conv_problem large = {NULL, 2, {7, 11}, 32, 1, {3, 3}, {LIANA__SAME}};
    if (dtype != LIANA_F64) large = (liana__conv_problem){NULL, 2, {48, 768}, 47, 1, {1, 3}, {LIANA__SAME}};
    return liana__sample_convolution(graph, dtype, &liana__op_depthwise_conv2d_kernel_gradient, &large);
}

static const liana__built_sample large_samples[] = {{"large", large_kernel, LARGE_TOLERANCE}};

LIANA__SAMPLE_ROWS(depthwise_conv2d, problems, liana__sample_convolution);
LIANA__SAMPLE_ROWS(depthwise_conv2d_input_gradient, problems, liana__sample_convolution);
LIANA__SAMPLE_ROWS_AND(depthwise_conv2d_kernel_gradient, problems, LIANA__COUNT(problems), liana__sample_convolution,
                       large_samples);
