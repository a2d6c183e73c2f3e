/* Finds the kind of an image by its bytes, and chooses the decoder. */
#include "formats/image.h"

#include "base/little_endian.h"
#include "base/memory.h"
#include "formats/image_internal.h"
#include "formats/sniff.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Text may begin with "BM" too: the size of the second header decides. */
static bool is_bmp(const uint8_t *data, size_t size)
{
    static const uint32_t headers[] = {12, 40, 52, 56, 64, 108, 124};
    if (size < 18 || data[0] != 'B' || data[1] != 'M') return false;
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        if (liana__load_u32(data + 14) == headers[i]) return true;
    }
    return false;
}

static bool begins(const uint8_t *data, size_t size, const char *with, size_t length)
{
    return size >= length && memcmp(data, with, length) == 0;
}

liana__image_kind liana__image_sniff(const void *bytes, size_t size)
{
    const uint8_t *data = bytes;
    if (begins(data, size, "\xff\xd8\xff", 3)) return LIANA__IMAGE_JPEG;
    if (begins(data, size, "\x89PNG\r\n\x1a\n", 8)) return LIANA__IMAGE_PNG;
    if (begins(data, size, "GIF87a", 6) || begins(data, size, "GIF89a", 6)) return LIANA__IMAGE_GIF;
    if (begins(data, size, "RIFF", 4) && size >= 12 && memcmp(data + 8, "WEBP", 4) == 0) return LIANA__IMAGE_WEBP;
    if (begins(data, size, "II*\0", 4) || begins(data, size, "MM\0*", 4)) return LIANA__IMAGE_TIFF;
    return is_bmp(data, size) ? LIANA__IMAGE_BMP : LIANA__IMAGE_UNKNOWN;
}

static bool all_zero(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (data[i]) return false;
    }
    return true;
}

/* Describes bytes: "a GIF image ('GIF89a...')", "text ('id,label...')", "empty", "9 bytes that start with 01 02".
 * Returns `buffer`, which needs at most 160 bytes. */
static const char *describe_bytes(const uint8_t *data, size_t size, char *buffer, size_t buffer_size)
{
    const char *known = liana__sniff(data, size);
    size_t shown = size < 16 ? size : 16;
    if (size == 0) {
        snprintf(buffer, buffer_size, "empty");
    } else if (known && isprint(data[0])) {
        char text[17] = {0};
        for (size_t i = 0; i < shown; i++) text[i] = isprint(data[i]) ? (char)data[i] : '.';
        snprintf(buffer, buffer_size, "%s ('%s%s')", known, text, size > shown ? "..." : "");
    } else if (known) {
        snprintf(buffer, buffer_size, "%s", known);
    } else if (all_zero(data, size)) {
        snprintf(buffer, buffer_size, "%zu zero bytes", size);
    } else {
        int length = snprintf(buffer, buffer_size, "%zu bytes that start with", size);
        for (size_t i = 0; i < shown && i < 8 && length > 0 && (size_t)length < buffer_size; i++) {
            length += snprintf(buffer + length, buffer_size - (size_t)length, " %02x", data[i]);
        }
    }
    return buffer;
}

typedef liana_status decoder(const uint8_t *bytes, size_t size, const liana__image_options *options, bool probe,
                             liana__image *image, liana__error *error);
static decoder *const decoders[] = {
    [LIANA__IMAGE_UNKNOWN] = NULL,
    [LIANA__IMAGE_JPEG] = liana__jpeg_decode,
    [LIANA__IMAGE_PNG] = liana__png_decode,
    [LIANA__IMAGE_BMP] = liana__bmp_decode,
    [LIANA__IMAGE_GIF] = liana__gif_decode,
    [LIANA__IMAGE_WEBP] = liana__webp_decode,
    [LIANA__IMAGE_TIFF] = liana__tiff_decode,
};

static liana_status decode_known(const void *bytes, size_t size, const liana__image_options *options, bool probe,
                                 liana__image *image, liana__error *error)
{
    static const liana__image_options defaults;
    char buffer[160];
    if (!options) options = &defaults;
    image->height = image->width = 0;
    liana_status status = LIANA_INVALID_DATA;
    decoder *decode = decoders[liana__image_sniff(bytes, size)];
    if (decode) {
        status = decode(bytes, size, options, probe, image, error);
    } else {
        liana__fail(error, LIANA_INVALID_DATA,
                    "not an image that can be read: expected a " LIANA__IMAGE_KINDS ", but it is %s",
                    describe_bytes(bytes, size, buffer, sizeof buffer));
    }
    if (status != LIANA_OK) image->height = image->width = 0;
    return status;
}

liana_status liana__image_decode(const void *bytes, size_t size, const liana__image_options *options,
                                 liana__image *image, liana__error *error)
{
    return decode_known(bytes, size, options, false, image, error);
}

liana_status liana__image_probe(const void *bytes, size_t size, const liana__image_options *options,
                                liana__image *image, liana__error *error)
{
    return decode_known(bytes, size, options, true, image, error);
}
