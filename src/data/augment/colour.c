/* Changes of the values of pixels, each for itself. */
#include "data/augment/adjust.h"

#include <math.h>
#include <stddef.h>

static size_t num_pixels(const liana_image_shape *shape)
{
    return (size_t)(shape->height * shape->width);
}

static double grey_of(const double colour[3])
{
    return 0.299 * colour[0] + 0.587 * colour[1] + 0.114 * colour[2];
}

void liana__colour_change_add(liana_colour_change *change, const liana_colour_change *next)
{
    double grey = grey_of(change->offset);
    for (int c = 0; c < 3; c++) {
        change->offset[c] = next->scale * change->offset[c] + next->grey * grey + next->offset[c];
    }
    change->grey = next->scale * change->grey + next->grey * (change->scale + change->grey);
    change->scale *= next->scale;
}

double liana__find_means(const liana__pixel_kernels *kernels, const liana_image_shape *shape, const uint8_t *pixels,
                         double means[3])
{
    double grey, count = (double)num_pixels(shape);
    kernels->sums(pixels, num_pixels(shape), shape->channels, means, &grey);
    for (int c = 0; c < shape->channels; c++) means[c] /= count;
    for (int c = shape->channels; c < 3; c++) means[c] = means[0];
    return grey / count;
}

static void change_values(const liana__pixel_kernels *kernels, const liana_image_shape *shape, uint8_t *pixels,
                          const double scale[3], const double offset[3])
{
    float scales[LIANA__PATTERN], offsets[LIANA__PATTERN];
    for (int i = 0; i < LIANA__PATTERN; i++) {
        scales[i] = (float)scale[i % shape->channels];
        offsets[i] = (float)offset[i % shape->channels];
    }
    kernels->linear(pixels, liana__augment_size(shape), scales, offsets);
}

/* Converts to whole numbers, with as many fraction bits as the largest weight allows; halves are rounded up. */
static liana__recolour to_whole_numbers(const liana_colour_change *change)
{
    static const double luma[3] = {0.299, 0.587, 0.114};
    const double farthest = 4096; /* levels: all of the image is black or white beyond */
    liana__recolour made = {.shift = 14};
    double largest = fabs(change->scale) + fabs(change->grey), unit;
    while (made.shift > 0 && ldexp(largest, made.shift) > INT16_MAX) made.shift--;
    unit = ldexp(1, made.shift);
    for (int c = 0; c < 3; c++) {
        for (int k = 0; k < 3; k++) {
            double weight = change->grey * luma[k] + (c == k ? change->scale : 0);
            made.weights[3 * c + k] = (int16_t)fmax(-INT16_MAX, fmin(INT16_MAX, rint(weight * unit)));
        }
        made.offset[c] = (int32_t)floor((fmax(-farthest, fmin(farthest, change->offset[c])) + 0.5) * unit);
    }
    return made;
}

void liana__recolour_pixels(const liana__pixel_kernels *kernels, const liana_image_shape *shape, uint8_t *pixels,
                            const liana_colour_change *change)
{
    if (shape->channels == 3) {
        liana__recolour made = to_whole_numbers(change);
        kernels->recolour(pixels, num_pixels(shape), &made);
        return;
    }
    change_values(kernels, shape, pixels, (double[3]){change->scale + change->grey}, change->offset);
}

void liana__adjust_linear(const liana_augment_call *call, const double scale[3], const double offset[3])
{
    change_values(call->kernels, &call->shape, call->pixels, scale, offset);
}

void liana__adjust_saturation(const liana_augment_call *call, double factor)
{
    liana_colour_change change = {factor, 1 - factor, {0}};
    if (call->shape.channels == 3) liana__recolour_pixels(call->kernels, &call->shape, call->pixels, &change);
}

void liana__adjust_contrast(const liana_augment_call *call, double factor)
{
    double means[3], grey = liana__find_means(call->kernels, &call->shape, call->pixels, means);
    double offset = (1 - factor) * grey;
    liana_colour_change change = {factor, 0, {offset, offset, offset}};
    liana__recolour_pixels(call->kernels, &call->shape, call->pixels, &change);
}

typedef struct factor_options {
    liana_augment_common common;
    double factor;
} factor_options;

