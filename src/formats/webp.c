/* WebP through libwebp. */
#include "base/little_endian.h"
#include "formats/image_calls.h"
#include "formats/image_internal.h"

#include <string.h>

/* The orientation in the chunk EXIF; 1 where there is none, or it is damaged. */
static int read_orientation(const uint8_t *bytes, size_t size)
{
    enum { RIFF_HEADER = 12, CHUNK_HEADER = 8, EXIF_HEADER = 6, MAX_EXIF = 1 << 16 };
    uint8_t exif[EXIF_HEADER + MAX_EXIF] = "Exif\0";
    size_t at = RIFF_HEADER;
    while (at < size && size - at >= CHUNK_HEADER) {
        const uint8_t *data = bytes + at + CHUNK_HEADER;
        size_t length = liana__load_u32(bytes + at + 4), left = size - at - CHUNK_HEADER;
        if (length > left) return 1;
        if (memcmp(bytes + at, "EXIF", 4) == 0) {
            /* Some programs write the header of a JPEG's block, others do not. */
            if (length >= EXIF_HEADER && memcmp(data, "Exif\0", EXIF_HEADER) == 0) {
                return liana__exif_orientation(data, length);
            }
            if (length > MAX_EXIF) return 1;
            memcpy(exif + EXIF_HEADER, data, length);
            return liana__exif_orientation(exif, EXIF_HEADER + length);
        }
        at += CHUNK_HEADER + length + (length & 1);
    }
    return 1;
}

static liana_status fail(VP8StatusCode code, liana__error *error)
{
    if (code == VP8_STATUS_OUT_OF_MEMORY) return liana__fail_memory(error, "a WebP image");
    const char *why = code == VP8_STATUS_NOT_ENOUGH_DATA ? "its data end too early" : "its data are not valid";
    return liana__fail(error, LIANA_DATA_LOSS, "the WebP image is damaged or truncated: %s", why);
}

liana_status liana__webp_decode(const uint8_t *bytes, size_t size, const liana__image_options *options, bool probe,
                                liana__image *image, liana__error *error)
{
    enum { WORKING_BYTES = 4 + 2 }; /* a pixel: more memory that libwebp needs for lossless images */
    WebPBitstreamFeatures found;
    LIANA_TRY(liana__library_load(&liana__webp_library.library, error));
    VP8StatusCode code = WebPGetFeaturesInternal(bytes, size, &found, WEBP_DECODER_ABI_VERSION);
    if (code != VP8_STATUS_OK) return fail(code, error);
    if (found.has_animation) {
        return liana__fail(error, LIANA_INVALID_DATA,
                           "the WebP image is an animation, which cannot be read; save one of its pictures");
    }
    const int64_t height = found.height, width = found.width;
    LIANA_TRY(liana__image_check_size("WebP", height, width, options, error));
    const int orientation = options->ignore_orientation ? 1 : read_orientation(bytes, size);
    if (liana__image_probed(probe, image, height, width, 3, orientation)) return LIANA_OK;
    const size_t pixels = (size_t)height * (size_t)width;
    LIANA_TRY(liana__memory_share_ask(image->share, WORKING_BYTES * pixels, "a WebP image", error));
    LIANA_TRY(liana__image_reserve_spare(image, 3 * pixels, error));
    if (!WebPDecodeRGBInto(bytes, size, image->spare, 3 * pixels, 3 * found.width)) {
        return fail(VP8_STATUS_BITSTREAM_ERROR, error);
    }
    return liana__image_finish(image, options, height, width, 3, orientation, error);
}
