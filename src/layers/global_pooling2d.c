/* GlobalAveragePooling2D and GlobalMaxPooling2D. */
#include "layers/option_rows.h"

static const liana__field rows[] = {
    LIANA__FIELD_ROW(liana_global_pooling2d_options, keepdims, BOOL, .default_text = "false",
                     .doc = "whether the result is [batch, 1, 1, channels]"),
};
static const liana__fields average_options =
    LIANA__FIELD_TABLE("GlobalAveragePooling2D", liana_global_pooling2d_options, rows);
static const liana__fields max_options = LIANA__FIELD_TABLE("GlobalMaxPooling2D", liana_global_pooling2d_options, rows);

static liana_tensor call_average(liana__layer_call *call)
{
    const liana_global_pooling2d_options *chosen = call->options;
    return liana_op_reduce_mean_at(call->here, call->inputs[0], LIANA_AXES(1, 2), chosen->keepdims);
}

static liana_tensor call_max(liana__layer_call *call)
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

const liana__layer_type liana__layer_global_average_pooling2d = {
    .name = "GlobalAveragePooling2D",
    .doc = "the mean of each channel",
    .options = &average_options,
    .min_inputs = 1,
    .max_inputs = 1,
    .has_data_format = true,
    .sums = LIANA__SUMS_KEPT,
    .weights = liana__build_images,
    .call = call_average,
    .to_keras = to_keras,
};

const liana__layer_type liana__layer_global_max_pooling2d = {
    .name = "GlobalMaxPooling2D",
    .doc = "the maximum of each channel",
    .options = &max_options,
    .min_inputs = 1,
    .max_inputs = 1,
    .has_data_format = true,
    .weights = liana__build_images,
    .call = call_max,
    .to_keras = to_keras,
};
