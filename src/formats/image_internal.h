/* image_internal.h - the common code of image.c and the codecs (jpeg.c, png.c, bmp.c, gif.c, webp.c, tiff.c). */
#ifndef LIANA_FORMATS_IMAGE_INTERNAL_H
#define LIANA_FORMATS_IMAGE_INTERNAL_H

#include "formats/image.h"

/* Decode bytes that begin as an image of this kind. With `probe`, reads only the header. */
liana_status liana__jpeg_decode(const uint8_t *bytes, size_t size, const liana__image_options *options, bool probe,
                                liana__image *image, liana__error *error) LIANA_MUST_USE;
liana_status liana__png_decode(const uint8_t *bytes, size_t size, const liana__image_options *options, bool probe,
                               liana__image *image, liana__error *error) LIANA_MUST_USE;

liana_status liana__bmp_decode(const uint8_t *bytes, size_t size, const liana__image_options *options, bool probe,
                               liana__image *image, liana__error *error) LIANA_MUST_USE;
liana_status liana__gif_decode(const uint8_t *bytes, size_t size, const liana__image_options *options, bool probe,
                               liana__image *image, liana__error *error) LIANA_MUST_USE;
liana_status liana__webp_decode(const uint8_t *bytes, size_t size, const liana__image_options *options, bool probe,
                                liana__image *image, liana__error *error) LIANA_MUST_USE;
liana_status liana__tiff_decode(const uint8_t *bytes, size_t size, const liana__image_options *options, bool probe,
                                liana__image *image, liana__error *error) LIANA_MUST_USE;

/* The EXIF orientation (Exif 2.3, tag 274) of a block that begins with "Exif" and two zero bytes: 1 to 8; 1 (as stored)
 * where there is none or it is damaged. */
int liana__exif_orientation(const uint8_t *exif, size_t size);

/* Whether an orientation swaps height and width. */
static inline bool liana__orientation_transposes(int orientation)
{
    return orientation >= 5;
}

/* Copies src [height, width, channels], turned as the orientation says; from 5 on dst is [width, height, channels]. */
void liana__image_turn(const uint8_t *src, int64_t height, int64_t width, int channels, int orientation, uint8_t *dst);

/* The region of the stored image that an upright region is; `height` and `width` are the stored ones. */
liana__image_region liana__image_turn_region(const liana__image_region *region, int64_t height, int64_t width,
                                             int orientation);

/* Sets the result of a probe of a stored image of this size and orientation. False: the image is to be decoded. */
bool liana__image_probed(bool probe, liana__image *image, int64_t height, int64_t width, int channels, int orientation);

/* The end of decoders that decode whole images: makes the image that the options ask for from the stored pixels in
 * image->spare, which are changed. `channels` (1 or 3) are those of the pixels. Errors: OUT_OF_MEMORY. */
liana_status liana__image_finish(liana__image *image, const liana__image_options *options, int64_t height,
                                 int64_t width, int channels, int orientation, liana__error *error) LIANA_MUST_USE;

/* Fails with OUT_OF_RANGE if an image of this size must not be decoded. `kind` is "JPEG", "PNG", ... */
liana_status liana__image_check_size(const char *kind, int64_t height, int64_t width,
                                     const liana__image_options *options, liana__error *error) LIANA_MUST_USE;

/* The checks of both encoders: sizes from 1 to `limit`, 1 or 3 channels. */
liana_status liana__image_check_encode(const char *kind, int64_t height, int64_t width, int channels, int64_t limit,
                                       liana__error *error) LIANA_MUST_USE;

/* Chooses the memory for pixels of this shape (the options' target, or the image's own memory), and sets the shape.
 * Errors: OUT_OF_MEMORY. */
liana_status liana__image_place(liana__image *image, const liana__image_options *options, int64_t height, int64_t width,
                                int channels, liana__error *error) LIANA_MUST_USE;

/* Makes room for `size` bytes in image->spare; the previous contents are lost. Errors: OUT_OF_MEMORY. */
liana_status liana__image_reserve_spare(liana__image *image, size_t size, liana__error *error) LIANA_MUST_USE;

#endif
