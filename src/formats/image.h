/* image.h - images: encoded bytes (JPEG, PNG, BMP, GIF, WebP, TIFF) to u8 pixels, and back (JPEG, PNG). Safe on several
 * threads, each with its own image. */
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
    LIANA__IMAGE_BMP,
    LIANA__IMAGE_GIF,
    LIANA__IMAGE_WEBP,
    LIANA__IMAGE_TIFF,
} liana__image_kind;

/* The distance of pixels from an aligned address, in bytes. libjpeg-turbo writes aligned rows past the caches. Pixels
 * that are read again at once (resized or augmented) must be in the cache, so they are not aligned. */
enum { LIANA__IMAGE_OFFSET = 8 };

/* A rectangle of an image, in pixels. */
typedef struct liana__image_region {
    int64_t top;
    int64_t left;
    int64_t height;
    int64_t width;
} liana__image_region;

/* Pixels in memory that the next decode reuses. Zero-initialise; free with liana__image_free. */
typedef struct liana__image {
    uint8_t *pixels; /* [height, width, channels], rows without gaps: `memory`, or the target of the options */
    int64_t height;
    int64_t width;
    int channels; /* 1 (grey) or 3 (red, green, blue) */
    int64_t top;  /* position of the first pixel in the whole image: 0, 0 unless a part was asked for */
    int64_t left;
    uint8_t *memory; /* the image's own memory; pixels begin after LIANA__IMAGE_OFFSET bytes */
    size_t capacity;
    uint8_t *spare; /* memory in which a rotated image is first decoded */
    size_t spare_capacity;
    liana__memory_share *share; /* its memory, and the codec's, count for this share; NULL: no limit */
} liana__image;

/* The default limit for the size of an image, in pixels: a quarter of a GiB of RGB, as in Pillow. */
#define LIANA__IMAGE_MAX_PIXELS INT64_C(178956970)

/* The caller's memory for an image of one size. */
typedef struct liana__image_target {
    uint8_t *pixels; /* NULL: none */
    int64_t height;
    int64_t width;
} liana__image_target;

typedef struct liana__image_options {
    int channels;            /* 1 or 3; 0: as in the file (1 for grey files, 3 for all others) */
    int64_t max_pixels;      /* limit of height x width, checked before memory is allocated; 0: the default above */
    bool ignore_orientation; /* do not apply the EXIF orientation */
    /* An image of exactly this size (and `channels`, if not 0) is written there and nowhere else. After a failure, the
     * contents of this memory are undefined. */
    liana__image_target target;
    /* A JPEG may be decoded at an eighth, a quarter or half of its size, if that is not below this size; 0, 0: never.
     * Blocks are then averaged in the frequency domain, which costs less than computing all pixels. */
    int64_t least_height;
    int64_t least_width;
    /* Chooses the needed region of the image (NULL: all of it). Called when the decoded, upright size is known, with
     * `region` set to all of it. The region must not be empty, and must be inside the image. At least this region is
     * decoded. Its pixels are the same as if everything was decoded; pixels outside of it may differ. */
    void (*choose_region)(void *user, int64_t height, int64_t width, liana__image_region *region);
    void *user;
} liana__image_options;

/* The kinds, for messages: "JPEG, PNG, BMP, GIF, WebP or TIFF". */
#define LIANA__IMAGE_KINDS "JPEG, PNG, BMP, GIF, WebP or TIFF"

/* The kind of image, from its first bytes only. */
liana__image_kind liana__image_sniff(const void *bytes, size_t size);

/* Decodes an image of any kind above.
 *
 * JPEG: baseline and progressive, with accurate integer DCT and smooth chroma upsampling. These are libjpeg's defaults,
 * so pixels equal those of Pillow and TensorFlow's INTEGER_ACCURATE. CMYK and YCCK become RGB. The EXIF orientation is
 * applied.
 *
 * PNG: all colour types, bit depths and interlacing. As in TensorFlow's decode_png, alpha and transparency are dropped,
 * not blended, and 16-bit samples keep their high byte.
 *
 * GIF: the first picture; free pixels are black. BMP: without compression. WebP: no animation. TIFF: the first
 * image. Alpha is dropped as for PNG; that of a TIFF darkens, as libtiff has it. The EXIF orientation of PNG and WebP,
 * and TIFF's own, are applied too.
 *
 * Grey from colour: 0.299 R + 0.587 G + 0.114 B; the JPEG's own luma if it has one.
 *
 * A region: of a JPEG only the needed rows and columns of blocks are computed. Bytes behind the last needed row are not
 * read if the file ends with its end marker. So damage there is not noticed, but a cut file is. A PNG is decoded as a
 * whole, since its checksums cover all rows.
 *
 * Errors: DATA_LOSS for truncated or damaged bytes (libjpeg alone would paint the missing part grey), INVALID_DATA if
 * it has another format (the message names it if it can), UNIMPLEMENTED where the library of its kind is not
 * installed, OUT_OF_RANGE for too many pixels, OUT_OF_MEMORY. After a failure the image is empty (height 0). */
liana_status liana__image_decode(const void *bytes, size_t size, const liana__image_options *options,
                                 liana__image *image, liana__error *error) LIANA_MUST_USE;

/* Reads only the header: `image` gets height and width (as decode would give them) and the file's own number of
 * channels, but no pixels. Errors as above. */
liana_status liana__image_probe(const void *bytes, size_t size, const liana__image_options *options,
                                liana__image *image, liana__error *error) LIANA_MUST_USE;

void liana__image_free(liana__image *image);

/* Makes room for pixels of this shape in the image's own memory, and sets the shape. Errors: OUT_OF_MEMORY. */
liana_status liana__image_reserve(liana__image *image, int64_t height, int64_t width, int channels, liana__error *error)
    LIANA_MUST_USE;

/* ITU-R BT.601 luma in 16-bit fixed point, rounded to nearest (the weights of Pillow's convert("L")). */
static inline uint8_t liana__luma(uint8_t red, uint8_t green, uint8_t blue)
{
    return (uint8_t)((red * 19595u + green * 38470u + blue * 7471u + 0x8000u) >> 16);
}

/* Encodes pixels [height, width, channels] (1 or 3) and appends the bytes to `out`. Equal pixels give equal bytes.
 * Errors: INVALID_ARGUMENT, OUT_OF_MEMORY. */
liana_status liana__png_encode(const uint8_t *pixels, int64_t height, int64_t width, int channels, liana__text *out,
                               liana__error *error) LIANA_MUST_USE;
/* `quality` is libjpeg's, 1 to 100. Chroma is stored at half the resolution below 90, else at full resolution. */
liana_status liana__jpeg_encode(const uint8_t *pixels, int64_t height, int64_t width, int channels, int quality,
                                liana__text *out, liana__error *error) LIANA_MUST_USE;

#endif
