/* Mappings that keep parallels: rotation, shear, zoom and translation, all about the centre of the image. */
#include "data/augment/augment.h"

#include <math.h>
#include <stddef.h>

static const double PI = 3.14159265358979323846;

static void set_about(const liana_augment_call *call, double a, double b, double c, double d,
                      liana_point_mapping *mapping)
{
    const double x = (double)call->shape.width / 2, y = (double)call->shape.height / 2;
    mapping->from_output = liana__matrix_about(a, b, c, d, x, y);
}

/* ---- random_rotation ---- */

typedef struct rotation_options {
    liana_augment_sampling sampling;
    double degrees;
} rotation_options;

static const liana__field rotation_fields[] = {
    LIANA_OPTION_ROW(rotation_options, degrees, FLOAT, .default_text = "15.0", .maximum = 180,
                     .doc = "The largest angle in degrees, in either direction."),
    LIANA_SAMPLING_ROWS("1.0"),
};

static void rotate(const liana_augment_call *call, liana_point_mapping *mapping)
{
    const rotation_options *options = call->options;
    double angle = liana__draw_between(call->draws, -options->degrees, options->degrees) * PI / 180;
    set_about(call, cos(angle), -sin(angle), sin(angle), cos(angle), mapping);
}

const liana_augmentation_type liana__augmentation_random_rotation = {
    LIANA_PART(AUGMENTATION, liana_augmentation_type, "random_rotation",
               "Rotates the image about its centre by an angle from -degrees to degrees.",
               LIANA_PART_OPTIONS(rotation_options, rotation_fields)),
    .mapping = rotate,
};

/* ---- shear, zoom, translation: a factor for each side ---- */

typedef struct factor_options {
    liana_augment_sampling sampling;
    double factors[2]; /* first, second */
} factor_options;

#define FACTOR(field_name, index, default_factor, largest, text)                                            \
    {                                                                                                       \
        .name = field_name, .kind = LIANA__FIELD_FLOAT, .offset = offsetof(factor_options, factors[index]), \
        .default_text = default_factor, .maximum = largest, .doc = text                                     \
    }

static const liana__field shear_fields[] = {
    FACTOR("x_factor", 0, "0.2", 1, "The largest horizontal shift per row, in pixels, in either direction."),
    FACTOR("y_factor", 1, "0.2", 1, "The largest vertical shift per column, in pixels."),
    LIANA_SAMPLING_ROWS("1.0"),
};

static void shear(const liana_augment_call *call, liana_point_mapping *mapping)
{
    const factor_options *options = call->options;
    double x = liana__draw_between(call->draws, -options->factors[0], options->factors[0]);
    double y = liana__draw_between(call->draws, -options->factors[1], options->factors[1]);
    set_about(call, 1, x, y, 1, mapping);
}

const liana_augmentation_type liana__augmentation_random_shear = {
    LIANA_PART(AUGMENTATION, liana_augmentation_type, "random_shear",
               "Shears the image: shifts rows horizontally, or columns vertically.",
               LIANA_PART_OPTIONS(factor_options, shear_fields)),
    .mapping = shear,
};

static const liana__field zoom_fields[] = {
    FACTOR("height_factor", 0, "0.2", 0.95, "By how much more or less of the height is seen, as a share of it."),
    {.name = "width_factor",
     .kind = LIANA__FIELD_FLOAT,
     .offset = offsetof(factor_options, factors[1]),
     .default_text = "null",
     .maximum = 0.95,
     .doc = "The same for the width (null: as the height, which keeps the proportions)."},
    LIANA_SAMPLING_ROWS("1.0"),
};

static void zoom(const liana_augment_call *call, liana_point_mapping *mapping)
{
    const factor_options *options = call->options;
    bool keeps_proportions = isnan(options->factors[1]);
    double width_factor = keeps_proportions ? 0 : options->factors[1];
    double rows = 1 + liana__draw_between(call->draws, -options->factors[0], options->factors[0]);
    double columns = 1 + liana__draw_between(call->draws, -width_factor, width_factor);
    set_about(call, keeps_proportions ? rows : columns, 0, 0, rows, mapping);
}

const liana_augmentation_type liana__augmentation_random_zoom = {
    LIANA_PART(AUGMENTATION, liana_augmentation_type, "random_zoom", "Zooms out (the image gets smaller) or in.",
               LIANA_PART_OPTIONS(factor_options, zoom_fields)),
    .mapping = zoom,
};

static const liana__field translation_fields[] = {
    FACTOR("height_factor", 0, "0.1", 1, "The largest vertical shift, as a share of the height."),
    FACTOR("width_factor", 1, "0.1", 1, "The largest horizontal shift, as a share of the width."),
    LIANA_SAMPLING_ROWS("1.0"),
};

static void translate(const liana_augment_call *call, liana_point_mapping *mapping)
{
    const factor_options *options = call->options;
    double down = liana__draw_between(call->draws, -options->factors[0], options->factors[0]);
    double right = liana__draw_between(call->draws, -options->factors[1], options->factors[1]);
    mapping->from_output.m[2] = -right * (double)call->shape.width;
    mapping->from_output.m[5] = -down * (double)call->shape.height;
}

const liana_augmentation_type liana__augmentation_random_translation = {
    LIANA_PART(AUGMENTATION, liana_augmentation_type, "random_translation",
               "Shifts the image, also by fractions of a pixel.",
               LIANA_PART_OPTIONS(factor_options, translation_fields)),
    .mapping = translate,
};
