/* image_codec.h - what image.c and the two codecs behind it (jpeg.c, png.c) share. */
#ifndef LIANA_FORMATS_IMAGE_CODEC_H
#define LIANA_FORMATS_IMAGE_CODEC_H

#include "formats/image.h"

/* Decode bytes already known to start as a JPEG or PNG; with `probe` only the header. */
liana_status liana__jpeg_decode(const uint8_t *bytes, size_t size, const liana__image_options *options, bool probe,
                                liana__image *image, liana__error *error) LIANA_MUST_USE;
liana_status liana__png_decode(const uint8_t *bytes, size_t size, const liana__image_options *options, bool probe,
                               liana__image *image, liana__error *error) LIANA_MUST_USE;

/* OUT_OF_RANGE if an image of this size is not to be decoded. `kind` is "JPEG" or "PNG". */
liana_status liana__image_check_size(const char *kind, int64_t height, int64_t width,
                                     const liana__image_options *options, liana__error *error) LIANA_MUST_USE;

/* The checks that both encoders make: sizes from 1 to `limit`, 1 or 3 channels. */
liana_status liana__image_check_encode(const char *kind, int64_t height, int64_t width, int channels, int64_t limit,
                                       liana__error *error) LIANA_MUST_USE;

/* ITU-R BT.601 luma in 16-bit fixed point, rounded to nearest (the weights of Pillow's convert("L")). */
static inline uint8_t liana__luma(uint8_t red, uint8_t green, uint8_t blue)
{
    return (uint8_t)((red * 19595u + green * 38470u + blue * 7471u + 0x8000u) >> 16);
}

/* Room for `size` bytes in a kept buffer; what was in it is lost. Errors: OUT_OF_MEMORY. */
liana_status liana__image_reserve_bytes(uint8_t **buffer, size_t *capacity, size_t size, liana__error *error)
    LIANA_MUST_USE;

#endif
