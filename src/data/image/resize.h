/* resize.h - bilinear resizing of u8 images, with TensorFlow's and PyTorch's half-pixel centres.
 *
 * Plain: tf.image.resize(bilinear) = torch.nn.functional.interpolate(mode="bilinear", align_corners=False). It uses the
 * four pixels around the centre of the output pixel, (output + 0.5) * input size / output size - 0.5; the edge is
 * repeated.
 *
 * Antialiased: when shrinking, a triangle as wide as the ratio (tf.image.resize(antialias=True), torch's
 * antialias=True, Pillow's BILINEAR). When enlarging, the same as plain. */
#ifndef LIANA_DATA_RESIZE_H
#define LIANA_DATA_RESIZE_H

#include "base/cpu.h"
#include "base/error.h"
#include "formats/image.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The weights of one axis: output i is the sum of weights[i * max_taps + k] * input[first[i] + k] over k < count[i]. */
typedef struct liana__resize_axis {
    int64_t from;
    int64_t to; /* 0: no table yet */
    bool antialias;
    int64_t max_taps;
    int64_t *first;
    int64_t *count;
    float *weights;
    void *memory;
    size_t capacity;
} liana__resize_axis;

/* The weights of a range of outputs, with inputs counted from another one. */
typedef struct liana__resize_cut {
    liana__resize_axis axis; /* shares the memory of the whole axis, except `first` */
    size_t capacity;         /* of first */
} liana__resize_cut;

/* The number of floats that may be read behind the end of a row. */
enum { LIANA__RESIZE_PADDING = 4 };

/* The loops, for each instruction set. All give the same bits. */
typedef struct liana__resize_kernels {
    /* row [row_size] = the weighted sum of source rows [row_size] for output row y. */
    void (*blend_rows)(const liana__resize_axis *rows, int64_t y, const uint8_t *src, int64_t row_size, float *row);
    /* The weighted sums along a row: rounded into `bytes`, or not rounded into `floats`; the other one is NULL. */
    void (*finish_row)(const liana__resize_axis *columns, const float *row, int channels, uint8_t *bytes,
                       float *floats);
    /* floats[i] = bytes[i]. They do not overlap. */
    void (*widen)(const uint8_t *bytes, size_t count, float *floats);
} liana__resize_kernels;

const liana__resize_kernels *liana__resize_kernels_for(liana__isa isa);

extern const liana__resize_kernels liana__resize_kernels_generic;
#ifdef LIANA_X86
extern const liana__resize_kernels liana__resize_kernels_avx2;
extern const liana__resize_kernels liana__resize_kernels_avx512;
#endif

/* The tables and the row for the last sizes, kept for the next image. Nothing is computed or allocated again while the
 * sizes stay the same. One thread at a time. Zero-initialise; free with liana__resizer_free. */
typedef struct liana__resizer {
    liana__resize_axis rows;
    liana__resize_axis columns;
    float *row; /* one output row before it is resized horizontally: [width, channels] */
    size_t row_capacity;
    liana__resize_cut cut_rows; /* of a region */
    liana__resize_cut cut_columns;
    const liana__resize_kernels *kernels; /* NULL: those of this processor, as LIANA_MAX_ISA allows */
} liana__resizer;

typedef struct liana__resize_shape {
    int64_t height;
    int64_t width;
    int64_t to_height;
    int64_t to_width;
    int channels; /* 1 or 3 */
    bool antialias;
} liana__resize_shape;

/* Resizes src [height, width, channels] to dst [to_height, to_width, channels], which must not overlap. Values are
 * computed in float and, for u8, rounded to nearest (halves up). The floats keep their fractions, as in TensorFlow and
 * Keras. Equal sizes copy. Errors: INVALID_ARGUMENT (a size
 * below 1, other channels), OUT_OF_MEMORY. */
liana_status liana__resize_u8(liana__resizer *resizer, const liana__resize_shape *shape, const uint8_t *src,
                              uint8_t *dst, liana__error *error) LIANA_MUST_USE;
liana_status liana__resize_float(liana__resizer *resizer, const liana__resize_shape *shape, const uint8_t *src,
                                 float *dst, liana__error *error) LIANA_MUST_USE;

/* The same numbers as floats. Errors: those of finding the processor's instruction set. */
liana_status liana__resize_widen(liana__resizer *resizer, const uint8_t *src, size_t count, float *dst,
                                 liana__error *error) LIANA_MUST_USE;

/* The region of the input from which a region of the output is computed. Errors as above. */
liana_status liana__resize_find_region(liana__resizer *resizer, const liana__resize_shape *shape,
                                       const liana__image_region *region, liana__image_region *needed,
                                       liana__error *error) LIANA_MUST_USE;
/* Computes only a region of the output, at its place in dst [to_height, to_width, channels]; other pixels stay. The
 * bits are those of the whole. `src` has at least the needed region of the input, which begins at its top left. Errors
 * as above. */
liana_status liana__resize_region_u8(liana__resizer *resizer, const liana__resize_shape *shape,
                                     const liana__image_region *region, const liana__image *src, uint8_t *dst,
                                     liana__error *error) LIANA_MUST_USE;

void liana__resizer_free(liana__resizer *resizer);

#endif
