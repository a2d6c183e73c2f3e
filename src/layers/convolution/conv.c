/* Conv1D, Conv2D and Conv3D: convolutions with one kernel for each filter. */
#include "layers/convolution/convolution.h"

static const char *const sequence_paddings[] = {"valid", "same", "causal", NULL};
_Static_assert(LIANA_PADDING_VALID == 0 && LIANA_PADDING_SAME == 1 && LIANA_PADDING_CAUSAL == 2,
               "sequence_paddings follows liana_padding");

/* The options of any of the three. */
typedef struct convolution {
    liana__layer_window window;
    int64_t filters, groups;
    bool use_bias;
    const char *activation, *kernel_initializer, *bias_initializer;
} convolution;

static liana_status check_options(liana_check *check, const convolution *chosen)
{
    if (chosen->filters % chosen->groups) {
        return liana_option_refuse(check, "groups", "found %lld, which does not divide filters: %lld",
                                   (long long)chosen->groups, (long long)chosen->filters);
    }
    return liana__check_dilation(check, &chosen->window);
}

static liana_status declare_weights(liana_layer_build *build, const convolution *chosen)
{
    LIANA_TRY(liana__build_window(build, "kernel_size", &chosen->window));
    const int64_t channels = build->inputs[0].dims[chosen->window.axes + 1];
    if (channels % chosen->groups) return liana_layer_refuse(build, 0, "a number of channels that groups divides");
    const liana_shape kernel = liana__kernel_shape(&chosen->window, channels / chosen->groups, chosen->filters);
    liana_layer_add_weight(build, "kernel", kernel, chosen->kernel_initializer, true);
    if (chosen->use_bias) {
        liana_layer_add_weight(build, "bias", liana_shape_of(chosen->filters), chosen->bias_initializer, true);
    }
    return build->status;
}

/* A group for each channel is a depthwise convolution, whose kernels are faster: the filters of a group lie one after
 * the other in both. */
static liana_tensor convolve_images(liana_layer_call *call, const convolution *chosen)
{
    liana_tensor x = liana__as_images(call, call->inputs[0]), kernel = liana__as_kernel(call, call->weights[0]);
    liana_shape shape = liana_tensor_shape(kernel);
    if (chosen->groups == 1 || shape.rank != 4 || shape.dims[2] != 1) {
        return liana_op_conv2d_at(call->here, x, kernel, liana__conv_options(&chosen->window, chosen->groups));
    }
    shape.dims[2] = chosen->groups;
    shape.dims[3] = chosen->filters / chosen->groups;
    kernel = liana_op_reshape_at(call->here, kernel, shape);
    return liana_op_depthwise_conv2d_at(call->here, x, kernel, liana__conv_options(&chosen->window, 1));
}

static liana_tensor call_layer(liana_layer_call *call, const convolution *chosen)
{
    liana_tensor x = call->inputs[0];
    if (chosen->window.axes == 3) {
        x = liana_op_conv3d_at(call->here, x, call->weights[0],
                               liana__conv_options_3d(&chosen->window, chosen->groups));
    } else {
        x = liana__from_images(call, convolve_images(call, chosen), x);
    }
    return liana__bias_and_activate(call, x, chosen->use_bias ? &call->weights[1] : NULL, chosen->activation);
}

/* Keras before 2.3 does not know the option. */
static void leave_out_groups(liana__value *config, int64_t groups)
{
    if (groups == 1) liana__value_remove(config, "groups");
}

#define CONVOLUTION(number, class_name, padding_names, padding_doc, class_doc)                                 \
    static const liana_option rows_##number[] = {                                                              \
        LIANA__COUNT_ROW(liana_conv##number##d_options, filters, .required = true,                             \
                         .doc = "number of channels of the result"),                                           \
        LIANA__WINDOW_ROWS(liana_conv##number##d_options, number, padding_names, padding_doc),                 \
        LIANA__DILATION_ROW(liana_conv##number##d_options, number),                                            \
        LIANA__COUNT_ROW(liana_conv##number##d_options, groups, .default_text = "1",                           \
                         .doc = "number of groups of channels that are convolved separately"),                 \
        LIANA__KERNEL_ROWS(liana_conv##number##d_options),                                                     \
    };                                                                                                         \
    static convolution read_##number(const void *options)                                                      \
    {                                                                                                          \
        const liana_conv##number##d_options *chosen = options;                                                 \
        return (convolution){LIANA__LAYER_WINDOW(chosen),                                                      \
                             chosen->filters,                                                                  \
                             chosen->groups,                                                                   \
                             chosen->use_bias,                                                                 \
                             chosen->activation,                                                               \
                             chosen->kernel_initializer,                                                       \
                             chosen->bias_initializer};                                                        \
    }                                                                                                          \
    static liana_status check_##number(liana_check *check)                                                     \
    {                                                                                                          \
        const convolution chosen = read_##number(check->options);                                              \
        return check_options(check, &chosen);                                                                  \
    }                                                                                                          \
    static liana_status weights_##number(liana_layer_build *build)                                             \
    {                                                                                                          \
        const convolution chosen = read_##number(build->options);                                              \
        return declare_weights(build, &chosen);                                                                \
    }                                                                                                          \
    static liana_tensor call_##number(liana_layer_call *call)                                                  \
    {                                                                                                          \
        const convolution chosen = read_##number(call->options);                                               \
        return call_layer(call, &chosen);                                                                      \
    }                                                                                                          \
    static void to_keras_##number(liana__arena *arena, const void *options, liana__value *config)              \
    {                                                                                                          \
        (void)arena;                                                                                           \
        leave_out_groups(config, read_##number(options).groups);                                               \
    }                                                                                                          \
    const liana_layer_type liana__layer_conv##number##d = {                                                    \
        LIANA_PART(LAYER, liana_layer_type, class_name, class_doc,                                             \
                   LIANA_PART_OPTIONS(liana_conv##number##d_options, rows_##number), .check = check_##number), \
        LIANA__INPUTS(1, 1),                                                                                   \
        .has_data_format = true,                                                                               \
        .weights = weights_##number,                                                                           \
        .call = call_##number,                                                                                 \
        .to_keras = to_keras_##number,                                                                         \
    };

CONVOLUTION(1, "Conv1D", sequence_paddings,
            LIANA__PADDING_DOC "; causal: zeros before the input, so that no output sees a later step",
            "convolution of sequences, with one kernel for each filter")
CONVOLUTION(2, "Conv2D", liana__padding_names, LIANA__PADDING_DOC,
            "convolution of images, with one kernel for each filter")
CONVOLUTION(3, "Conv3D", liana__padding_names, LIANA__PADDING_DOC,
            "convolution of volumes, with one kernel for each filter")
