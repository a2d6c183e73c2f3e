/* Bytes of images of all kinds: decoded or refused with a message, within the limit on pixels, and probed to the same
 * size. A region of a whole image that can be decoded can be as well, with the same pixels. */
#include "formats/image.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void demand(bool condition)
{
    if (!condition) abort();
}

/* A region that the bytes themselves say, so that each input has its own. */
typedef struct wish {
    uint32_t hash;
    liana__image_region chosen;
    int64_t height;
    int64_t width;
} wish;

static void choose_region(void *user, int64_t height, int64_t width, liana__image_region *region)
{
    wish *own = user;
    demand(region->height == height && region->width == width && height > 0 && width > 0);
    uint32_t draw[4];
    for (int i = 0; i < 4; i++) draw[i] = (own->hash = own->hash * 1664525 + 1013904223) >> 8;
    region->height = 1 + draw[0] % height;
    region->width = 1 + draw[1] % width;
    region->top = draw[2] % (height - region->height + 1);
    region->left = draw[3] % (width - region->width + 1);
    own->chosen = *region;
    own->height = height;
    own->width = width;
}

static void check_part(const uint8_t *bytes, size_t size, const liana__image_options *options,
                       const liana__image *whole)
{
    liana__error error = {0};
    liana__image image = {0};
    liana__image_options partial = *options;
    wish own = {.hash = (uint32_t)size};
    for (size_t i = 0; i < size; i++) own.hash = own.hash * 31 + bytes[i];
    partial.choose_region = choose_region;
    partial.user = &own;
    demand(liana__image_decode(bytes, size, &partial, &image, &error) == LIANA_OK);
    demand(image.channels == whole->channels);
    /* Nobody may be asked: then it is all of the image. */
    liana__image_region region = own.height ? own.chosen : (liana__image_region){0, 0, whole->height, whole->width};
    demand(!own.height || (own.height == whole->height && own.width == whole->width));
    demand(image.top >= 0 && image.top <= region.top && image.top + image.height >= region.top + region.height);
    demand(image.left >= 0 && image.left <= region.left && image.left + image.width >= region.left + region.width);
    for (int64_t y = region.top; y < region.top + region.height; y++) {
        const uint8_t *found =
            image.pixels + ((y - image.top) * image.width + region.left - image.left) * image.channels;
        const uint8_t *expected = whole->pixels + (y * whole->width + region.left) * whole->channels;
        demand(memcmp(found, expected, (size_t)(region.width * image.channels)) == 0);
    }
    liana__image_free(&image);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    liana__error error = {0};
    liana__image image = {0}, header = {0};
    enum { MAX_PIXELS = 1 << 18 };
    for (int channels = 0; channels <= 3; channels++) {
        if (channels == 2) continue;
        liana__image_options options = {.channels = channels, .max_pixels = MAX_PIXELS};
        if (liana__image_decode(bytes, size, &options, &image, &error) != LIANA_OK) {
            demand(image.height == 0 && error.message[0] && error.status != LIANA_OK);
            continue;
        }
        demand(image.height * image.width <= MAX_PIXELS && (image.channels == 1 || image.channels == 3));
        demand(!channels || image.channels == channels);
        demand(liana__image_probe(bytes, size, &options, &header, &error) == LIANA_OK);
        demand(header.height == image.height && header.width == image.width);
        const volatile uint8_t *each = image.pixels; /* every byte, for the address sanitizer to see */
        for (int64_t i = 0; i < image.height * image.width * image.channels; i++) (void)each[i];
        check_part(bytes, size, &options, &image);
        options.least_height = options.least_width = 1 + (int64_t)(size % 64);
        if (liana__image_decode(bytes, size, &options, &image, &error) == LIANA_OK) {
            check_part(bytes, size, &options, &image);
        }
    }
    liana__image_free(&image);
    liana__image_free(&header);
    return 0;
}
