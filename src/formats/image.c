#include "formats/image.h"

#include "base/memory.h"
#include "formats/image_codec.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint8_t PNG_SIGNATURE[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};

liana__image_kind liana__image_sniff(const void *bytes, size_t size)
{
    const uint8_t *data = bytes;
    if (size >= 3 && data[0] == 0xff && data[1] == 0xd8 && data[2] == 0xff) return LIANA__IMAGE_JPEG;
    if (size >= sizeof PNG_SIGNATURE && memcmp(data, PNG_SIGNATURE, sizeof PNG_SIGNATURE) == 0) return LIANA__IMAGE_PNG;
    return LIANA__IMAGE_UNKNOWN;
}

/* The formats that people mistake for images that can be read here, by their first bytes. */
static const struct {
    size_t offset, length;
    const char *bytes, *name;
} KNOWN[] = {
    {0, 4, "GIF8", "a GIF image"},
    {8, 4, "WEBP", "a WebP image"},
    {0, 2, "BM", "a BMP image"},
    {0, 4, "II*\0", "a TIFF image"},
    {0, 4, "MM\0*", "a TIFF image"},
    {4, 8, "ftypavif", "an AVIF image"},
    {4, 8, "ftypheic", "a HEIC image"},
    {0, 12, "\0\0\0\x0cjP  \r\n\x87\n", "a JPEG 2000 image"},
    {0, 4, "\xff\x4f\xff\x51", "a JPEG 2000 codestream"},
    {0, 2, "\xff\x0a", "a JPEG XL image"},
    {0, 2, "\x1f\x8b", "gzip data"},
    {0, 4, "PK\3\4", "a zip archive"},
    {0, 4, "%PDF", "a PDF document"},
};

static bool looks_like_text(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (!isprint(data[i]) && !isspace(data[i])) return false;
    }
    return true;
}

static bool all_zero(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (data[i]) return false;
    }
    return true;
}

const char *liana__bytes_describe(const void *bytes, size_t size, char *buffer, size_t buffer_size)
{
    const uint8_t *data = bytes;
    size_t shown = size < 16 ? size : 16;
    switch (liana__image_sniff(bytes, size)) {
    case LIANA__IMAGE_JPEG: snprintf(buffer, buffer_size, "a JPEG image"); return buffer;
    case LIANA__IMAGE_PNG: snprintf(buffer, buffer_size, "a PNG image"); return buffer;
    case LIANA__IMAGE_UNKNOWN: break;
    }
    if (size == 0) {
        snprintf(buffer, buffer_size, "empty");
        return buffer;
    }
    for (size_t i = 0; i < sizeof KNOWN / sizeof *KNOWN; i++) {
        if (size < KNOWN[i].offset + KNOWN[i].length) continue;
        if (memcmp(data + KNOWN[i].offset, KNOWN[i].bytes, KNOWN[i].length) != 0) continue;
        snprintf(buffer, buffer_size, "%s", KNOWN[i].name);
        return buffer;
    }
    if (looks_like_text(data, shown)) {
        char text[17] = {0};
        for (size_t i = 0; i < shown; i++) text[i] = isspace(data[i]) ? ' ' : (char)data[i];
        snprintf(buffer, buffer_size, "text ('%s%s')", text, size > shown ? "..." : "");
        return buffer;
    }
    if (all_zero(data, size)) {
        snprintf(buffer, buffer_size, "%zu zero bytes", size);
        return buffer;
    }
    int length = snprintf(buffer, buffer_size, "%zu bytes that start with", size);
    for (size_t i = 0; i < shown && i < 8 && length > 0 && (size_t)length < buffer_size; i++) {
        length += snprintf(buffer + length, buffer_size - (size_t)length, " %02x", data[i]);
    }
    return buffer;
}

liana_status liana__image_check_size(const char *kind, int64_t height, int64_t width,
                                     const liana__image_options *options, liana__error *error)
{
    int64_t limit = options->max_pixels > 0 ? options->max_pixels : LIANA__IMAGE_MAX_PIXELS;
    if (height < 1 || width < 1) {
        return liana__fail(error, LIANA_INVALID_DATA, "the %s image is empty: %" PRId64 " x %" PRId64 " pixels", kind,
                           height, width);
    }
    if (height > limit / width) {
        return liana__fail(error, LIANA_OUT_OF_RANGE,
                           "the %s image is %" PRId64 " x %" PRId64 " pixels (height x width); at most %" PRId64
                           " pixels are decoded: is it damaged, or should it be made smaller first?",
                           kind, height, width, limit);
    }
    return LIANA_OK;
}

liana_status liana__image_check_encode(const char *kind, int64_t height, int64_t width, int channels, int64_t limit,
                                       liana__error *error)
{
    if (height < 1 || width < 1 || height > limit || width > limit) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "cannot write a %s of %" PRId64 " x %" PRId64 " pixels; each side must be 1 to %" PRId64,
                           kind, height, width, limit);
    }
    if (channels != 1 && channels != 3) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "cannot write a %s of %d channels; expected 1 or 3", kind,
                           channels);
    }
    return LIANA_OK;
}

liana_status liana__image_reserve_bytes(uint8_t **buffer, size_t *capacity, size_t size, liana__error *error)
{
    if (size <= *capacity) return LIANA_OK;
    uint8_t *bigger = liana__allocate_aligned(size);
    if (!bigger) return liana__fail(error, LIANA_OUT_OF_MEMORY, "out of memory for an image of %zu bytes", size);
    free(*buffer);
    *buffer = bigger;
    *capacity = size;
    return LIANA_OK;
}

liana_status liana__image_reserve(liana__image *image, int64_t height, int64_t width, int channels, liana__error *error)
{
    size_t size;
    if (__builtin_mul_overflow((size_t)height, (size_t)width, &size) ||
        __builtin_mul_overflow(size, (size_t)channels, &size)) {
        return liana__fail_memory(error, "an image");
    }
    LIANA_TRY(liana__image_reserve_bytes(&image->pixels, &image->capacity, size, error));
    image->height = height;
    image->width = width;
    image->channels = channels;
    return LIANA_OK;
}

static liana_status decode(const void *bytes, size_t size, const liana__image_options *options, bool probe,
                           liana__image *image, liana__error *error)
{
    static const liana__image_options defaults;
    char buffer[80];
    if (!options) options = &defaults;
    image->height = image->width = 0;
    liana_status status = LIANA_OK;
    switch (liana__image_sniff(bytes, size)) {
    case LIANA__IMAGE_JPEG: status = liana__jpeg_decode(bytes, size, options, probe, image, error); break;
    case LIANA__IMAGE_PNG: status = liana__png_decode(bytes, size, options, probe, image, error); break;
    case LIANA__IMAGE_UNKNOWN:
        return liana__fail(error, LIANA_INVALID_DATA,
                           "not an image that can be read: expected a JPEG or PNG, found what looks like %s",
                           liana__bytes_describe(bytes, size, buffer, sizeof buffer));
    }
    if (status != LIANA_OK) image->height = image->width = 0;
    return status;
}

liana_status liana__image_decode(const void *bytes, size_t size, const liana__image_options *options,
                                 liana__image *image, liana__error *error)
{
    return decode(bytes, size, options, false, image, error);
}

liana_status liana__image_probe(const void *bytes, size_t size, const liana__image_options *options,
                                liana__image *image, liana__error *error)
{
    return decode(bytes, size, options, true, image, error);
}

void liana__image_free(liana__image *image)
{
    free(image->pixels);
    free(image->spare);
    *image = (liana__image){0};
}
