/* RandomFlip: mirrors every second image, on average, while a model is trained. */
#include "layers/images/images.h"

#include <liana/functions.h>
#include <liana/layers/image_geometry.h>

static const char *const modes[] = {"horizontal", "vertical", "horizontal_and_vertical", NULL};

static const liana_option rows[] = {
    LIANA_OPTION_ROW(liana_random_flip_options, mode, ENUM, .default_text = "horizontal_and_vertical", .names = modes,
                     .doc = "what changes places: left and right, top and bottom, or both"),
    LIANA__SEED_ROW(liana_random_flip_options),
};

static liana_tensor call_layer(liana_layer_call *call)
{
    const liana_random_flip_options *chosen = call->options;
    liana_tensor x = call->inputs[0];
    if (!call->training) return x;
    liana_tensor draw = liana__image_draw(call, liana__image_draws(call, chosen->seed, 1), 0, (liana__range){0, 1});
    liana_tensor flips = liana_op_less_equal_at(call->here, draw, liana__image_number(call, draw, 0.5));
    liana_axes axes = LIANA_AXES(1, 2);
    if (chosen->mode == LIANA_FLIP_HORIZONTAL) axes = LIANA_AXES(2);
    if (chosen->mode == LIANA_FLIP_VERTICAL) axes = LIANA_AXES(1);
    return liana_op_select_at(call->here, flips, liana_op_flip_at(call->here, x, axes), x);
}

static void to_keras(liana__arena *arena, const void *chosen, liana__value *config)
{
    liana__seed_to_keras(arena, ((const liana_random_flip_options *)chosen)->seed, config);
}

const liana_layer_type liana__layer_random_flip = {
    LIANA_PART(LAYER, liana_layer_type, "RandomFlip", "in training, mirrors every second image, on average",
               LIANA_PART_OPTIONS(liana_random_flip_options, rows)),
    LIANA__INPUTS(1, 1),
    .has_data_format = true,
    .reads_training = true,
    .weights = liana__build_images,
    .call = call_layer,
    .to_keras = to_keras,
};
