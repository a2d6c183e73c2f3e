/* JPEG and PNG bytes: decoded or refused with a message, within the limit on pixels, and probed to the same size. */
#include "formats/image.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void demand(bool condition)
{
    if (!condition) abort();
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
    }
    liana__image_free(&image);
    liana__image_free(&header);
    return 0;
}
