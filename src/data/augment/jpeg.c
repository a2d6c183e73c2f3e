/* The traces that compression leaves. */
#include "base/scoped.h"
#include "data/augment/augment.h"
#include "formats/image.h"

#include <stddef.h>
#include <string.h>

typedef struct jpeg_options {
    liana_augment_common common;
    int64_t min_quality, max_quality;
} jpeg_options;

static const liana__field fields[] = {
    LIANA_OPTION_ROW(jpeg_options, min_quality, INT, .default_text = "50", .minimum = 1, .maximum = 100,
                     .doc = "The lowest quality, 1 to 100, as in libjpeg and TensorFlow."),
    LIANA_OPTION_ROW(jpeg_options, max_quality, INT, .default_text = "95", .minimum = 1, .maximum = 100,
                     .doc = "The highest quality."),
    LIANA_AUGMENT_ROWS("0.5"),
};

static liana_status prepare(liana_augment_setup *setup)
{
    const jpeg_options *options = setup->check->options;
    if (options->min_quality <= options->max_quality) return LIANA_OK;
    return liana_option_refuse(setup->check, NULL, "min_quality is %lld, expected at most max_quality, which is %lld",
                               (long long)options->min_quality, (long long)options->max_quality);
}

static liana_status compress(const liana_augment_call *call)
{
    const jpeg_options *options = call->options;
    const liana_image_shape *shape = &call->shape;
    int64_t quality =
        options->min_quality + liana__draw_below(call->draws, options->max_quality - options->min_quality + 1);
    LIANA__SCOPED(liana__text) bytes = {0};
    LIANA__SCOPED(liana__image) image = {0};
    LIANA_TRY(liana__jpeg_encode(call->pixels, shape->height, shape->width, shape->channels, (int)quality, &bytes,
                                 call->error));
    LIANA_TRY(liana__image_decode(bytes.data, bytes.length, &(liana__image_options){.channels = shape->channels},
                                  &image, call->error));
    memcpy(call->pixels, image.pixels, liana__augment_size(shape));
    return LIANA_OK;
}

const liana_augmentation_type liana__augmentation_random_jpeg_quality = {
    LIANA_PART(AUGMENTATION, liana_augmentation_type, "random_jpeg_quality",
               "Compresses the image as a JPEG of random quality and decodes it again (allocates memory each time).",
               LIANA_PART_OPTIONS(jpeg_options, fields)),
    .prepare = prepare,
    .apply = compress,
};
