/* What both image formats share: choosing the decoder, memory and checks. */
#include "formats/image.h"

#include "base/memory.h"
#include "formats/image_internal.h"
#include "formats/sniff.h"

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
                           "the %s image is %" PRId64 " x %" PRId64
                           " pixels (height x width); expected at most %" PRId64
                           " pixels; is it damaged? If not, make it smaller first",
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

liana_status liana__image_reserve_bytes(const liana__image *image, uint8_t **buffer, size_t *capacity, size_t size,
                                        liana__error *error)
{
    if (size <= *capacity) return LIANA_OK;
    LIANA_TRY(liana__memory_share_ask(image->share, size - *capacity, "an image", error));
    liana__free_large(*buffer, *capacity);
    *capacity = 0;
    *buffer = liana__allocate_aligned(size);
    if (!*buffer) return liana__fail(error, LIANA_OUT_OF_MEMORY, "out of memory for an image of %zu bytes", size);
    *capacity = size;
    return LIANA_OK;
}

liana_status liana__image_reserve(liana__image *image, int64_t height, int64_t width, int channels, liana__error *error)
{
    size_t size;
    if (__builtin_mul_overflow((size_t)height, (size_t)width, &size) ||
        __builtin_mul_overflow(size, (size_t)channels, &size) ||
        __builtin_add_overflow(size, (size_t)LIANA__IMAGE_OFFSET, &size)) {
        return liana__fail_memory(error, "an image");
    }
    LIANA_TRY(liana__image_reserve_bytes(image, &image->memory, &image->capacity, size, error));
    image->pixels = image->memory + LIANA__IMAGE_OFFSET;
    image->height = height;
    image->width = width;
    image->channels = channels;
    return LIANA_OK;
}

liana_status liana__image_place(liana__image *image, const liana__image_options *options, int64_t height, int64_t width,
                                int channels, liana__error *error)
{
    const liana__image_target *target = &options->target;
    image->top = image->left = 0;
    bool fits = target->pixels && target->height == height && target->width == width &&
                (options->channels == 0 || options->channels == channels);
    if (!fits) return liana__image_reserve(image, height, width, channels, error);
    image->pixels = target->pixels;
    image->height = height;
    image->width = width;
    image->channels = channels;
    return LIANA_OK;
}

static liana_status decode(const void *bytes, size_t size, const liana__image_options *options, bool probe,
                           liana__image *image, liana__error *error)
{
    static const liana__image_options defaults;
    char buffer[160];
    if (!options) options = &defaults;
    image->height = image->width = 0;
    liana_status status = LIANA_INVALID_DATA;
    switch (liana__image_sniff(bytes, size)) {
    case LIANA__IMAGE_JPEG: status = liana__jpeg_decode(bytes, size, options, probe, image, error); break;
    case LIANA__IMAGE_PNG: status = liana__png_decode(bytes, size, options, probe, image, error); break;
    case LIANA__IMAGE_UNKNOWN:
        liana__fail(error, LIANA_INVALID_DATA, "not an image that can be read: expected a JPEG or PNG, but it is %s",
                    describe_bytes(bytes, size, buffer, sizeof buffer));
        break;
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
    liana__free_large(image->memory, image->capacity);
    liana__free_large(image->spare, image->spare_capacity);
    *image = (liana__image){0};
}
