/* A part of the image. */
#include "data/augment/augment.h"

#include <math.h>
#include <stddef.h>

/* ---- random_crop ---- */

typedef struct crop_options {
    liana_augment_sampling sampling;
    int64_t size[2];
    int64_t padding;
} crop_options;

static const liana__field crop_fields[] = {
    LIANA_OPTION_ROW(crop_options, size, INT_PAIR, .default_text = "[0, 0]", .maximum = 16384,
                     .doc = "[height, width] of the part, in pixels (0: as large as the image)."),
    LIANA_OPTION_ROW(crop_options, padding, INT, .maximum = 16384, .doc = "Pixels added on each side before cropping."),
    LIANA_OPTION_ROW(liana_augment_sampling, fill_mode, ENUM, .default_text = "constant",
                     .names = liana_fill_mode_names,
                     .doc = "The added pixels: the value of fill, the edge, or the image again."),
    LIANA_OPTION_ROW(liana_augment_sampling, fill, INT, .maximum = 255,
                     .doc = "The value of added pixels, 0 (black) to 255."),
};

static liana_status prepare_crop(liana_augment_setup *setup)
{
    const crop_options *options = setup->check->options;
    if (options->size[0]) setup->out.height = options->size[0];
    if (options->size[1]) setup->out.width = options->size[1];
    int64_t height = setup->in.height + 2 * options->padding, width = setup->in.width + 2 * options->padding;
    if (setup->out.height <= height && setup->out.width <= width) return LIANA_OK;
    return liana_option_refuse(
        setup->check, NULL,
        "a part of %lld x %lld cannot be cropped from images of %lld x %lld (height x width, with "
        "padding); a stage 'resize: {size: [HEIGHT, WIDTH]}' before it can enlarge them",
        (long long)setup->out.height, (long long)setup->out.width, (long long)height, (long long)width);
}

static void crop(const liana_augment_call *call, liana_point_mapping *mapping)
{
    const crop_options *options = call->options;
    int64_t down = liana__draw_below(call->draws, call->shape.height + 2 * options->padding - call->out.height + 1);
    int64_t right = liana__draw_below(call->draws, call->shape.width + 2 * options->padding - call->out.width + 1);
    mapping->from_output.m[2] = (double)(right - options->padding);
    mapping->from_output.m[5] = (double)(down - options->padding);
    mapping->exact = true;
    mapping->inside = options->padding == 0;
}

const liana_augmentation_type liana__augmentation_random_crop = {
    LIANA_PART(AUGMENTATION, liana_augmentation_type, "random_crop",
               "Crops a part at a random place, all places equally likely.",
               LIANA_PART_OPTIONS(crop_options, crop_fields)),
    .draws_chance = true,
    .prepare = prepare_crop,
    .mapping = crop,
};

/* ---- random_resized_crop ---- */

typedef struct resized_options {
    liana_augment_sampling sampling;
    int64_t size[2];
    double min_scale, max_scale;
    double min_ratio, max_ratio;
} resized_options;

#define NUMBER(member, default_number, low, high, text)                                                               \
    LIANA_OPTION_ROW(resized_options, member, FLOAT, .default_text = default_number, .minimum = low, .maximum = high, \
                     .doc = text)

static const liana__field resized_fields[] = {
    LIANA_OPTION_ROW(resized_options, size, INT_PAIR, .default_text = "[0, 0]", .maximum = 16384,
                     .doc = "[height, width] to which the part is resized, in pixels (0: as large as the image)."),
    NUMBER(min_scale, "0.08", 1e-4, 1, "The smallest part, as a share of the image's area."),
    NUMBER(max_scale, "1.0", 1e-4, 1, "The largest part."),
    NUMBER(min_ratio, "0.75", 0.01, 100, "The smallest width of a part for a height of 1."),
    NUMBER(max_ratio, "1.3333333333333333", 0.01, 100, "The largest width of a part for a height of 1."),
    LIANA_OPTION_ROW(liana_augment_sampling, interpolation, ENUM, .default_text = "bilinear",
                     .names = liana_interpolation_names, .doc = "The interpolation between pixels."),
};

static liana_status prepare_resized(liana_augment_setup *setup)
{
    const resized_options *options = setup->check->options;
    if (options->size[0]) setup->out.height = options->size[0];
    if (options->size[1]) setup->out.width = options->size[1];
    if (options->min_scale <= options->max_scale && options->min_ratio <= options->max_ratio) return LIANA_OK;
    return liana_option_refuse(
        setup->check, NULL,
        "scales from %g to %g and ratios from %g to %g: a smallest value is larger than the largest",
        options->min_scale, options->max_scale, options->min_ratio, options->max_ratio);
}

/* As torchvision: ten tries, then as much of the middle as the ratios allow. */
static void choose_part(const resized_options *options, double height, double width, liana__draws *draws,
                        double part[4])
{
    for (int i = 0; i < 10; i++) {
        double area = height * width * liana__draw_between(draws, options->min_scale, options->max_scale);
        double ratio = exp(liana__draw_between(draws, log(options->min_ratio), log(options->max_ratio)));
        double w = round(sqrt(area * ratio)), h = round(sqrt(area / ratio));
        if (w < 1 || h < 1 || w > width || h > height) continue;
        part[0] = (double)liana__draw_below(draws, (int64_t)(height - h) + 1);
        part[1] = (double)liana__draw_below(draws, (int64_t)(width - w) + 1);
        part[2] = h;
        part[3] = w;
        return;
    }
    double ratio = fmin(fmax(width / height, options->min_ratio), options->max_ratio);
    part[3] = fmin(width, fmax(round(height * ratio), 1));
    part[2] = fmin(height, fmax(round(part[3] / ratio), 1));
    part[0] = floor((height - part[2]) / 2);
    part[1] = floor((width - part[3]) / 2);
}

static void resized_crop(const liana_augment_call *call, liana_point_mapping *mapping)
{
    double part[4]; /* top, left, height, width */
    choose_part(call->options, (double)call->shape.height, (double)call->shape.width, call->draws, part);
    mapping->from_output.m[0] = part[3] / (double)call->out.width;
    mapping->from_output.m[2] = part[1];
    mapping->from_output.m[4] = part[2] / (double)call->out.height;
    mapping->from_output.m[5] = part[0];
    mapping->inside = true;
}

const liana_augmentation_type liana__augmentation_random_resized_crop = {
    LIANA_PART(AUGMENTATION, liana_augmentation_type, "random_resized_crop",
               "Crops a part of random size, proportions and place, and resizes it, as Inception was trained.",
               LIANA_PART_OPTIONS(resized_options, resized_fields)),
    .draws_chance = true,
    .prepare = prepare_resized,
    .mapping = resized_crop,
};
