/* Conv1DTranspose, Conv2DTranspose and Conv3DTranspose: transposed convolutions. */
#include "layers/convolution/convolution.h"

#include <stdio.h>

/* The options of any of the three. */
typedef struct transposed {
    liana__layer_window window;
    const liana_ints *output_padding; /* nothing, or a number for each axis */
    int64_t filters;
    bool use_bias;
    const char *activation, *kernel_initializer, *bias_initializer;
} transposed;

/* One number is for all axes. */
static liana_status complete(liana_check *check, const transposed *chosen, liana_ints *padding)
{
    const int axes = chosen->window.axes;
    for (int i = 1; i < axes && padding->count == 1; i++) padding->values[i] = padding->values[0];
    if (padding->count == 1) padding->count = axes;
    if (padding->count != 0 && padding->count != axes) {
        return liana_option_refuse(check, "output_padding", "found %lld numbers, expected 1 or %d",
                                   (long long)padding->count, axes);
    }
    for (int i = 0; i < padding->count; i++) {
        if (padding->values[i] < chosen->window.strides[i]) continue;
        return liana_option_refuse(check, "output_padding",
                                   "found %lld for axis %d, expected a number below its stride, which is %lld",
                                   (long long)padding->values[i], i + 1, (long long)chosen->window.strides[i]);
    }
    return liana__check_dilation(check, &chosen->window);
}

/* The result's size along an axis. */
static int64_t output_size(const transposed *chosen, int axis, int64_t input)
{
    const int64_t window = liana__window_extent(&chosen->window, axis), stride = chosen->window.strides[axis];
    const bool given = chosen->output_padding->count != 0;
    const int64_t more = given ? chosen->output_padding->values[axis] : 0, reach = (input - 1) * stride;
    if (chosen->window.padding == LIANA_PADDING_SAME) return given ? reach + window % 2 + more : input * stride;
    return given ? reach + window + more : reach + (window > stride ? window : stride);
}

/* That the convolution of such a result has the input's size: not so for every output_padding with padding "same". */
static liana_status check_sizes(liana_layer_build *build, const transposed *chosen)
{
    LIANA_TRY(liana__build_spatial(build, chosen->window.axes));
    for (int i = 0; i < chosen->window.axes; i++) {
        const int64_t input = build->inputs[0].dims[1 + i], stride = chosen->window.strides[i];
        if (input > INT32_MAX) return liana_layer_refuse(build, 0, "at most 2147483647 cells along each axis");
        const int64_t output = output_size(chosen, i, input);
        if (chosen->window.padding != LIANA_PADDING_SAME) continue;
        if (output >= 1 && (output + stride - 1) / stride == input) continue;
        char expected[200];
        snprintf(expected, sizeof expected,
                 "one whose %lld cells along axis %d fit output_padding %lld: with it the result has %lld, of which "
                 "strides %lld make %lld; leave output_padding away, or take another",
                 (long long)input, i + 1, (long long)chosen->output_padding->values[i], (long long)output,
                 (long long)stride, (long long)((output + stride - 1) / stride));
        return liana_layer_refuse(build, 0, expected);
    }
    return LIANA_OK;
}

static liana_status declare_weights(liana_layer_build *build, const transposed *chosen)
{
    LIANA_TRY(check_sizes(build, chosen));
    const int64_t channels = build->inputs[0].dims[chosen->window.axes + 1];
    const liana_shape kernel = liana__kernel_shape(&chosen->window, chosen->filters, channels);
    liana_layer_add_weight(build, "kernel", kernel, chosen->kernel_initializer, true);
    if (chosen->use_bias) {
        liana_layer_add_weight(build, "bias", liana_shape_of(chosen->filters), chosen->bias_initializer, true);
    }
    return build->status;
}

