/* The memory of images, and the checks of their sizes. */
#include "formats/image_internal.h"

#include "base/memory.h"

#include <inttypes.h>

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

static liana_status reserve(const liana__image *image, uint8_t **buffer, size_t *capacity, size_t size,
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

liana_status liana__image_reserve_spare(liana__image *image, size_t size, liana__error *error)
{
    return reserve(image, &image->spare, &image->spare_capacity, size, error);
}

liana_status liana__image_reserve(liana__image *image, int64_t height, int64_t width, int channels, liana__error *error)
{
    size_t size;
    if (__builtin_mul_overflow((size_t)height, (size_t)width, &size) ||
        __builtin_mul_overflow(size, (size_t)channels, &size) ||
        __builtin_add_overflow(size, (size_t)LIANA__IMAGE_OFFSET, &size)) {
        return liana__fail_memory(error, "an image");
    }
    LIANA_TRY(reserve(image, &image->memory, &image->capacity, size, error));
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

void liana__image_free(liana__image *image)
{
    liana__free_large(image->memory, image->capacity);
    liana__free_large(image->spare, image->spare_capacity);
    *image = (liana__image){0};
}
