/* Conv2D: convolution of images. */
#include "layers/convolution/convolution.h"

#include <liana/layers/convolution.h>

static const liana_option rows[] = {
    LIANA__COUNT_ROW(liana_conv2d_options, filters, .required = true, .doc = "number of channels of the result"),
    LIANA__WINDOW_ROWS(liana_conv2d_options),
    LIANA__DILATION_ROW(liana_conv2d_options),
    LIANA__COUNT_ROW(liana_conv2d_options, groups, .default_text = "1",
                     .doc = "number of groups of channels that are convolved separately"),
    LIANA__ACTIVATION_ROW(liana_conv2d_options),
    LIANA__BIAS_ROW(liana_conv2d_options),
    LIANA__INITIALIZER_ROW(liana_conv2d_options, kernel_initializer, "glorot_uniform"),
    LIANA__INITIALIZER_ROW(liana_conv2d_options, bias_initializer, "zeros"),
    LIANA__REGULARIZER_ROW(liana_conv2d_options, kernel_regularizer),
    LIANA__REGULARIZER_ROW(liana_conv2d_options, bias_regularizer),
    LIANA__REGULARIZER_ROW(liana_conv2d_options, activity_regularizer),
    LIANA__CONSTRAINT_ROW(liana_conv2d_options, kernel_constraint),
    LIANA__CONSTRAINT_ROW(liana_conv2d_options, bias_constraint),
};

static liana_status check_options(liana_check *check)
{
    const liana_conv2d_options *chosen = check->options;
    if (chosen->filters % chosen->groups) {
        return liana_option_refuse(check, "groups", "found %lld, which does not divide filters: %lld",
                                   (long long)chosen->groups, (long long)chosen->filters);
    }
    return liana__check_dilation(check, chosen->strides, chosen->dilation_rate);
}

static liana_status declare_weights(liana_layer_build *build)
{
    const liana_conv2d_options *chosen = build->options;
    LIANA_TRY(liana__build_images(build));
    int64_t channels = build->inputs[0].dims[3];
    if (channels % chosen->groups) return liana_layer_refuse(build, 0, "a number of channels that groups divides");
    liana_shape kernel =
        liana_shape_of(chosen->kernel_size[0], chosen->kernel_size[1], channels / chosen->groups, chosen->filters);
    liana_layer_add_weight(build, "kernel", kernel, chosen->kernel_initializer, true);
    if (chosen->use_bias) {
        liana_layer_add_weight(build, "bias", liana_shape_of(chosen->filters), chosen->bias_initializer, true);
    }
    return build->status;
}

static liana_tensor call_layer(liana_layer_call *call)
{
    const liana_conv2d_options *chosen = call->options;
    liana_conv_options convolution =
        liana__conv_options(chosen->strides, chosen->padding, chosen->dilation_rate, chosen->groups);
    liana_tensor x = liana_op_conv2d_at(call->here, call->inputs[0], call->weights[0], convolution);
    return liana__bias_and_activate(call, x, chosen->use_bias ? &call->weights[1] : NULL, chosen->activation);
}

/* Keras before 2.3 does not know the option. */
static void to_keras(liana__arena *arena, const void *chosen, liana__value *config)
{
    (void)arena;
    const liana_conv2d_options *conv = chosen;
    if (conv->groups == 1) liana__value_remove(config, "groups");
}

const liana_layer_type liana__layer_conv2d = {
    LIANA_PART(LAYER, liana_layer_type, "Conv2D", "convolution of images, with one kernel for each filter",
               LIANA_PART_OPTIONS(liana_conv2d_options, rows), .check = check_options),
    LIANA__INPUTS(1, 1),
    .has_data_format = true,
    .weights = declare_weights,
    .call = call_layer,
    .to_keras = to_keras,
};
