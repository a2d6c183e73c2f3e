/* Resizes to a given size. First in the list, it is the size in which images are decoded (and cached), so that a crop
 * has something to cut away. */
#include "data/augment/augment.h"

#include <stddef.h>

typedef struct resize_options {
    liana_augment_sampling sampling;
    int64_t size[2];
} resize_options;

static const liana__field fields[] = {
    LIANA_OPTION_ROW(resize_options, size, INT_PAIR, .required = true, .minimum = 1, .maximum = 16384,
                     .doc = "[height, width] in pixels."),
    LIANA_OPTION_ROW(liana_augment_sampling, interpolation, ENUM, .default_text = "bilinear",
                     .names = liana_interpolation_names,
                     .doc = "The interpolation between pixels. First in the list, data.resize is used instead."),
};

static liana_status prepare(liana_augment_setup *setup)
{
    const resize_options *options = setup->check->options;
    setup->out.height = options->size[0];
    setup->out.width = options->size[1];
    return LIANA_OK;
}

static void map(const liana_augment_call *call, liana_point_mapping *mapping)
{
    mapping->from_output.m[0] = (double)call->shape.width / (double)call->out.width;
    mapping->from_output.m[4] = (double)call->shape.height / (double)call->out.height;
    mapping->inside = true;
}

const liana_augmentation_type liana__augmentation_resize = {
    LIANA_PART(AUGMENTATION, liana_augmentation_type, "resize",
               "Resizes the image, not randomly. First in the list, it is the size to which images are decoded.",
               LIANA_PART_OPTIONS(resize_options, fields)),
    .draws_chance = true,
    .is_decoding = true,
    .prepare = prepare,
    .mapping = map,
};
