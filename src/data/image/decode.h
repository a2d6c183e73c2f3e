/* decode.h - from a record to pixels of a fixed shape. */
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
    bool fast;          /* JPEGs at an eighth, a quarter or half of their size where that is still enough */
    int64_t max_pixels; /* of an encoded image; 0: LIANA__IMAGE_MAX_PIXELS */
} liana__decode_options;

/* What one thread decodes with; its memory is kept from record to record. Zero-initialise; free with
 * liana__decoder_free. */
typedef struct liana__decoder {
    liana__image image;
    liana__resizer resizer;
    /* Between the two halves of decoding a record: what is resized, borrowed from `image` or the record. */
    liana__image from;
    liana__resize_shape shape;
} liana__decoder;

/* Decodes the record's image, turns it grey or into colour as asked, and resizes it into
 * dst [height, width, channels]. With `region` (NULL: all of it) only that region of dst is written as in the whole;
 * the rest is undefined, and no more is decoded than it takes. Errors: those of decoding and resizing; they do not name
 * the record. */
liana_status liana__decode_record(liana__decoder *decoder, const liana__decode_options *options,
                                  const liana__record *record, const liana__image_region *region, uint8_t *dst,
                                  liana__error *error) LIANA_MUST_USE;

/* The two halves of it, for those who measure them. The first one may already write dst and leave nothing to do. */
liana_status liana__decode_pixels(liana__decoder *decoder, const liana__decode_options *options,
                                  const liana__record *record, const liana__image_region *region, uint8_t *dst,
                                  liana__error *error) LIANA_MUST_USE;
liana_status liana__decode_resize(liana__decoder *decoder, const liana__image_region *region, uint8_t *dst,
                                  liana__error *error) LIANA_MUST_USE;

typedef struct liana__probe {
    int64_t height;
    int64_t width;
    int channels;
    bool encoded; /* a file, whose channels are its own matter; else pixels, whose channels are those of all */
} liana__probe;

/* The size and channels of the source's first image (with skip_damage: the first that can be read), for data that are
 * to be taken as they are. Other images may differ: they will be resized. Errors name the file and the record. */
liana_status liana__decode_probe(const liana__source *source, liana__probe *probe, liana__error *error) LIANA_MUST_USE;

/* The bytes that it keeps. */
size_t liana__decoder_bytes(const liana__decoder *decoder);
void liana__decoder_free(liana__decoder *decoder);

#endif
