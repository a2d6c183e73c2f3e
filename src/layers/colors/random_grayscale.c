/* RandomGrayscale: takes the colours away from some images. */
#include "layers/colors/colors.h"

static const liana_option rows[] = {
    LIANA_OPTION_ROW(liana_random_grayscale_options, factor, FLOAT, .default_text = "0.5", .minimum = 0, .maximum = 1,
                     .doc = "the probability that an image becomes grey"),
    LIANA__SEED_ROW(liana_random_grayscale_options),
};

static liana_tensor call_layer(liana_layer_call *call)
{
    const liana_random_grayscale_options *chosen = call->options;
    const liana__range certain = {chosen->factor, chosen->factor};
    if (!call->training) return call->inputs[0];
    const liana_tensor x = call->inputs[0], draws = liana__image_draws(call, chosen->seed, 2);
    const liana_tensor is_chosen = liana__color_chosen(call, draws, 0, certain);
    return liana_op_select_at(call->here, is_chosen, liana__color_gray(call, x), x);
}

/* Keras does not keep the seed in its files. */
static void to_keras(liana__arena *arena, const void *options, liana__value *config)
{
    (void)arena;
    (void)options;
    liana__value_remove(config, "seed");
}

const liana_layer_type liana__layer_random_grayscale = {
    LIANA_PART(LAYER, liana_layer_type, "RandomGrayscale", "in training, makes some images grey",
               LIANA_PART_OPTIONS(liana_random_grayscale_options, rows)),
    LIANA__INPUTS(1, 1),
    .has_data_format = true,
    .reads_training = true,
    .masking = LIANA_MASKING_KEPT,
    .weights = liana__build_color_images,
    .call = call_layer,
    .to_keras = to_keras,
};
