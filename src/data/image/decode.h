/* decode.h - decodes a record to pixels of a fixed shape. */
#ifndef LIANA_DATA_DECODE_H
#define LIANA_DATA_DECODE_H

#include "data/image/resize.h"
#include "data/source/source.h"
#include "formats/image.h"

typedef struct liana__decode_options {
    int64_t height;
    int64_t width;
    int channels;       /* 1 or 3 */
    bool antialias;     /* when resizing */
    bool fractions;     /* pixels are floats, and resized ones are not rounded; else u8 */
    bool fast;          /* decode JPEGs at an eighth, a quarter or half of their size if that is enough */
    int64_t max_pixels; /* of an encoded image; 0: LIANA__IMAGE_MAX_PIXELS */
} liana__decode_options;

/* A thread's decoder. It keeps its memory from record to record. Zero-initialise; free with liana__decoder_free. */
typedef struct liana__decoder {
    liana__image image;
    liana__resizer resizer;
    /* Between the two halves of decoding: the image to resize, borrowed from `image` or the record. */
    liana__image from;
    liana__resize_shape shape;
    bool fractions;
} liana__decoder;

/* Bytes of an image of this shape. */
static inline size_t liana__decoded_bytes(const liana__decode_options *options)
{
    size_t values = (size_t)options->height * (size_t)options->width * (size_t)options->channels;
    return options->fractions ? values * sizeof(float) : values;
}

/* Decodes the record's image, converts it to grey or colour, and resizes it into dst [height, width, channels]: u8, or
 * float where fractions are kept. With `region` (NULL: all; only of u8), only that part of dst is written, with the
 * pixels of the whole; the rest is undefined, and only the needed part is decoded. Errors: those of decoding and
 * resizing; they do not name the record. */
liana_status liana__decode_record(liana__decoder *decoder, const liana__decode_options *options,
                                  const liana_source_record *record, const liana__image_region *region, void *dst,
                                  liana__error *error) LIANA_MUST_USE;

/* The two halves of it, to measure them. The first one may write dst already; then the second has nothing to do. */
liana_status liana__decode_pixels(liana__decoder *decoder, const liana__decode_options *options,
                                  const liana_source_record *record, const liana__image_region *region, void *dst,
                                  liana__error *error) LIANA_MUST_USE;
liana_status liana__decode_resize(liana__decoder *decoder, const liana__image_region *region, void *dst,
                                  liana__error *error) LIANA_MUST_USE;

typedef struct liana__probe {
    int64_t height;
    int64_t width;
    int channels;
    bool encoded; /* the image is a file, with channels of its own; false: pixels, with the channels of all images */
} liana__probe;

/* The size and channels of the source's first image (with skip_damage, the first that can be read), for data whose size
 * is not configured. Other images may differ; they will be resized. Errors name the file and the record. */
liana_status liana__decode_probe(const liana__source *source, liana__probe *probe, liana__error *error) LIANA_MUST_USE;

/* Bytes of memory that it keeps. */
size_t liana__decoder_bytes(const liana__decoder *decoder);
void liana__decoder_free(liana__decoder *decoder);

#endif
