/* image_internal.h - what image.c and the two codecs (jpeg.c, png.c) share. */
#ifndef LIANA_FORMATS_IMAGE_INTERNAL_H
#define LIANA_FORMATS_IMAGE_INTERNAL_H

#include "formats/image.h"

/* Decodes bytes that begin as a JPEG or PNG. With `probe`, reads only the header. */
liana_status liana__jpeg_decode(const uint8_t *bytes, size_t size, const liana__image_options *options, bool probe,
                                liana__image *image, liana__error *error) LIANA_MUST_USE;
liana_status liana__png_decode(const uint8_t *bytes, size_t size, const liana__image_options *options, bool probe,
                               liana__image *image, liana__error *error) LIANA_MUST_USE;

/* Fails with OUT_OF_RANGE if an image of this size must not be decoded. `kind` is "JPEG" or "PNG". */
liana_status liana__image_check_size(const char *kind, int64_t height, int64_t width,
                                     const liana__image_options *options, liana__error *error) LIANA_MUST_USE;

/* The checks of both encoders: sizes from 1 to `limit`, 1 or 3 channels. */
liana_status liana__image_check_encode(const char *kind, int64_t height, int64_t width, int channels, int64_t limit,
                                       liana__error *error) LIANA_MUST_USE;

/* Chooses the memory for pixels of this shape (the options' target, or the image's own memory), and sets the shape.
 * Errors: OUT_OF_MEMORY. */
liana_status liana__image_place(liana__image *image, const liana__image_options *options, int64_t height, int64_t width,
                                int channels, liana__error *error) LIANA_MUST_USE;

/* Makes room for `size` bytes in one of the image's buffers; the previous contents are lost. Errors: OUT_OF_MEMORY. */
liana_status liana__image_reserve_bytes(const liana__image *image, uint8_t **buffer, size_t *capacity, size_t size,
                                        liana__error *error) LIANA_MUST_USE;

#endif
