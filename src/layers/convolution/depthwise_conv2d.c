/* DepthwiseConv2D: convolves each channel by itself. */
#include "layers/convolution/convolution.h"

#include <liana/layers/convolution.h>

static const liana_option rows[] = {
    LIANA__WINDOW_ROWS(liana_depthwise_conv2d_options),
    LIANA__COUNT_ROW(liana_depthwise_conv2d_options, depth_multiplier, .default_text = "1",
                     .doc = "number of kernels for each channel"),
    LIANA__DILATION_ROW(liana_depthwise_conv2d_options),
    LIANA__ACTIVATION_ROW(liana_depthwise_conv2d_options),
    LIANA__BIAS_ROW(liana_depthwise_conv2d_options),
    LIANA__INITIALIZER_ROW(liana_depthwise_conv2d_options, depthwise_initializer, "glorot_uniform"),
    LIANA__INITIALIZER_ROW(liana_depthwise_conv2d_options, bias_initializer, "zeros"),
    LIANA__REGULARIZER_ROW(liana_depthwise_conv2d_options, depthwise_regularizer),
    LIANA__REGULARIZER_ROW(liana_depthwise_conv2d_options, bias_regularizer),
    LIANA__REGULARIZER_ROW(liana_depthwise_conv2d_options, activity_regularizer),
    LIANA__CONSTRAINT_ROW(liana_depthwise_conv2d_options, depthwise_constraint),
    LIANA__CONSTRAINT_ROW(liana_depthwise_conv2d_options, bias_constraint),
};

static liana_status check_options(liana_check *check)
{
    const liana_depthwise_conv2d_options *chosen = check->options;
    return liana__check_dilation(check, chosen->strides, chosen->dilation_rate);
}

static liana_status declare_weights(liana_layer_build *build)
{
    const liana_depthwise_conv2d_options *chosen = build->options;
    LIANA_TRY(liana__build_images(build));
    int64_t channels = build->inputs[0].dims[3];
    liana_shape kernel =
        liana_shape_of(chosen->kernel_size[0], chosen->kernel_size[1], channels, chosen->depth_multiplier);
    liana_layer_add_weight(build, "depthwise_kernel", kernel, chosen->depthwise_initializer, true);
    if (chosen->use_bias) {
        liana_layer_add_weight(build, "bias", liana_shape_of(channels * chosen->depth_multiplier),
                               chosen->bias_initializer, true);
    }
    return build->status;
}

static liana_tensor call_layer(liana_layer_call *call)
{
    const liana_depthwise_conv2d_options *chosen = call->options;
    liana_conv_options convolution = liana__conv_options(chosen->strides, chosen->padding, chosen->dilation_rate, 1);
    liana_tensor x = liana_op_depthwise_conv2d_at(call->here, call->inputs[0], call->weights[0], convolution);
    return liana__bias_and_activate(call, x, chosen->use_bias ? &call->weights[1] : NULL, chosen->activation);
}

const liana_layer_type liana__layer_depthwise_conv2d = {
    LIANA_PART(LAYER, liana_layer_type, "DepthwiseConv2D", "convolution of each channel with kernels of its own",
               LIANA_PART_OPTIONS(liana_depthwise_conv2d_options, rows), .check = check_options),
    LIANA__INPUTS(1, 1),
    .has_data_format = true,
    .weights = declare_weights,
    .call = call_layer,
};
