/* RandAugment: some drawn changes one after the other. */
#include "layers/colors/changes.h"

static const liana_option rows[] = {
    LIANA__VALUE_RANGE_ROW(liana_rand_augment_options),
    LIANA_OPTION_ROW(liana_rand_augment_options, num_ops, INT, .default_text = "2", .minimum = 0, .maximum = 100,
                     .doc = "changes of an image, one after the other"),
    LIANA__FACTOR_ROW(liana_rand_augment_options, factor,
                      .doc = "their strength, or the two ends of its range; default: 0.5, which is from 0 to 0.5"),
    LIANA_OPTION_ROW(liana_rand_augment_options, interpolation, ENUM, .default_text = "bilinear",
                     .names = liana__change_interpolations, .doc = "how values between pixels are found"),
    LIANA__SEED_ROW(liana_rand_augment_options),
};

static const liana__range unit = {0, 1}, usual = {0, 0.5};

static liana_status check_options(liana_check *check)
{
    const liana_rand_augment_options *chosen = check->options;
    LIANA_TRY(liana__check_factor(check, "factor", &chosen->factor, unit.low, unit.high));
    return liana__check_value_range(check, &chosen->value_range);
}

static liana_tensor call_layer(liana_layer_call *call)
{
    const liana_rand_augment_options *chosen = call->options;
    liana_tensor x = call->inputs[0];
    if (!call->training || chosen->num_ops == 0) return x;
    const liana__strength strength = {liana__range_or(&chosen->factor, 0, usual),
                                      liana__value_range(&chosen->value_range), chosen->interpolation, chosen->seed};
    const liana_tensor draws = liana__image_draws(call, chosen->seed, chosen->num_ops);
    for (int64_t i = 0; i < chosen->num_ops; i++) {
        x = liana__change_images(call, &strength, x, draws, i, LIANA__MOST_CHANGES, false);
    }
    return x;
}

static void to_keras(liana__arena *arena, const void *options, liana__value *config)
{
    const liana_rand_augment_options *chosen = options;
    liana__range_to_keras(arena, config, "factor", liana__range_or(&chosen->factor, 0, usual));
    liana__range_to_keras(arena, config, "value_range", liana__value_range(&chosen->value_range));
    liana__seed_to_keras(arena, chosen->seed, config);
}

const liana_layer_type liana__layer_rand_augment = {
    LIANA_PART(LAYER, liana_layer_type, "RandAugment", "in training, makes some drawn changes of each image",
               LIANA_PART_OPTIONS(liana_rand_augment_options, rows), .check = check_options),
    LIANA__INPUTS(1, 1),
    .has_data_format = true,
    .reads_training = true,
    .masking = LIANA_MASKING_KEPT,
    .weights = liana__build_color_images,
    .call = call_layer,
    .to_keras = to_keras,
};
