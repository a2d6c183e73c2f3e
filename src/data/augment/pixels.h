/* pixels.h - the inner loops of augmentation, compiled for several instruction sets. All give the same bytes. */
#ifndef LIANA_DATA_AUGMENT_PIXELS_H
#define LIANA_DATA_AUGMENT_PIXELS_H

#include "base/cpu.h"
#include "base/random.h"
#include "data/augment/matrix.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum liana__interpolation { LIANA__NEAREST, LIANA__BILINEAR } liana__interpolation;

/* The pixels outside of an image. */
typedef enum liana__fill_mode {
    LIANA__FILL_CONSTANT,
    LIANA__FILL_NEAREST, /* the pixel at the edge */
    LIANA__FILL_REFLECT, /* d c b a | a b c d | d c b a */
    LIANA__FILL_WRAP,    /* a b c d | a b c d | a b c d */
} liana__fill_mode;

/* Samples one image at the points from which another's pixels come. The images must not overlap. */
typedef struct liana__warp {
    const uint8_t *src;
    int64_t src_height;
    int64_t src_width;
    uint8_t *dst;
    int64_t dst_height;
    int64_t dst_width;
    int channels;             /* 1 or 3 */
    liana_matrix from_output; /* maps a point of dst to a point of src; where w is not positive, there is nothing */
    liana__interpolation interpolation;
    liana__fill_mode fill_mode;
    uint8_t fill;
} liana__warp;

/* The length of tables that repeat with the channels: a multiple of 3 and of a vector. */
enum { LIANA__PATTERN = 192 };

/* Output channel c = (sum over k of weights[3 c + k] * input channel k, plus offset[c]) without its last `shift` bits,
 * clamped to [0, 255]. The sum fits into 32 bits for all pixels. */
typedef struct liana__recolour {
    int16_t weights[9];
    int32_t offset[3];
    int shift; /* 0 to 14 */
} liana__recolour;

typedef struct liana__pixel_kernels {
    void (*warp)(const liana__warp *warp);
    /* pixels[i] * scale[i % LIANA__PATTERN] + offset[...], rounded to nearest, clamped to [0, 255] */
    void (*linear)(uint8_t *pixels, size_t size, const float *scale, const float *offset);
    /* Multiplies each pixel of three channels by a matrix of whole numbers. */
    void (*recolour)(uint8_t *pixels, size_t num_pixels, const liana__recolour *change);
    /* Sums of each channel (one number for grey), and of 0.299 R + 0.587 G + 0.114 B. */
    void (*sums)(const uint8_t *pixels, size_t num_pixels, int channels, double *sums, double *grey);
    /* Turns the hue by a share of the circle, -1 to 1. Value and chroma stay. */
    void (*turn_hue)(uint8_t *pixels, size_t num_pixels, float turn);
    /* Correlates with weights [2 radius + 1] along both axes. The image is mirrored at its outermost pixels. `row` is
     * memory for (width + 2 radius) * channels floats. */
    void (*blur)(const uint8_t *src, uint8_t *dst, int64_t height, int64_t width, int channels, const float *weights,
                 int radius, float *row);
    /* Interpolates between Pillow's SMOOTH (five times the pixel plus its eight neighbours, over 13; factor 0) and the
     * image (factor 1), or extrapolates. The border stays; dst holds the image already. */
    void (*sharpen)(const uint8_t *src, uint8_t *dst, int64_t height, int64_t width, int channels, float factor);
    /* Adds scale * quantiles[13 random bits] to each value. Each block of 8 values uses one counter of Philox. */
    void (*add_noise)(uint8_t *pixels, size_t size, liana__philox_key key, const uint32_t counter[4],
                      const float *quantiles, float scale);
    /* share * own + (1 - share) * partner */
    void (*mix)(const uint8_t *own, const uint8_t *partner, uint8_t *dst, size_t size, float share);
} liana__pixel_kernels;

const liana__pixel_kernels *liana__pixel_kernels_for(liana__isa isa);

extern const liana__pixel_kernels liana__pixel_kernels_generic;
#ifdef LIANA_X86
extern const liana__pixel_kernels liana__pixel_kernels_avx2;
extern const liana__pixel_kernels liana__pixel_kernels_avx512;
#endif

#endif