#define FACTOR(default_factor, largest, text) \
    LIANA_OPTION_ROW(factor_options, factor, FLOAT, .default_text = default_factor, .maximum = largest, .doc = text)

/* ---- random_brightness ---- */

static const liana__field brightness_fields[] = {
    FACTOR("0.2", 1, "The largest number that is added or subtracted, as a share of the range from black to white."),
    LIANA_AUGMENT_ROWS("1.0"),
};

static void brighten(const liana_augment_call *call, liana_colour_change *change)
{
    const factor_options *options = call->options;
    double step = 255 * liana__draw_between(call->draws, -options->factor, options->factor);
    *change = (liana_colour_change){1, 0, {step, step, step}};
}

const liana_augmentation_type liana__augmentation_random_brightness = {
    LIANA_PART(AUGMENTATION, liana_augmentation_type, "random_brightness",
               "Adds one random number to all values, as Keras does.",
               LIANA_PART_OPTIONS(factor_options, brightness_fields)),
    .colour = brighten,
};

/* ---- random_contrast, random_saturation ---- */

static const liana__field contrast_fields[] = {
    FACTOR("0.2", 1, "Differences are multiplied by a number from 1 - factor to 1 + factor."),
    LIANA_AUGMENT_ROWS("1.0"),
};

static double draw_factor(const factor_options *options, liana__draws *draws)
{
    return liana__draw_between(draws, 1 - options->factor, 1 + options->factor);
}

static void change_contrast(const liana_augment_call *call, liana_colour_change *change)
{
    double factor = draw_factor(call->options, call->draws);
    *change = (liana_colour_change){factor, 0, {0}};
    for (int c = 0; c < 3; c++) change->offset[c] = (1 - factor) * call->means[c];
}

const liana_augmentation_type liana__augmentation_random_contrast = {
    LIANA_PART(
        AUGMENTATION, liana_augmentation_type, "random_contrast",
        "Changes the contrast: moves the values of each channel away from their mean or towards it, as Keras does.",
        LIANA_PART_OPTIONS(factor_options, contrast_fields)),
    .uses_means = true,
    .colour = change_contrast,
};

static void change_saturation(const liana_augment_call *call, liana_colour_change *change)
{
    double factor = draw_factor(call->options, call->draws);
    *change = (liana_colour_change){factor, 1 - factor, {0}};
}

const liana_augmentation_type liana__augmentation_random_saturation = {
    LIANA_PART(AUGMENTATION, liana_augmentation_type, "random_saturation",
               "Changes the saturation: moves colours away from grey or towards it, as torchvision does.",
               LIANA_PART_OPTIONS(factor_options, contrast_fields)),
    .colour = change_saturation,
};

/* ---- random_hue ---- */

static const liana__field hue_fields[] = {
    FACTOR("0.1", 0.5, "The largest turn of the colour circle in either direction, as a share of it."),
    LIANA_AUGMENT_ROWS("1.0"),
};

static liana_status change_hue(const liana_augment_call *call)
{
    const factor_options *options = call->options;
    double turn = liana__draw_between(call->draws, -options->factor, options->factor);
    if (call->shape.channels == 3) call->kernels->turn_hue(call->pixels, num_pixels(&call->shape), (float)turn);
    return LIANA_OK;
}

const liana_augmentation_type liana__augmentation_random_hue = {
    LIANA_PART(AUGMENTATION, liana_augmentation_type, "random_hue",
               "Changes the hue: turns all hues by the same angle; grey stays grey.",
               LIANA_PART_OPTIONS(factor_options, hue_fields)),
    .apply = change_hue,
};

/* ---- random_grayscale ---- */

static const liana__field grey_fields[] = {LIANA_AUGMENT_ROWS("0.1")};

static void make_grey(const liana_augment_call *call, liana_colour_change *change)
{
    (void)call;
    *change = (liana_colour_change){0, 1, {0}};
}

const liana_augmentation_type liana__augmentation_random_grayscale = {
    LIANA_PART(AUGMENTATION, liana_augmentation_type, "random_grayscale",
               "Makes the image grey; the number of channels stays.",
               LIANA_PART_OPTIONS(liana_augment_common, grey_fields)),
    .colour = make_grey,
};
