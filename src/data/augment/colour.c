/* Changes of the values of pixels, each for itself. */
#include "data/augment/adjust.h"

#include <math.h>
#include <stddef.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static size_t num_pixels(const liana__augment_shape *shape)
{
    return (size_t)(shape->height * shape->width);
}

static double grey_of(const double colour[3])
{
    return 0.299 * colour[0] + 0.587 * colour[1] + 0.114 * colour[2];
}

void liana__colour_change_add(liana__colour_change *change, const liana__colour_change *next)
{
    double grey = grey_of(change->offset);
    for (int c = 0; c < 3; c++) {
        change->offset[c] = next->scale * change->offset[c] + next->grey * grey + next->offset[c];
    }
    change->grey = next->scale * change->grey + next->grey * (change->scale + change->grey);
    change->scale *= next->scale;
}

double liana__find_means(const liana__pixel_kernels *kernels, const liana__augment_shape *shape, const uint8_t *pixels,
                         double means[3])
{
    double grey, count = (double)num_pixels(shape);
    kernels->sums(pixels, num_pixels(shape), shape->channels, means, &grey);
    for (int c = 0; c < shape->channels; c++) means[c] /= count;
    for (int c = shape->channels; c < 3; c++) means[c] = means[0];
    return grey / count;
}

static void change_values(const liana__pixel_kernels *kernels, const liana__augment_shape *shape, uint8_t *pixels,
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
static liana__recolour to_whole_numbers(const liana__colour_change *change)
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

void liana__recolour_pixels(const liana__pixel_kernels *kernels, const liana__augment_shape *shape, uint8_t *pixels,
                            const liana__colour_change *change)
{
    if (shape->channels == 3) {
        liana__recolour made = to_whole_numbers(change);
        kernels->recolour(pixels, num_pixels(shape), &made);
        return;
    }
    change_values(kernels, shape, pixels, (double[3]){change->scale + change->grey}, change->offset);
}

void liana__adjust_linear(const liana__augment_call *call, const double scale[3], const double offset[3])
{
    change_values(call->kernels, &call->shape, call->pixels, scale, offset);
}

void liana__adjust_saturation(const liana__augment_call *call, double factor)
{
    liana__colour_change change = {factor, 1 - factor, {0}};
    if (call->shape.channels == 3) liana__recolour_pixels(call->kernels, &call->shape, call->pixels, &change);
}

void liana__adjust_contrast(const liana__augment_call *call, double factor)
{
    double means[3], grey = liana__find_means(call->kernels, &call->shape, call->pixels, means);
    double offset = (1 - factor) * grey;
    liana__colour_change change = {factor, 0, {offset, offset, offset}};
    liana__recolour_pixels(call->kernels, &call->shape, call->pixels, &change);
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
    FACTOR("0.2", 1, "The largest number that is added or subtracted, as a share of the range from black to white."),
    LIANA__AUGMENT_FIELDS("1.0"),
};
static const liana__fields brightness_table = {"random_brightness", sizeof(factor_options), COUNT(brightness_fields),
                                               brightness_fields};

static void brighten(const void *own, const double means[3], liana__draws *draws, liana__colour_change *change)
{
    (void)means;
    const factor_options *options = own;
    double step = 255 * liana__draw_between(draws, -options->factor, options->factor);
    *change = (liana__colour_change){1, 0, {step, step, step}};
}

const liana__augmentation liana__augmentation_random_brightness = {
    .name = "random_brightness",
    .doc = "Adds one random number to all values, as Keras does.",
    .options = &brightness_table,
    .colour = brighten,
};

/* ---- random_contrast, random_saturation ---- */

static const liana__field contrast_fields[] = {
    FACTOR("0.2", 1, "Differences are multiplied by a number from 1 - factor to 1 + factor."),
    LIANA__AUGMENT_FIELDS("1.0"),
};
static const liana__fields contrast_table = {"factor", sizeof(factor_options), COUNT(contrast_fields), contrast_fields};

static double draw_factor(const factor_options *options, liana__draws *draws)
{
    return liana__draw_between(draws, 1 - options->factor, 1 + options->factor);
}

static void change_contrast(const void *options, const double means[3], liana__draws *draws,
                            liana__colour_change *change)
{
    double factor = draw_factor(options, draws);
    *change = (liana__colour_change){factor, 0, {0}};
    for (int c = 0; c < 3; c++) change->offset[c] = (1 - factor) * means[c];
}

const liana__augmentation liana__augmentation_random_contrast = {
    .name = "random_contrast",
    .doc = "Changes the contrast: moves the values of each channel away from their mean or towards it, as Keras does.",
    .options = &contrast_table,
    .uses_means = true,
    .colour = change_contrast,
};

static void change_saturation(const void *options, const double means[3], liana__draws *draws,
                              liana__colour_change *change)
{
    (void)means;
    double factor = draw_factor(options, draws);
    *change = (liana__colour_change){factor, 1 - factor, {0}};
}

const liana__augmentation liana__augmentation_random_saturation = {
    .name = "random_saturation",
    .doc = "Changes the saturation: moves colours away from grey or towards it, as torchvision does.",
    .options = &contrast_table,
    .colour = change_saturation,
};

/* ---- random_hue ---- */

static const liana__field hue_fields[] = {
    FACTOR("0.1", 0.5, "The largest turn of the colour circle in either direction, as a share of it."),
    LIANA__AUGMENT_FIELDS("1.0"),
};
static const liana__fields hue_table = {"random_hue", sizeof(factor_options), COUNT(hue_fields), hue_fields};

static liana_status change_hue(const liana__augment_call *call)
{
    const factor_options *options = call->options;
    double turn = liana__draw_between(call->draws, -options->factor, options->factor);
    if (call->shape.channels == 3) call->kernels->turn_hue(call->pixels, num_pixels(&call->shape), (float)turn);
    return LIANA_OK;
}

const liana__augmentation liana__augmentation_random_hue = {
    .name = "random_hue",
    .doc = "Changes the hue: turns all hues by the same angle; grey stays grey.",
    .options = &hue_table,
    .apply = change_hue,
};

/* ---- random_grayscale ---- */

static const liana__field grey_fields[] = {LIANA__AUGMENT_FIELDS("0.1")};
static const liana__fields grey_table = {"random_grayscale", sizeof(liana__augment_common), COUNT(grey_fields),
                                         grey_fields};

static void make_grey(const void *options, const double means[3], liana__draws *draws, liana__colour_change *change)
{
    (void)options;
    (void)means;
    (void)draws;
    *change = (liana__colour_change){0, 1, {0}};
}

const liana__augmentation liana__augmentation_random_grayscale = {
    .name = "random_grayscale",
    .doc = "Makes the image grey; the number of channels stays.",
    .options = &grey_table,
    .colour = make_grey,
};