static liana_tensor call_layer(liana_layer_call *call, const transposed *chosen)
{
    liana_tensor x = call->inputs[0], kernel = call->weights[0];
    const liana_shape shape = liana_tensor_shape(x);
    const int axes = chosen->window.axes;
    int64_t sizes[LIANA__MOST_AXES] = {1, 1, 1}, *size = axes == 1 ? sizes + 1 : sizes;
    for (int i = 0; i < axes; i++) size[i] = output_size(chosen, i, shape.dims[1 + i]);
    if (axes == 3) {
        x = liana_op_conv3d_transpose_at(call->here, x, kernel, sizes, liana__conv_options_3d(&chosen->window, 1));
    } else {
        x = liana_op_conv2d_transpose_at(call->here, liana__as_images(call, x), liana__as_kernel(call, kernel), sizes,
                                         liana__conv_options(&chosen->window, 1));
        x = liana__from_images(call, x, call->inputs[0]);
    }
    return liana__bias_and_activate(call, x, chosen->use_bias ? &call->weights[1] : NULL, chosen->activation);
}

static void to_keras(liana__arena *arena, const void *options, liana__value *config)
{
    (void)options;
    const liana__value *padding = liana__value_get(config, "output_padding");
    if (padding && padding->kind == LIANA__VALUE_LIST && padding->count == 0) {
        liana__value_set(arena, config, "output_padding", liana__value_null(arena));
    }
}

#define TRANSPOSED(number, class_name, class_doc)                                                                      \
    static const liana_option rows_##number[] = {                                                                      \
        LIANA__COUNT_ROW(liana_conv##number##d_transpose_options, filters, .required = true,                           \
                         .doc = "number of channels of the result"),                                                   \
        LIANA__WINDOW_ROWS(liana_conv##number##d_transpose_options, number, liana__padding_names, LIANA__PADDING_DOC), \
        LIANA_OPTION_ROW(liana_conv##number##d_transpose_options, output_padding, INTS, .minimum = 0,                  \
                         .maximum = INT32_MAX,                                                                         \
                         .doc = "cells that are added at the end of each axis; default: as many as strides make"),     \
        LIANA__DILATION_ROW(liana_conv##number##d_transpose_options, number),                                          \
        LIANA__KERNEL_ROWS(liana_conv##number##d_transpose_options),                                                   \
    };                                                                                                                 \
    static transposed read_##number(const void *options)                                                               \
    {                                                                                                                  \
        const liana_conv##number##d_transpose_options *chosen = options;                                               \
        return (transposed){                                                                                           \
            LIANA__LAYER_WINDOW(chosen), &chosen->output_padding,    chosen->filters,         chosen->use_bias,        \
            chosen->activation,          chosen->kernel_initializer, chosen->bias_initializer};                        \
    }                                                                                                                  \
    static liana_status check_##number(liana_check *check)                                                             \
    {                                                                                                                  \
        const transposed chosen = read_##number(check->options);                                                       \
        return complete(check, &chosen, &((liana_conv##number##d_transpose_options *)check->options)->output_padding); \
    }                                                                                                                  \
    static liana_status weights_##number(liana_layer_build *build)                                                     \
    {                                                                                                                  \
        const transposed chosen = read_##number(build->options);                                                       \
        return declare_weights(build, &chosen);                                                                        \
    }                                                                                                                  \
    static liana_tensor call_##number(liana_layer_call *call)                                                          \
    {                                                                                                                  \
        const transposed chosen = read_##number(call->options);                                                        \
        return call_layer(call, &chosen);                                                                              \
    }                                                                                                                  \
    const liana_layer_type liana__layer_conv##number##d_transpose = {                                                  \
        LIANA_PART(LAYER, liana_layer_type, class_name, class_doc,                                                     \
                   LIANA_PART_OPTIONS(liana_conv##number##d_transpose_options, rows_##number),                         \
                   .check = check_##number),                                                                           \
        LIANA__INPUTS(1, 1),                                                                                           \
        .has_data_format = true,                                                                                       \
        .weights = weights_##number,                                                                                   \
        .call = call_##number,                                                                                         \
        .to_keras = to_keras,                                                                                          \
    };

TRANSPOSED(1, "Conv1DTranspose", "transposed convolution of sequences")
TRANSPOSED(2, "Conv2DTranspose", "transposed convolution of images")
TRANSPOSED(3, "Conv3DTranspose", "transposed convolution of volumes")
