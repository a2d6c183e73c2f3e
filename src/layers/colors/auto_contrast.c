/* AutoContrast: stretches each channel of each image over the whole range of values. */
#include "layers/colors/colors.h"

static const liana_option rows[] = {LIANA__VALUE_RANGE_ROW(liana_auto_contrast_options)};

static liana_status check_options(liana_check *check)
{
    return liana__check_value_range(check, &((const liana_auto_contrast_options *)check->options)->value_range);
}

static liana_tensor call_layer(liana_layer_call *call)
{
    const liana_auto_contrast_options *chosen = call->options;
    return liana__color_auto_contrast(call, call->inputs[0], liana__value_range(&chosen->value_range));
}

static void to_keras(liana__arena *arena, const void *options, liana__value *config)
{
    const liana_auto_contrast_options *chosen = options;
    liana__range_to_keras(arena, config, "value_range", liana__value_range(&chosen->value_range));
}

const liana_layer_type liana__layer_auto_contrast = {
    LIANA_PART(LAYER, liana_layer_type, "AutoContrast", "stretches each channel of an image over the range of values",
               LIANA_PART_OPTIONS(liana_auto_contrast_options, rows), .check = check_options),
    LIANA__INPUTS(1, 1),
    .has_data_format = true,
    .masking = LIANA_MASKING_KEPT,
    .weights = liana__build_images,
    .call = call_layer,
    .to_keras = to_keras,
};
