/* SeparableConv2D: a depthwise convolution and one of single pixels. */
#include "layers/convolution/convolution.h"

#include <liana/layers/convolution.h>

static const liana_option rows[] = {
    LIANA__COUNT_ROW(liana_separable_conv2d_options, filters, .required = true,
                     .doc = "number of channels of the result"),
    LIANA__WINDOW_ROWS(liana_separable_conv2d_options),
    LIANA__DILATION_ROW(liana_separable_conv2d_options),
    LIANA__COUNT_ROW(liana_separable_conv2d_options, depth_multiplier, .default_text = "1",
                     .doc = "number of depthwise kernels for each channel"),
    LIANA__ACTIVATION_ROW(liana_separable_conv2d_options),
    LIANA__BIAS_ROW(liana_separable_conv2d_options),
    LIANA__INITIALIZER_ROW(liana_separable_conv2d_options, depthwise_initializer, "glorot_uniform"),
    LIANA__INITIALIZER_ROW(liana_separable_conv2d_options, pointwise_initializer, "glorot_uniform"),
    LIANA__INITIALIZER_ROW(liana_separable_conv2d_options, bias_initializer, "zeros"),
    LIANA__REGULARIZER_ROW(liana_separable_conv2d_options, depthwise_regularizer),
    LIANA__REGULARIZER_ROW(liana_separable_conv2d_options, pointwise_regularizer),
    LIANA__REGULARIZER_ROW(liana_separable_conv2d_options, bias_regularizer),
    LIANA__REGULARIZER_ROW(liana_separable_conv2d_options, activity_regularizer),
    LIANA__CONSTRAINT_ROW(liana_separable_conv2d_options, depthwise_constraint),
    LIANA__CONSTRAINT_ROW(liana_separable_conv2d_options, pointwise_constraint),
    LIANA__CONSTRAINT_ROW(liana_separable_conv2d_options, bias_constraint),
};

static liana_status check_options(liana_check *check)
{
    const liana_separable_conv2d_options *chosen = check->options;
    return liana__check_dilation(check, chosen->strides, chosen->dilation_rate);
}

static liana_status declare_weights(liana_layer_build *build)
{
    const liana_separable_conv2d_options *chosen = build->options;
    LIANA_TRY(liana__build_images(build));
    int64_t channels = build->inputs[0].dims[3];
    liana_shape depthwise =
        liana_shape_of(chosen->kernel_size[0], chosen->kernel_size[1], channels, chosen->depth_multiplier);
    liana_shape pointwise = liana_shape_of(1, 1, channels * chosen->depth_multiplier, chosen->filters);
    liana_layer_add_weight(build, "depthwise_kernel", depthwise, chosen->depthwise_initializer, true);
    liana_layer_add_weight(build, "pointwise_kernel", pointwise, chosen->pointwise_initializer, true);
    if (chosen->use_bias) {
        liana_layer_add_weight(build, "bias", liana_shape_of(chosen->filters), chosen->bias_initializer, true);
    }
    return build->status;
}

static liana_tensor call_layer(liana_layer_call *call)
{
    const liana_separable_conv2d_options *chosen = call->options;
    liana_conv_options depthwise = liana__conv_options(chosen->strides, chosen->padding, chosen->dilation_rate, 1);
    liana_tensor x = liana_op_depthwise_conv2d_at(call->here, call->inputs[0], call->weights[0], depthwise);
    x = liana_op_conv2d_at(call->here, x, call->weights[1], (liana_conv_options){.padding = LIANA_PADDING_VALID});
    return liana__bias_and_activate(call, x, chosen->use_bias ? &call->weights[2] : NULL, chosen->activation);
}

const liana_layer_type liana__layer_separable_conv2d = {
    LIANA_PART(LAYER, liana_layer_type, "SeparableConv2D",
               "depthwise convolution, then a 1 x 1 convolution that mixes the channels",
               LIANA_PART_OPTIONS(liana_separable_conv2d_options, rows), .check = check_options),
    LIANA__INPUTS(1, 1),
    .has_data_format = true,
    .weights = declare_weights,
    .call = call_layer,
};
