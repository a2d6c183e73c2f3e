/* Resizes to a given size. First in the list, it is the size in which images are decoded (and cached), so that a crop
 * has something to cut away. */
#include "data/augment/augment.h"

#include <stddef.h>

typedef struct resize_options {
    liana__augment_sampling sampling;
    int64_t size[2];
} resize_options;

static const liana__field fields[] = {
    {.name = "size",
     .kind = LIANA__FIELD_INT_PAIR,
     .offset = offsetof(resize_options, size),
     .required = true,
     .minimum = 1,
     .maximum = 16384,
     .doc = "[height, width] in pixels."},
    {.name = "interpolation",
     .kind = LIANA__FIELD_ENUM,
     .offset = offsetof(liana__augment_sampling, interpolation),
     .default_text = "bilinear",
     .names = liana__interpolation_names,
     .doc = "The interpolation between pixels. First in the list, data.resize is used instead."},
};
static const liana__fields table = {"resize", sizeof(resize_options), sizeof fields / sizeof *fields, fields};

static liana_status prepare(const void *own, liana__augment_setup *setup, liana__error *error)
{
    (void)error;
    const resize_options *options = own;
    setup->out.height = options->size[0];
    setup->out.width = options->size[1];
    return LIANA_OK;
}

static void map(const void *options, const liana__augment_shape *in, const liana__augment_shape *out,
                liana__draws *draws, liana__point_mapping *mapping)
{
    (void)options;
    (void)draws;
    mapping->from_output.m[0] = (double)in->width / (double)out->width;
    mapping->from_output.m[4] = (double)in->height / (double)out->height;
    mapping->inside = true;
}

const liana__augmentation liana__augmentation_resize = {
    .name = "resize",
    .doc = "Resizes the image, not randomly. First in the list, it is the size to which images are decoded.",
    .options = &table,
    .draws_chance = true,
    .prepare = prepare,
    .mapping = map,
};
