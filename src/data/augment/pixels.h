/* pixels.h - the inner loops of augmentation, compiled for several instruction sets. All give the same bytes. */
#ifndef LIANA_DATA_AUGMENT_PIXELS_H
#define LIANA_DATA_AUGMENT_PIXELS_H

#include "base/cpu.h"
#include "data/augment/matrix.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum liana__interpolation { LIANA__NEAREST, LIANA__BILINEAR } liana__interpolation;

/* What lies outside an image. */
typedef enum liana__fill_mode {
    LIANA__FILL_CONSTANT,
    LIANA__FILL_NEAREST, /* the pixel at the edge */
    LIANA__FILL_REFLECT, /* d c b a | a b c d | d c b a */
    LIANA__FILL_WRAP,    /* a b c d | a b c d | a b c d */
} liana__fill_mode;

/* Sampling one image at the points that another's pixels come from. The images must not overlap. */
typedef struct liana__warp {
    const uint8_t *src;
    int64_t src_height;
    int64_t src_width;
    uint8_t *dst;
    int64_t dst_height;
    int64_t dst_width;
    int channels;              /* 1 or 3 */
    liana__matrix from_output; /* a point of dst to a point of src; where w is not positive lies nothing */
    liana__interpolation interpolation;
    liana__fill_mode fill_mode;
    uint8_t fill;
} liana__warp;

/* Values that repeat with the channels: 48 is a multiple of 1, of 3 and of a vector. */
enum { LIANA__PATTERN = 48 };

typedef struct liana__pixel_kernels {
    void (*warp)(const liana__warp *warp);
    /* pixels[i] * scale[i % 48] + offset[i % 48], rounded to nearest, kept in [0, 255] */
    void (*linear)(uint8_t *pixels, size_t size, const float *scale, const float *offset);
} liana__pixel_kernels;

const liana__pixel_kernels *liana__pixel_kernels_for(liana__isa isa);

extern const liana__pixel_kernels liana__pixel_kernels_generic;
#ifdef LIANA_X86
extern const liana__pixel_kernels liana__pixel_kernels_avx2;
#endif

#endif
