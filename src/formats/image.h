/* image.h - JPEG and PNG: encoded bytes <-> u8 pixels. Safe to use from several threads, each with its own image. */
#ifndef LIANA_FORMATS_IMAGE_H
#define LIANA_FORMATS_IMAGE_H

#include "base/error.h"
#include "base/memory_pool.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum liana__image_kind {
    LIANA__IMAGE_UNKNOWN,
    LIANA__IMAGE_JPEG,
    LIANA__IMAGE_PNG,
} liana__image_kind;

/* libjpeg-turbo writes rows that are aligned to vectors past the caches. Pixels that are read again at once, to be
 * resized or augmented, must not be: they begin so many bytes after an aligned place. */
enum { LIANA__IMAGE_OFFSET = 8 };

/* A rectangle of an image, in pixels. */
typedef struct liana__image_region {
    int64_t top;
    int64_t left;
    int64_t height;
    int64_t width;
} liana__image_region;

/* Pixels in memory that is kept and reused by the next decode. Zero-initialise; free with liana__image_free. */
typedef struct liana__image {
    uint8_t *pixels; /* [height, width, channels], rows without gaps: `memory`, or the target of the options */
    int64_t height;
    int64_t width;
    int channels; /* 1 (grey) or 3 (red, green, blue) */
    int64_t top;  /* of the whole image, where the first pixel is: 0, 0 unless a region was asked for */
    int64_t left;
    uint8_t *memory; /* the image's own; pixels begin LIANA__IMAGE_OFFSET bytes on */
    size_t capacity;
    uint8_t *spare; /* where a rotated image is decoded first */
    size_t spare_capacity;
    liana__memory_share *share; /* that memory is taken from, the codec's own too; NULL: without a bound */
} liana__image;

/* The largest image decoded unless told otherwise, in pixels: a quarter of a GiB of RGB, Pillow's limit too. */
#define LIANA__IMAGE_MAX_PIXELS INT64_C(178956970)

/* Memory of the caller's for an image of one size. */
typedef struct liana__image_target {
    uint8_t *pixels; /* NULL: none */
    int64_t height;
    int64_t width;
} liana__image_target;

typedef struct liana__image_options {
    int channels;            /* 1 or 3; 0 keeps what the file has (1 for grey files, 3 for all others) */
    int64_t max_pixels;      /* height x width above this is refused before memory is taken; 0: the default above */
    bool ignore_orientation; /* do not turn the image as its EXIF orientation says */
    /* An image of just this size (and `channels`, if not 0) is written there and nowhere else. What a failure leaves
     * there is undefined. */
    liana__image_target target;
    /* A JPEG may be decoded at an eighth, a quarter or half of its size where that is not below this; 0, 0: never. Its
     * blocks are then averaged in the frequency domain, at less cost than computing all pixels. */
    int64_t least_height;
    int64_t least_width;
    /* Which region of the image is needed (NULL: all of it): called once its size is known, upright and as it is
     * decoded, with `region` set to all of it. What is decoded then is no smaller than that region, and within it each
     * pixel is what decoding all would give; around it pixels may be others. The region must not be empty and lie
     * within the image. */
    void (*choose_region)(void *user, int64_t height, int64_t width, liana__image_region *region);
    void *user;
} liana__image_options;

/* What the bytes are, by their first bytes alone. */
liana__image_kind liana__image_sniff(const void *bytes, size_t size);

/* Decodes a JPEG or PNG.
 * JPEG: baseline and progressive; accurate integer DCT and smooth chroma upsampling (libjpeg's defaults, so pixels
 * equal those of Pillow and TensorFlow's INTEGER_ACCURATE); CMYK and YCCK become RGB; the EXIF orientation is applied.
 * PNG: all colour types, bit depths and interlacing. As in TensorFlow's decode_png, alpha and transparency are
 * dropped, not blended, and 16-bit samples keep their high byte.
 * Colour to grey is 0.299 R + 0.587 G + 0.114 B (the JPEG's own luma where it has one).
 * A region: of a JPEG only the rows and columns of blocks that it needs are computed. What comes behind its last row is
 * not read where the file ends with its end marker as it should, so damage there is not seen, but a cut file is. A PNG
 * is decoded whole: its checksums cover all rows.
 * Errors: DATA_LOSS for truncated or damaged bytes (libjpeg would paint the missing part grey), INVALID_DATA for bytes
 * that are no JPEG or PNG (the message says what they look like), OUT_OF_RANGE for too many pixels, OUT_OF_MEMORY.
 * The image is empty (height 0) after a failure. */
liana_status liana__image_decode(const void *bytes, size_t size, const liana__image_options *options,
                                 liana__image *image, liana__error *error) LIANA_MUST_USE;

/* Reads only the header: height and width (as decode would give them) and the file's own channels go into `image`,
 * no pixels. Errors as above. */
liana_status liana__image_probe(const void *bytes, size_t size, const liana__image_options *options,
                                liana__image *image, liana__error *error) LIANA_MUST_USE;

void liana__image_free(liana__image *image);

/* Makes room for pixels of this shape in the image's own memory and sets it. Errors: OUT_OF_MEMORY. */
liana_status liana__image_reserve(liana__image *image, int64_t height, int64_t width, int channels, liana__error *error)
    LIANA_MUST_USE;

/* ITU-R BT.601 luma in 16-bit fixed point, rounded to nearest (the weights of Pillow's convert("L")). */
static inline uint8_t liana__luma(uint8_t red, uint8_t green, uint8_t blue)
{
    return (uint8_t)((red * 19595u + green * 38470u + blue * 7471u + 0x8000u) >> 16);
}

/* Encode pixels [height, width, channels] (1 or 3), appending the bytes to `out`. Equal pixels give equal bytes.
 * Errors: INVALID_ARGUMENT, OUT_OF_MEMORY. */
liana_status liana__png_encode(const uint8_t *pixels, int64_t height, int64_t width, int channels, liana__text *out,
                               liana__error *error) LIANA_MUST_USE;
/* `quality` is libjpeg's, 1 to 100; chroma is stored at half the resolution below 90, at full from there on. */
liana_status liana__jpeg_encode(const uint8_t *pixels, int64_t height, int64_t width, int channels, int quality,
                                liana__text *out, liana__error *error) LIANA_MUST_USE;

#endif
