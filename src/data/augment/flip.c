/* Reflections and quarter turns: no pixel is interpolated. */
#include "data/augment/augment.h"

#include <stddef.h>

/* ---- random_flip ---- */

enum { HORIZONTAL = 1, VERTICAL = 2 };
static const char *const directions[] = {"horizontal", "vertical", "horizontal_and_vertical", NULL};

typedef struct flip_options {
    liana_augment_sampling sampling;
    int direction; /* index in the names: HORIZONTAL - 1, ... */
} flip_options;

static const liana__field flip_fields[] = {
    LIANA_OPTION_ROW(flip_options, direction, ENUM, .default_text = "horizontal", .names = directions,
                     .doc = "The direction: left to right, top to bottom, or both, each with the probability."),
    LIANA_AUGMENT_ROWS("0.5"),
};

static void flip(const liana_augment_call *call, liana_point_mapping *mapping)
{
    const flip_options *options = call->options;
    double probability = options->sampling.common.probability;
    double *m = mapping->from_output.m;
    int wanted = options->direction + 1;
    bool first = liana__draw_chance(call->draws, probability), second = liana__draw_chance(call->draws, probability);
    if (wanted & HORIZONTAL && first) {
        m[0] = -1;
        m[2] = (double)call->shape.width;
    }
    if (wanted & VERTICAL && (wanted & HORIZONTAL ? second : first)) {
        m[4] = -1;
        m[5] = (double)call->shape.height;
    }
    mapping->exact = mapping->inside = true;
}

const liana_augmentation_type liana__augmentation_random_flip = {
    LIANA_PART(AUGMENTATION, liana_augmentation_type, "random_flip",
               "Reflects the image: left to right, or top to bottom.", LIANA_PART_OPTIONS(flip_options, flip_fields)),
    .draws_chance = true,
    .mapping = flip,
};

/* ---- random_rotate90 ---- */

static const liana__field turn_fields[] = {LIANA_AUGMENT_ROWS("1.0")};

static liana_status prepare_turn(liana_augment_setup *setup)
{
    if (setup->in.height == setup->in.width) return LIANA_OK;
    return liana_option_refuse(
        setup->check, NULL,
        "quarter turns need square images, but these are %lld x %lld (height x width); crop or resize "
        "them to a square before",
        (long long)setup->in.height, (long long)setup->in.width);
}

static void turn(const liana_augment_call *call, liana_point_mapping *mapping)
{
    static const double cosines[] = {1, 0, -1, 0};
    int64_t quarters = liana__draw_below(call->draws, 4);
    double c = cosines[quarters], s = cosines[(quarters + 3) % 4], centre = (double)call->shape.width / 2;
    mapping->from_output = liana__matrix_about(c, -s, s, c, centre, centre);
    mapping->exact = mapping->inside = true;
}

const liana_augmentation_type liana__augmentation_random_rotate90 = {
    LIANA_PART(AUGMENTATION, liana_augmentation_type, "random_rotate90",
               "Turns a square image by 0, 1, 2 or 3 quarters, all equally likely.",
               LIANA_PART_OPTIONS(liana_augment_sampling, turn_fields)),
    .prepare = prepare_turn,
    .mapping = turn,
};
