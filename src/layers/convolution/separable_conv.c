/* SeparableConv1D and SeparableConv2D: a depthwise convolution and one of single cells. */
#include "layers/convolution/convolution.h"

/* The options of both. */
typedef struct separable {
    liana__layer_window window;
    int64_t filters, depth_multiplier;
    bool use_bias;
    const char *activation, *depthwise_initializer, *pointwise_initializer, *bias_initializer;
} separable;

static liana_status declare_weights(liana_layer_build *build, const separable *chosen)
{
    LIANA_TRY(liana__build_window(build, "kernel_size", &chosen->window));
    static const int64_t ones[LIANA__MOST_AXES] = {1, 1, 1};
    const int64_t channels = build->inputs[0].dims[chosen->window.axes + 1], multiplier = chosen->depth_multiplier;
    const liana__layer_window cell = {.axes = chosen->window.axes, .size = ones};
    liana_layer_add_weight(build, "depthwise_kernel", liana__kernel_shape(&chosen->window, channels, multiplier),
                           chosen->depthwise_initializer, true);
    liana_layer_add_weight(build, "pointwise_kernel",
                           liana__kernel_shape(&cell, channels * multiplier, chosen->filters),
                           chosen->pointwise_initializer, true);
    if (chosen->use_bias) {
        liana_layer_add_weight(build, "bias", liana_shape_of(chosen->filters), chosen->bias_initializer, true);
    }
    return build->status;
}

static liana_tensor call_layer(liana_layer_call *call, const separable *chosen)
{
    liana_tensor x =
        liana_op_depthwise_conv2d_at(call->here, liana__as_images(call, call->inputs[0]),
                                     liana__as_kernel(call, call->weights[0]), liana__conv_options(&chosen->window, 1));
    x = liana_op_conv2d_at(call->here, x, liana__as_kernel(call, call->weights[1]),
                           (liana_conv_options){.padding = LIANA_PADDING_VALID});
    x = liana__from_images(call, x, call->inputs[0]);
    return liana__bias_and_activate(call, x, chosen->use_bias ? &call->weights[2] : NULL, chosen->activation);
}

#define SEPARABLE(number, class_name, class_doc)                                                                       \
    static const liana_option rows_##number[] = {                                                                      \
        LIANA__COUNT_ROW(liana_separable_conv##number##d_options, filters, .required = true,                           \
                         .doc = "number of channels of the result"),                                                   \
        LIANA__WINDOW_ROWS(liana_separable_conv##number##d_options, number, liana__padding_names, LIANA__PADDING_DOC), \
        LIANA__DILATION_ROW(liana_separable_conv##number##d_options, number),                                          \
        LIANA__COUNT_ROW(liana_separable_conv##number##d_options, depth_multiplier, .default_text = "1",               \
                         .doc = "number of depthwise kernels for each channel"),                                       \
        LIANA__ACTIVATION_ROW(liana_separable_conv##number##d_options),                                                \
        LIANA__BIAS_ROW(liana_separable_conv##number##d_options),                                                      \
        LIANA__INITIALIZER_ROW(liana_separable_conv##number##d_options, depthwise_initializer, "glorot_uniform"),      \
        LIANA__INITIALIZER_ROW(liana_separable_conv##number##d_options, pointwise_initializer, "glorot_uniform"),      \
        LIANA__INITIALIZER_ROW(liana_separable_conv##number##d_options, bias_initializer, "zeros"),                    \
        LIANA__REGULARIZER_ROW(liana_separable_conv##number##d_options, depthwise_regularizer),                        \
        LIANA__REGULARIZER_ROW(liana_separable_conv##number##d_options, pointwise_regularizer),                        \
        LIANA__REGULARIZER_ROW(liana_separable_conv##number##d_options, bias_regularizer),                             \
        LIANA__REGULARIZER_ROW(liana_separable_conv##number##d_options, activity_regularizer),                         \
        LIANA__CONSTRAINT_ROW(liana_separable_conv##number##d_options, depthwise_constraint),                          \
        LIANA__CONSTRAINT_ROW(liana_separable_conv##number##d_options, pointwise_constraint),                          \
        LIANA__CONSTRAINT_ROW(liana_separable_conv##number##d_options, bias_constraint),                               \
    };                                                                                                                 \
    static separable read_##number(const void *options)                                                                \
    {                                                                                                                  \
        const liana_separable_conv##number##d_options *chosen = options;                                               \
        return (separable){LIANA__LAYER_WINDOW(chosen),                                                                \
                           chosen->filters,                                                                            \
                           chosen->depth_multiplier,                                                                   \
                           chosen->use_bias,                                                                           \
                           chosen->activation,                                                                         \
                           chosen->depthwise_initializer,                                                              \
                           chosen->pointwise_initializer,                                                              \
                           chosen->bias_initializer};                                                                  \
    }                                                                                                                  \
    static liana_status weights_##number(liana_layer_build *build)                                                     \
    {                                                                                                                  \
        const separable chosen = read_##number(build->options);                                                        \
        return declare_weights(build, &chosen);                                                                        \
    }                                                                                                                  \
    static liana_tensor call_##number(liana_layer_call *call)                                                          \
    {                                                                                                                  \
        const separable chosen = read_##number(call->options);                                                         \
        return call_layer(call, &chosen);                                                                              \
    }                                                                                                                  \
    const liana_layer_type liana__layer_separable_conv##number##d = {                                                  \
        LIANA_PART(LAYER, liana_layer_type, class_name, class_doc,                                                     \
                   LIANA_PART_OPTIONS(liana_separable_conv##number##d_options, rows_##number)),                        \
        LIANA__INPUTS(1, 1),                                                                                           \
        .has_data_format = true,                                                                                       \
        .weights = weights_##number,                                                                                   \
        .call = call_##number,                                                                                         \
    };

SEPARABLE(1, "SeparableConv1D", "depthwise convolution of sequences, then one of single steps that mixes the channels")
SEPARABLE(2, "SeparableConv2D", "depthwise convolution, then a 1 x 1 convolution that mixes the channels")
