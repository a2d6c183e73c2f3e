/* Changes of the values of pixels, each for itself. */
#include "data/augment/augment.h"

#include <stddef.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

typedef struct factor_options {
    liana__augment_common common;
    double factor;
} factor_options;

#define FACTOR(default_factor, largest, text)                                                     \
    {                                                                                             \
        .name = "factor", .kind = LIANA__FIELD_FLOAT, .offset = offsetof(factor_options, factor), \
        .default_text = default_factor, .maximum = largest, .doc = text                           \
    }

/* ---- random_brightness ---- */

static const liana__field brightness_fields[] = {
    FACTOR("0.2", 1, "The most that is added or subtracted, as a share of the range from black to white."),
    LIANA__AUGMENT_FIELDS("1.0"),
};
static const liana__fields brightness_table = {"random_brightness", sizeof(factor_options), COUNT(brightness_fields),
                                               brightness_fields};

static liana_status brighten(const liana__augment_call *call)
{
    const factor_options *options = call->options;
    float scale[LIANA__PATTERN], offset[LIANA__PATTERN];
    float change = (float)(255 * liana__draw_between(call->draws, -options->factor, options->factor));
    for (int i = 0; i < LIANA__PATTERN; i++) {
        scale[i] = 1;
        offset[i] = change;
    }
    call->kernels->linear(call->pixels, liana__augment_size(&call->shape), scale, offset);
    return LIANA_OK;
}

const liana__augmentation liana__augmentation_random_brightness = {
    .name = "random_brightness",
    .doc = "Adds the same to all values, as Keras does.",
    .options = &brightness_table,
    .apply = brighten,
};
