/* geometry.h - the sizes of a sliding window over images, which convolutions and pooling pass to their kernels. */
#ifndef LIANA_KERNELS_GEOMETRY_H
#define LIANA_KERNELS_GEOMETRY_H

#include <stdbool.h>
#include <stdint.h>

/* Pairs are vertical, horizontal. Output o sees input rows o * stride - padding_low + k * dilation for the window's
 * k = 0 .. window - 1; rows outside [0, input) are padding. */
typedef struct liana__geometry {
    int64_t batch;
    int64_t input[2];
    int64_t output[2];
    int64_t window[2];
    int64_t strides[2];
    int64_t dilations[2];
    int64_t padding_low[2];
    int64_t padding_high[2];
    int64_t channels; /* of the input */
    int64_t filters;  /* channels of the output */
    int64_t groups;
} liana__geometry;

/* Which of the three ops of a convolution it is, by its two inputs. */
typedef enum liana__conv_pass {
    LIANA__CONV_FORWARD,         /* src[0] = x, src[1] = kernel, dst = y */
    LIANA__CONV_INPUT_GRADIENT,  /* src[0] = dy, src[1] = kernel, dst = dx */
    LIANA__CONV_KERNEL_GRADIENT, /* src[0] = x, src[1] = dy, dst = the kernel's gradient */
} liana__conv_pass;

/* Whether the window is one pixel, without padding, in one group. Then the convolution is a matrix product of pixels by
 * channels and channels by filters. */
static inline bool liana__geometry_is_of_pixels(const liana__geometry *g)
{
    for (int i = 0; i < 2; i++) {
        if (g->window[i] != 1 || g->padding_low[i] != 0 || g->padding_high[i] != 0) return false;
    }
    return g->groups == 1;
}

/* The same where each pixel is seen. */
static inline bool liana__geometry_is_pointwise(const liana__geometry *g)
{
    return liana__geometry_is_of_pixels(g) && g->strides[0] == 1 && g->strides[1] == 1;
}

/* Every strides[0]-th line and of these every strides[1]-th pixel of images of height x width pixels. */
typedef struct liana__pixel_grid {
    int64_t lines, columns; /* that are seen of an image */
    int64_t strides[2];
    int64_t height, width;
} liana__pixel_grid;

#endif
