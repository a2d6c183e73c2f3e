/* Parts of the image are painted over. */
#include "data/augment/augment.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* Paints the part of [top, bottom) x [left, right) that is inside the image. */
static void paint(const liana_augment_call *call, int64_t top, int64_t bottom, int64_t left, int64_t right,
                  int64_t fill)
{
    const liana_image_shape *shape = &call->shape;
    if (top < 0) top = 0;
    if (left < 0) left = 0;
    if (bottom > shape->height) bottom = shape->height;
    if (right > shape->width) right = shape->width;
    for (int64_t y = top; y < bottom && left < right; y++) {
        memset(call->pixels + (y * shape->width + left) * shape->channels, (int)fill,
               (size_t)((right - left) * shape->channels));
    }
}

/* ---- cutout ---- */

typedef struct cutout_options {
    liana_augment_common common;
    int64_t num_holes;
    double height_factor, width_factor;
    int64_t fill;
} cutout_options;

static const liana__field cutout_fields[] = {
    LIANA_OPTION_ROW(cutout_options, num_holes, INT, .default_text = "1", .minimum = 1, .maximum = 1000,
                     .doc = "The number of rectangles."),
    LIANA_OPTION_ROW(cutout_options, height_factor, FLOAT, .default_text = "0.25", .maximum = 1,
                     .doc = "The height of a rectangle, as a share of the image's height."),
    LIANA_OPTION_ROW(cutout_options, width_factor, FLOAT, .default_text = "0.25", .maximum = 1,
                     .doc = "The width of a rectangle, as a share of the image's width."),
    LIANA_OPTION_ROW(cutout_options, fill, INT, .maximum = 255,
                     .doc = "The value of the painted pixels, 0 (black) to 255."),
    LIANA_AUGMENT_ROWS("0.5"),
};

static liana_status cut_out(const liana_augment_call *call)
{
    const cutout_options *options = call->options;
    int64_t height = (int64_t)llround(options->height_factor * (double)call->shape.height);
    int64_t width = (int64_t)llround(options->width_factor * (double)call->shape.width);
    for (int64_t i = 0; i < options->num_holes; i++) {
        int64_t top = liana__draw_below(call->draws, call->shape.height) - height / 2;
        int64_t left = liana__draw_below(call->draws, call->shape.width) - width / 2;
        paint(call, top, top + height, left, left + width, options->fill);
    }
    return LIANA_OK;
}

const liana_augmentation_type liana__augmentation_cutout = {
    LIANA_PART(AUGMENTATION, liana_augmentation_type, "cutout",
               "Paints random rectangles, whose centres are anywhere in the image (DeVries and Taylor, 2017).",
               LIANA_PART_OPTIONS(cutout_options, cutout_fields)),
    .apply = cut_out,
};

/* ---- grid_mask ---- */

typedef struct grid_options {
    liana_augment_common common;
    double ratio;
    double min_unit, max_unit;
    int64_t fill;
} grid_options;

static const liana__field grid_fields[] = {
    LIANA_OPTION_ROW(grid_options, ratio, FLOAT, .default_text = "0.5", .maximum = 1,
                     .doc = "The side of a painted square, as a share of the distance from one to the next."),
    LIANA_OPTION_ROW(grid_options, min_unit, FLOAT, .default_text = "0.2", .minimum = 0.01, .maximum = 1,
                     .doc = "The smallest distance between squares, as a share of the image's shorter side."),
    LIANA_OPTION_ROW(grid_options, max_unit, FLOAT, .default_text = "0.6", .minimum = 0.01, .maximum = 1,
                     .doc = "The largest distance."),
    LIANA_OPTION_ROW(grid_options, fill, INT, .maximum = 255,
                     .doc = "The value of the painted pixels, 0 (black) to 255."),
    LIANA_AUGMENT_ROWS("0.5"),
};

static liana_status prepare_grid(liana_augment_setup *setup)
{
    const grid_options *options = setup->check->options;
    if (options->min_unit <= options->max_unit) return LIANA_OK;
    return liana_option_refuse(setup->check, NULL, "min_unit is %g, expected at most max_unit, which is %g",
                               options->min_unit, options->max_unit);
}

static liana_status mask_grid(const liana_augment_call *call)
{
    const grid_options *options = call->options;
    const liana_image_shape *shape = &call->shape;
    int64_t shorter = shape->height < shape->width ? shape->height : shape->width;
    double share = liana__draw_between(call->draws, options->min_unit, options->max_unit);
    int64_t unit = (int64_t)fmax(round(share * (double)shorter), 2);
    int64_t side = (int64_t)llround(options->ratio * (double)unit);
    int64_t down = liana__draw_below(call->draws, unit), right = liana__draw_below(call->draws, unit);
    for (int64_t top = down - unit; top < shape->height; top += unit) {
        for (int64_t left = right - unit; left < shape->width; left += unit) {
            paint(call, top, top + side, left, left + side, options->fill);
        }
    }
    return LIANA_OK;
}

const liana_augmentation_type liana__augmentation_grid_mask = {
    LIANA_PART(AUGMENTATION, liana_augmentation_type, "grid_mask",
               "Paints the squares of a grid of random distance and place (Chen and others, 2020).",
               LIANA_PART_OPTIONS(grid_options, grid_fields)),
    .prepare = prepare_grid,
    .apply = mask_grid,
};
