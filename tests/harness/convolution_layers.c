/* Adds convolution, pooling, padding, cropping and upsampling layers to a model. */
#include "harness/convolution_layers.h"

#include <liana/layers.h>

static liana_layer flat(liana_model *model, liana_layer layer)
{
    return liana_flatten(model, .input = layer);
}

/* Where several layers end. */
static liana_layer join(liana_model *model, liana_layer a, liana_layer b, liana_layer c)
{
    a = flat(model, a);
    b = flat(model, b);
    c = flat(model, c);
    return liana_concatenate(model, .inputs = {a, b, c});
}

static liana_layer add_convolutions_of_images(liana_model *model)
{
    liana_layer image = liana_input(model, .shape = LIANA_INTS(6, 8, 3), .name = "image");
    liana_conv2d_transpose(model, .filters = 2, .kernel_size = {3, 1}, .strides = 2, .output_padding = LIANA_INTS(1, 0),
                           .kernel_regularizer = "l2");
    liana_conv2d_transpose(model, .filters = 2, .kernel_size = 2, .padding = LIANA_PADDING_SAME);
    liana_cropping2d(model, .cropping = LIANA_INTS(1, 0, 0, 2));
    liana_layer a = liana_up_sampling2d(model, .size = {1, 2}, .interpolation = LIANA_LANCZOS3);
    liana_layer b = liana_adaptive_max_pooling2d(model, .output_size = {2, 3}, .input = image);
    liana_layer c = liana_adaptive_average_pooling2d(model, .output_size = 1, .input = image);
    return join(model, a, b, c);
}

static liana_layer add_convolutions_of_sequences(liana_model *model)
{
    liana_layer steps = liana_input(model, .shape = LIANA_INTS(17, 4), .name = "steps");
    liana_conv1d(model, .filters = 6, .kernel_size = 3, .padding = LIANA_PADDING_CAUSAL, .dilation_rate = 2,
                 .groups = 2, .activation = "relu");
    liana_conv1d_transpose(model, .filters = 3, .kernel_size = 3, .strides = 2, .output_padding = LIANA_INTS(0));
    liana_depthwise_conv1d(model, .kernel_size = 2, .strides = 2, .depth_multiplier = 2);
    liana_separable_conv1d(model, .filters = 4, .kernel_size = 2, .pointwise_regularizer = "l1");
    liana_max_pooling1d(model, .pool_size = 3, .strides = 1);
    liana_layer a = liana_average_pooling1d(model, .padding = LIANA_PADDING_SAME);
    liana_zero_padding1d(model, .padding = LIANA_INTS(2, 0), .input = steps);
    liana_cropping1d(model);
    liana_layer b = liana_up_sampling1d(model, .size = 3);
    liana_adaptive_max_pooling1d(model, .output_size = 5);
    liana_layer c = liana_adaptive_average_pooling1d(model, .output_size = 2);
    return join(model, a, b, c);
}

static liana_layer add_convolutions_of_volumes(liana_model *model)
{
    liana_layer volume = liana_input(model, .shape = LIANA_INTS(5, 6, 7, 2), .name = "volume");
    liana_conv3d(model, .filters = 4, .kernel_size = {1, 2, 3}, .strides = {1, 2, 1}, .groups = 2);
    liana_conv3d_transpose(model, .filters = 3, .kernel_size = 2, .strides = {2, 1, 3},
                           .output_padding = LIANA_INTS(1, 0, 2));
    liana_max_pooling3d(model, .pool_size = {2, 1, 1});
    liana_layer a = liana_average_pooling3d(model, .strides = {1, 2, 3}, .padding = LIANA_PADDING_SAME);
    liana_zero_padding3d(model, .padding = LIANA_INTS(1, 2, 0), .input = volume);
    liana_cropping3d(model, .cropping = LIANA_INTS(1, 0, 2, 1, 0, 3));
    liana_up_sampling3d(model, .size = {1, 3, 2});
    liana_adaptive_max_pooling3d(model, .output_size = 2);
    liana_layer b = liana_adaptive_average_pooling3d(model, .output_size = {2, 1, 1});
    liana_layer c = liana_global_max_pooling3d(model, .input = volume);
    liana_layer d = liana_global_average_pooling3d(model, .keepdims = true, .input = volume);
    return join(model, join(model, a, b, c), d, c);
}

liana_layer liana__test_add_convolutions(liana_model *model)
{
    liana_layer images = add_convolutions_of_images(model);
    liana_layer sequences = add_convolutions_of_sequences(model);
    return join(model, images, sequences, add_convolutions_of_volumes(model));
}
