/* GlobalAveragePooling1D and GlobalMaxPooling1D. */
#include "layers/option_rows.h"

#include <liana/layers/pooling.h>

static const liana_option rows[] = {
    LIANA_OPTION_ROW(liana_global_pooling1d_options, keepdims, BOOL, .default_text = "false",
                     .doc = "whether the result is [batch, 1, channels]"),
};

static liana_status check_steps(liana_layer_build *build)
{
    if (build->inputs[0].rank == 3) return LIANA_OK;
    return liana_layer_refuse(build, 0, "sequences: [batch, steps, channels]");
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
    const liana_global_pooling1d_options *chosen = call->options;
    if (call->masks[0].id && liana_tensor_shape(call->masks[0]).rank == 2) return masked_mean(call, chosen->keepdims);
    return liana_op_reduce_mean_at(call->here, call->inputs[0], LIANA_AXES(1), chosen->keepdims);
}

/* As in Keras, a mask is ignored. */
static liana_tensor call_max(liana_layer_call *call)
{
    const liana_global_pooling1d_options *chosen = call->options;
    return liana_op_reduce_max_at(call->here, call->inputs[0], LIANA_AXES(1), chosen->keepdims);
}

const liana_layer_type liana__layer_global_average_pooling1d = {
    LIANA_PART(LAYER, liana_layer_type, "GlobalAveragePooling1D",
               "the mean of each channel over the steps that a mask keeps",
               LIANA_PART_OPTIONS(liana_global_pooling1d_options, rows)),
    LIANA__INPUTS(1, 1),
    .has_data_format = true,
    .weights = check_steps,
    .call = call_average,
};

const liana_layer_type liana__layer_global_max_pooling1d = {
    LIANA_PART(LAYER, liana_layer_type, "GlobalMaxPooling1D", "the maximum of each channel over all steps",
               LIANA_PART_OPTIONS(liana_global_pooling1d_options, rows)),
    LIANA__INPUTS(1, 1),
    .has_data_format = true,
    .weights = check_steps,
    .call = call_max,
};
