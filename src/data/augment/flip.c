/* Reflections and quarter turns: no pixel is interpolated. */
#include "data/augment/augment.h"

#include <stddef.h>

/* ---- random_flip ---- */

enum { HORIZONTAL = 1, VERTICAL = 2 };
static const char *const directions[] = {"horizontal", "vertical", "horizontal_and_vertical", NULL};

typedef struct flip_options {
    liana__augment_sampling sampling;
    int direction; /* index in the names: HORIZONTAL - 1, ... */
} flip_options;

static const liana__field flip_fields[] = {
    {.name = "direction",
     .kind = LIANA__FIELD_ENUM,
     .offset = offsetof(flip_options, direction),
     .default_text = "horizontal",
     .names = directions,
     .doc = "The direction: left to right, top to bottom, or both, each with the probability."},
    LIANA__AUGMENT_FIELDS("0.5"),
};
static const liana__fields flip_table = {"random_flip", sizeof(flip_options), 2, flip_fields};

static void flip(const void *own, const liana__augment_shape *in, const liana__augment_shape *out, liana__draws *draws,
                 liana__point_mapping *mapping)
{
    (void)out;
    const flip_options *options = own;
    double probability = options->sampling.common.probability;
    double *m = mapping->from_output.m;
    int wanted = options->direction + 1;
    bool first = liana__draw_chance(draws, probability), second = liana__draw_chance(draws, probability);
    if (wanted & HORIZONTAL && first) {
        m[0] = -1;
        m[2] = (double)in->width;
    }
    if (wanted & VERTICAL && (wanted & HORIZONTAL ? second : first)) {
        m[4] = -1;
        m[5] = (double)in->height;
    }
    mapping->exact = mapping->inside = true;
}

const liana__augmentation liana__augmentation_random_flip = {
    .name = "random_flip",
    .doc = "Reflects the image: left to right, or top to bottom.",
    .options = &flip_table,
    .draws_chance = true,
    .mapping = flip,
};

/* ---- random_rotate90 ---- */

static const liana__field turn_fields[] = {LIANA__AUGMENT_FIELDS("1.0")};
static const liana__fields turn_table = {"random_rotate90", sizeof(liana__augment_sampling), 1, turn_fields};

static liana_status prepare_turn(const void *options, liana__augment_setup *setup, liana__error *error)
{
    (void)options;
    if (setup->in.height == setup->in.width) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_CONFIG,
                       "quarter turns need square images, but these are %lld x %lld (height x width); crop or resize "
                       "them to a square before",
                       (long long)setup->in.height, (long long)setup->in.width);
}

static void turn(const void *options, const liana__augment_shape *in, const liana__augment_shape *out,
                 liana__draws *draws, liana__point_mapping *mapping)
{
    (void)options;
    (void)out;
    static const double cosines[] = {1, 0, -1, 0};
    int64_t quarters = liana__draw_below(draws, 4);
    double c = cosines[quarters], s = cosines[(quarters + 3) % 4], centre = (double)in->width / 2;
    mapping->from_output = liana__matrix_about(c, -s, s, c, centre, centre);
    mapping->exact = mapping->inside = true;
}

const liana__augmentation liana__augmentation_random_rotate90 = {
    .name = "random_rotate90",
    .doc = "Turns a square image by 0, 1, 2 or 3 quarters, all equally likely.",
    .options = &turn_table,
    .prepare = prepare_turn,
    .mapping = turn,
};
