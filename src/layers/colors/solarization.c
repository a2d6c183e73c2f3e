/* Solarization: adds to values, and inverts those from a threshold on. */
#include "layers/colors/colors.h"

static const liana_option rows[] = {
    LIANA__FACTOR_ROW(liana_solarization_options, addition_factor,
                      .doc = "what is added, as a part of 255, or the two ends of its range; default: 0"),
    LIANA__FACTOR_ROW(liana_solarization_options, threshold_factor,
                      .doc = "from where values are inverted, as a part of 255, or the two ends of its range; "
                             "default: 0, all are"),
    LIANA__VALUE_RANGE_ROW(liana_solarization_options),
    LIANA__SEED_ROW(liana_solarization_options),
};

static const liana__range unit = {0, 1}, none = {0, 0};

static liana_status check_options(liana_check *check)
{
    const liana_solarization_options *chosen = check->options;
    LIANA_TRY(liana__check_factor(check, "addition_factor", &chosen->addition_factor, unit.low, unit.high));
    LIANA_TRY(liana__check_factor(check, "threshold_factor", &chosen->threshold_factor, unit.low, unit.high));
    return liana__check_value_range(check, &chosen->value_range);
}

static liana_tensor call_layer(liana_layer_call *call)
{
    const liana_solarization_options *chosen = call->options;
    if (!call->training) return call->inputs[0];
    const liana_tensor draws = liana__image_draws(call, chosen->seed, 2);
    const liana__range addition = liana__range_or(&chosen->addition_factor, 0, none);
    const liana__range threshold = liana__range_or(&chosen->threshold_factor, 0, none);
    return liana__color_solarize(call, call->inputs[0], liana__value_range(&chosen->value_range),
                                 liana__draw_level(call, draws, 0, addition),
                                 liana__draw_level(call, draws, 1, threshold));
}

static void to_keras(liana__arena *arena, const void *options, liana__value *config)
{
    const liana_solarization_options *chosen = options;
    liana__range_to_keras(arena, config, "addition_factor", liana__range_or(&chosen->addition_factor, 0, none));
    liana__range_to_keras(arena, config, "threshold_factor", liana__range_or(&chosen->threshold_factor, 0, none));
    liana__range_to_keras(arena, config, "value_range", liana__value_range(&chosen->value_range));
    liana__seed_to_keras(arena, chosen->seed, config);
}

const liana_layer_type liana__layer_solarization = {
    LIANA_PART(LAYER, liana_layer_type, "Solarization", "in training, adds to values and inverts the great ones",
               LIANA_PART_OPTIONS(liana_solarization_options, rows), .check = check_options),
    LIANA__INPUTS(1, 1),
    .has_data_format = true,
    .reads_training = true,
    .masking = LIANA_MASKING_KEPT,
    .weights = liana__build_images,
    .call = call_layer,
    .to_keras = to_keras,
};
