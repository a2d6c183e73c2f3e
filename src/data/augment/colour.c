/* Changes of the values of pixels, each for itself. */
#include "data/augment/adjust.h"

#include <stddef.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static size_t num_pixels(const liana__augment_call *call)
{
    return (size_t)(call->shape.height * call->shape.width);
}

void liana__adjust_linear(const liana__augment_call *call, const double scale[3], const double offset[3])
{
    float scales[LIANA__PATTERN], offsets[LIANA__PATTERN];
    for (int i = 0; i < LIANA__PATTERN; i++) {
        scales[i] = (float)scale[i % call->shape.channels];
        offsets[i] = (float)offset[i % call->shape.channels];
    }
    call->kernels->linear(call->pixels, liana__augment_size(&call->shape), scales, offsets);
}

void liana__adjust_saturation(const liana__augment_call *call, double factor)
{
    if (call->shape.channels == 3) call->kernels->saturate(call->pixels, num_pixels(call), (float)factor);
}

void liana__adjust_contrast(const liana__augment_call *call, double factor, bool by_channel)
{
    double means[3], grey, offset[3];
    call->kernels->sums(call->pixels, num_pixels(call), call->shape.channels, means, &grey);
    for (int c = 0; c < call->shape.channels; c++) {
        offset[c] = (1 - factor) * (by_channel ? means[c] : grey) / (double)num_pixels(call);
    }
    liana__adjust_linear(call, (double[3]){factor, factor, factor}, offset);
}

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
    double change = 255 * liana__draw_between(call->draws, -options->factor, options->factor);
    liana__adjust_linear(call, (double[3]){1, 1, 1}, (double[3]){change, change, change});
    return LIANA_OK;
}

const liana__augmentation liana__augmentation_random_brightness = {
    .name = "random_brightness",
    .doc = "Adds the same to all values, as Keras does.",
    .options = &brightness_table,
    .apply = brighten,
};

/* ---- random_contrast, random_saturation ---- */

static const liana__field contrast_fields[] = {
    FACTOR("0.2", 1, "Differences are multiplied by a number from 1 - factor to 1 + factor."),
    LIANA__AUGMENT_FIELDS("1.0"),
};
static const liana__fields contrast_table = {"factor", sizeof(factor_options), COUNT(contrast_fields), contrast_fields};

static double draw_factor(const liana__augment_call *call)
{
    const factor_options *options = call->options;
    return liana__draw_between(call->draws, 1 - options->factor, 1 + options->factor);
}

static liana_status change_contrast(const liana__augment_call *call)
{
    liana__adjust_contrast(call, draw_factor(call), true);
    return LIANA_OK;
}

const liana__augmentation liana__augmentation_random_contrast = {
    .name = "random_contrast",
    .doc = "Moves the values of each channel away from their mean, or towards it, as Keras does.",
    .options = &contrast_table,
    .apply = change_contrast,
};

static liana_status change_saturation(const liana__augment_call *call)
{
    liana__adjust_saturation(call, draw_factor(call));
    return LIANA_OK;
}

const liana__augmentation liana__augmentation_random_saturation = {
    .name = "random_saturation",
    .doc = "Moves colours away from their grey, or towards it, as torchvision does.",
    .options = &contrast_table,
    .apply = change_saturation,
};

/* ---- random_hue ---- */

static const liana__field hue_fields[] = {
    FACTOR("0.1", 0.5, "The largest turn of the colour circle, to either side, as a share of it."),
    LIANA__AUGMENT_FIELDS("1.0"),
};
static const liana__fields hue_table = {"random_hue", sizeof(factor_options), COUNT(hue_fields), hue_fields};

static liana_status change_hue(const liana__augment_call *call)
{
    const factor_options *options = call->options;
    double turn = liana__draw_between(call->draws, -options->factor, options->factor);
    if (call->shape.channels == 3) call->kernels->turn_hue(call->pixels, num_pixels(call), (float)turn);
    return LIANA_OK;
}

const liana__augmentation liana__augmentation_random_hue = {
    .name = "random_hue",
    .doc = "Turns all hues by the same angle; grey stays grey.",
    .options = &hue_table,
    .apply = change_hue,
};

/* ---- random_grayscale ---- */

static const liana__field grey_fields[] = {LIANA__AUGMENT_FIELDS("0.1")};
static const liana__fields grey_table = {"random_grayscale", sizeof(liana__augment_common), COUNT(grey_fields),
                                         grey_fields};

static liana_status make_grey(const liana__augment_call *call)
{
    liana__adjust_saturation(call, 0);
    return LIANA_OK;
}

const liana__augmentation liana__augmentation_random_grayscale = {
    .name = "random_grayscale",
    .doc = "Takes the colour away; there are three channels as before.",
    .options = &grey_table,
    .apply = make_grey,
};
