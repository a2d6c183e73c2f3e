/* GlobalAveragePooling1D to 3D and GlobalMaxPooling1D to 3D. */
#include "layers/convolution/convolution.h"

static const liana_option rows[] = {
    LIANA_OPTION_ROW(liana_global_pooling_options, keepdims, BOOL, .default_text = "false",
                     .doc = "whether the result keeps the axes, with size 1"),
};

/* All axes between batch and channels. */
static liana_axes inner_axes(liana_tensor x)
{
    liana_axes axes = {.count = liana_tensor_shape(x).rank - 2};
    for (int64_t i = 0; i < axes.count; i++) axes.values[i] = i + 1;
    return axes;
}

/* The mean over the steps that the mask keeps; 0 if it keeps none (Keras divides 0 by 0). */
static liana_tensor masked_mean(liana_layer_call *call, bool keepdims)
{
    liana_tensor x = call->inputs[0], mask = call->masks[0];
    liana_dtype dtype = liana_tensor_dtype(x);
    liana_shape shape = liana_tensor_shape(mask);
    mask = liana_op_reshape_at(call->here, mask, liana_shape_of(shape.dims[0], shape.dims[1], 1));
    liana_tensor zero = liana_graph_scalar_at(call->here, x.graph, dtype, 0);
    liana_tensor one = liana_graph_scalar_at(call->here, x.graph, dtype, 1);
    x = liana_op_select_at(call->here, mask, x, zero);
    liana_tensor sum = liana_op_reduce_sum_at(call->here, x, LIANA_AXES(1), keepdims);
    liana_tensor count = liana_op_cast_at(call->here, mask, dtype);
    count = liana_op_reduce_sum_at(call->here, count, LIANA_AXES(1), keepdims);
    return liana_op_divide_at(call->here, sum, liana_op_maximum_at(call->here, count, one));
}

static liana_tensor call_average(liana_layer_call *call)
{
    const bool keepdims = ((const liana_global_pooling_options *)call->options)->keepdims;
    const bool of_steps = liana_tensor_shape(call->inputs[0]).rank == 3;
    const bool masked = of_steps && call->masks[0].id && liana_tensor_shape(call->masks[0]).rank == 2;
    if (masked) return masked_mean(call, keepdims);
    return liana_op_reduce_mean_at(call->here, call->inputs[0], inner_axes(call->inputs[0]), keepdims);
}

/* As in Keras, a mask is ignored. */
static liana_tensor call_max(liana_layer_call *call)
{
    const bool keepdims = ((const liana_global_pooling_options *)call->options)->keepdims;
    return liana_op_reduce_max_at(call->here, call->inputs[0], inner_axes(call->inputs[0]), keepdims);
}

/* Keras before 2.6 and TensorFlow.js do not know the option. */
static void to_keras(liana__arena *arena, const void *options, liana__value *config)
{
    (void)arena;
    if (!((const liana_global_pooling_options *)options)->keepdims) liana__value_remove(config, "keepdims");
}

#define GLOBAL_POOLING_LAYER(number, kind, class_name, class_doc, ...)         \
    const liana_layer_type liana__layer_global_##kind##_pooling##number##d = { \
        LIANA_PART(LAYER, liana_layer_type, class_name, class_doc,             \
                   LIANA_PART_OPTIONS(liana_global_pooling_options, rows)),    \
        LIANA__INPUTS(1, 1),                                                   \
        .has_data_format = true,                                               \
        .weights = weights_##number,                                           \
        .call = call_##kind,                                                   \
        .to_keras = to_keras,                                                  \
        __VA_ARGS__};

#define GLOBAL_POOLING(number, mean_doc, ...)                                                        \
    static liana_status weights_##number(liana_layer_build *build)                                   \
    {                                                                                                \
        return liana__build_spatial(build, number);                                                  \
    }                                                                                                \
    GLOBAL_POOLING_LAYER(number, average, "GlobalAveragePooling" #number "D", mean_doc, __VA_ARGS__) \
    GLOBAL_POOLING_LAYER(number, max, "GlobalMaxPooling" #number "D", "the maximum of each channel")

GLOBAL_POOLING(1, "the mean of each channel over the steps that a mask keeps")
GLOBAL_POOLING(2, "the mean of each channel", .sums = LIANA_SUMS_KEPT)
GLOBAL_POOLING(3, "the mean of each channel", .sums = LIANA_SUMS_KEPT)
