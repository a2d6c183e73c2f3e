/* GlobalAveragePooling2D and GlobalMaxPooling2D. */
#include "layers/option_rows.h"

#include <liana/layers/pooling.h>

static const liana_option rows[] = {
    LIANA_OPTION_ROW(liana_global_pooling2d_options, keepdims, BOOL, .default_text = "false",
                     .doc = "whether the result is [batch, 1, 1, channels]"),
};

static liana_tensor call_average(liana_layer_call *call)
{
    const liana_global_pooling2d_options *chosen = call->options;
    return liana_op_reduce_mean_at(call->here, call->inputs[0], LIANA_AXES(1, 2), chosen->keepdims);
}

static liana_tensor call_max(liana_layer_call *call)
{
    const liana_global_pooling2d_options *chosen = call->options;
    return liana_op_reduce_max_at(call->here, call->inputs[0], LIANA_AXES(1, 2), chosen->keepdims);
}

/* Keras before 2.6 and TensorFlow.js do not know the option. */
static void to_keras(liana__arena *arena, const void *options, liana__value *config)
{
    (void)arena;
    const liana_global_pooling2d_options *chosen = options;
    if (!chosen->keepdims) liana__value_remove(config, "keepdims");
}

const liana_layer_type liana__layer_global_average_pooling2d = {
    LIANA_PART(LAYER, liana_layer_type, "GlobalAveragePooling2D", "the mean of each channel",
               LIANA_PART_OPTIONS(liana_global_pooling2d_options, rows)),
    LIANA__INPUTS(1, 1),
    .has_data_format = true,
    .sums = LIANA_SUMS_KEPT,
    .weights = liana__build_images,
    .call = call_average,
    .to_keras = to_keras,
};

const liana_layer_type liana__layer_global_max_pooling2d = {
    LIANA_PART(LAYER, liana_layer_type, "GlobalMaxPooling2D", "the maximum of each channel",
               LIANA_PART_OPTIONS(liana_global_pooling2d_options, rows)),
    LIANA__INPUTS(1, 1),
    .has_data_format = true,
    .weights = liana__build_images,
    .call = call_max,
    .to_keras = to_keras,
};
