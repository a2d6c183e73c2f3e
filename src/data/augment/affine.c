/* Mappings that keep parallels: rotation, shear, zoom and translation, all about the centre of the image. */
#include "data/augment/augment.h"

#include <math.h>
#include <stddef.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const double PI = 3.14159265358979323846;

static void set_about(const liana__augment_shape *in, double a, double b, double c, double d,
                      liana__point_mapping *mapping)
{
    mapping->from_output = liana__matrix_about(a, b, c, d, (double)in->width / 2, (double)in->height / 2);
}

/* ---- random_rotation ---- */

typedef struct rotation_options {
    liana__augment_sampling sampling;
    double degrees;
} rotation_options;

static const liana__field rotation_fields[] = {
    {.name = "degrees",
     .kind = LIANA__FIELD_FLOAT,
     .offset = offsetof(rotation_options, degrees),
     .default_text = "15.0",
     .maximum = 180,
     .doc = "The largest angle in degrees, in either direction."},
    LIANA__SAMPLING_FIELDS("1.0"),
};
static const liana__fields rotation_table = {"random_rotation", sizeof(rotation_options), COUNT(rotation_fields),
                                             rotation_fields};

static void rotate(const void *own, const liana__augment_shape *in, const liana__augment_shape *out,
                   liana__draws *draws, liana__point_mapping *mapping)
{
    (void)out;
    const rotation_options *options = own;
    double angle = liana__draw_between(draws, -options->degrees, options->degrees) * PI / 180;
    set_about(in, cos(angle), -sin(angle), sin(angle), cos(angle), mapping);
}

const liana__augmentation liana__augmentation_random_rotation = {
    .name = "random_rotation",
    .doc = "Rotates the image about its centre by an angle from -degrees to degrees.",
    .options = &rotation_table,
    .mapping = rotate,
};

/* ---- shear, zoom, translation: a factor for each side ---- */

typedef struct factor_options {
    liana__augment_sampling sampling;
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
    LIANA__SAMPLING_FIELDS("1.0"),
};
static const liana__fields shear_table = {"random_shear", sizeof(factor_options), COUNT(shear_fields), shear_fields};

static void shear(const void *own, const liana__augment_shape *in, const liana__augment_shape *out, liana__draws *draws,
                  liana__point_mapping *mapping)
{
    (void)out;
    const factor_options *options = own;
    double x = liana__draw_between(draws, -options->factors[0], options->factors[0]);
    double y = liana__draw_between(draws, -options->factors[1], options->factors[1]);
    set_about(in, 1, x, y, 1, mapping);
}

const liana__augmentation liana__augmentation_random_shear = {
    .name = "random_shear",
    .doc = "Shears the image: shifts rows horizontally, or columns vertically.",
    .options = &shear_table,
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
    LIANA__SAMPLING_FIELDS("1.0"),
};
static const liana__fields zoom_table = {"random_zoom", sizeof(factor_options), COUNT(zoom_fields), zoom_fields};

static void zoom(const void *own, const liana__augment_shape *in, const liana__augment_shape *out, liana__draws *draws,
                 liana__point_mapping *mapping)
{
    (void)out;
    const factor_options *options = own;
    bool keeps_proportions = isnan(options->factors[1]);
    double width_factor = keeps_proportions ? 0 : options->factors[1];
    double rows = 1 + liana__draw_between(draws, -options->factors[0], options->factors[0]);
    double columns = 1 + liana__draw_between(draws, -width_factor, width_factor);
    set_about(in, keeps_proportions ? rows : columns, 0, 0, rows, mapping);
}

const liana__augmentation liana__augmentation_random_zoom = {
    .name = "random_zoom",
    .doc = "Zooms out (the image gets smaller) or in.",
    .options = &zoom_table,
    .mapping = zoom,
};

static const liana__field translation_fields[] = {
    FACTOR("height_factor", 0, "0.1", 1, "The largest vertical shift, as a share of the height."),
    FACTOR("width_factor", 1, "0.1", 1, "The largest horizontal shift, as a share of the width."),
    LIANA__SAMPLING_FIELDS("1.0"),
};
static const liana__fields translation_table = {"random_translation", sizeof(factor_options), COUNT(translation_fields),
                                                translation_fields};

static void translate(const void *own, const liana__augment_shape *in, const liana__augment_shape *out,
                      liana__draws *draws, liana__point_mapping *mapping)
{
    (void)out;
    const factor_options *options = own;
    double down = liana__draw_between(draws, -options->factors[0], options->factors[0]);
    double right = liana__draw_between(draws, -options->factors[1], options->factors[1]);
    mapping->from_output.m[2] = -right * (double)in->width;
    mapping->from_output.m[5] = -down * (double)in->height;
}

const liana__augmentation liana__augmentation_random_translation = {
    .name = "random_translation",
    .doc = "Shifts the image, also by fractions of a pixel.",
    .options = &translation_table,
    .mapping = translate,
};
