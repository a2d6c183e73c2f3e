/* RandAugment (Cubuk and others, 2019), with torchvision's operations and strengths: a few operations, drawn for each
 * image, all with one strength. */
#include "data/augment/adjust.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

typedef struct rand_options {
    liana_augment_sampling sampling;
    int64_t num_ops;
    double magnitude;
} rand_options;

static const liana__field fields[] = {
    LIANA_OPTION_ROW(rand_options, num_ops, INT, .default_text = "2", .minimum = 1, .maximum = 20,
                     .doc = "The number of operations for each image."),
    LIANA_OPTION_ROW(rand_options, magnitude, FLOAT, .default_text = "9.0", .maximum = 30,
                     .doc = "Their strength, 0 to 30."),
    LIANA_SAMPLING_ROWS("1.0"),
};

typedef enum operation {
    IDENTITY,
    SHEAR_X,
    SHEAR_Y,
    TRANSLATE_X,
    TRANSLATE_Y,
    ROTATE,
    BRIGHTNESS,
    COLOR,
    CONTRAST,
    SHARPNESS,
    POSTERIZE,
    SOLARIZE,
    AUTOCONTRAST,
    EQUALIZE,
    NUM_OPERATIONS,
} operation;

static liana_status prepare(liana_augment_setup *setup)
{
    setup->scratch_size = liana__augment_size(&setup->in);
    return LIANA_OK;
}

static void warp(const liana_augment_call *call, const liana_matrix *from_output)
{
    const rand_options *options = call->options;
    const liana_image_shape *shape = &call->shape;
    liana__warp wanted = {.src = memcpy(call->scratch, call->pixels, liana__augment_size(shape)),
                          .src_height = shape->height,
                          .src_width = shape->width,
                          .dst = call->pixels,
                          .dst_height = shape->height,
                          .dst_width = shape->width,
                          .channels = shape->channels,
                          .from_output = *from_output,
                          .interpolation = (liana__interpolation)options->sampling.interpolation,
                          .fill_mode = (liana__fill_mode)options->sampling.fill_mode,
                          .fill = (uint8_t)options->sampling.fill};
    call->kernels->warp(&wanted);
}

/* `strength` is from -1 to 1. Shears are about the corner, as in torchvision. */
static void move(const liana_augment_call *call, operation which, double strength)
{
    liana_matrix matrix = liana__matrix_identity();
    double angle = strength * 30 * 3.14159265358979323846 / 180;
    double width = (double)call->shape.width, height = (double)call->shape.height;
    switch (which) {
    case SHEAR_X: matrix.m[1] = strength * 0.3; break;
    case SHEAR_Y: matrix.m[3] = strength * 0.3; break;
    case TRANSLATE_X: matrix.m[2] = -trunc(strength * 150.0 / 331.0 * width); break;
    case TRANSLATE_Y: matrix.m[5] = -trunc(strength * 150.0 / 331.0 * height); break;
    default:
        matrix = liana__matrix_about(cos(angle), -sin(angle), sin(angle), cos(angle), width / 2, height / 2);
        break;
    }
    warp(call, &matrix);
}

/* `strength` from 0 to 1, `sign` -1 or 1 where more and less are both meant. */
static void run(const liana_augment_call *call, operation which, double strength, double sign)
{
    double factor = 1 + 0.9 * strength * sign;
    switch (which) {
    case SHEAR_X:
    case SHEAR_Y:
    case TRANSLATE_X:
    case TRANSLATE_Y:
    case ROTATE: move(call, which, strength * sign); break;
    case BRIGHTNESS: liana__adjust_linear(call, (double[3]){factor, factor, factor}, (double[3]){0}); break;
    case COLOR: liana__adjust_saturation(call, factor); break;
    case CONTRAST: liana__adjust_contrast(call, factor); break;
    case SHARPNESS: liana__adjust_sharpness(call, factor); break;
    case POSTERIZE: liana__posterize(call, 8 - (int)lrint(4 * strength)); break;
    case SOLARIZE: liana__solarize(call, 255 * (1 - strength)); break;
    case AUTOCONTRAST: (void)liana__autocontrast(call); break;
    case EQUALIZE: (void)liana__equalize(call); break;
    case IDENTITY:
    case NUM_OPERATIONS: break;
    }
}

static liana_status apply(const liana_augment_call *call)
{
    const rand_options *options = call->options;
    for (int64_t i = 0; i < options->num_ops; i++) {
        operation which = (operation)liana__draw_below(call->draws, NUM_OPERATIONS);
        double sign = liana__draw_chance(call->draws, 0.5) ? -1 : 1;
        run(call, which, options->magnitude / 30, sign);
    }
    return LIANA_OK;
}

const liana_augmentation_type liana__augmentation_rand_augment = {
    LIANA_PART(AUGMENTATION, liana_augmentation_type, "rand_augment",
               "A few of fourteen operations (shear, translation, rotation, colour, levels), drawn for each image.",
               LIANA_PART_OPTIONS(rand_options, fields)),
    .prepare = prepare,
    .apply = apply,
};
