/* The windows, bias and activation of the convolution layers. */
#include "layers/convolution/convolution.h"

#include <stdio.h>

static void print_sizes(const int64_t *sizes, int axes, char text[80])
{
    int length = 0;
    for (int i = 0; i < axes; i++) {
        length += snprintf(text + length, 80 - (size_t)length, "%s%lld", i ? ", " : "[", (long long)sizes[i]);
    }
    snprintf(text + length, 80 - (size_t)length, "]");
}

liana_status liana__check_dilation(liana_check *check, const liana__layer_window *window)
{
    bool strided = false, dilated = false;
    for (int i = 0; i < window->axes; i++) {
        strided = strided || window->strides[i] > 1;
        dilated = dilated || window->dilations[i] > 1;
    }
    if (!strided || !dilated) return LIANA_OK;
    char dilations[80], strides[80];
    print_sizes(window->dilations, window->axes, dilations);
    print_sizes(window->strides, window->axes, strides);
    return liana_option_refuse(check, "dilation_rate",
                               "found %s together with strides %s; expected one of the two to be 1", dilations,
                               strides);
}

liana_status liana__build_spatial(liana_layer_build *build, int axes)
{
    static const char *const layouts[] = {"", "sequences: [batch, steps, channels]",
                                          "images: [batch, height, width, channels]",
                                          "volumes: [batch, depth, height, width, channels]"};
    if (build->inputs[0].rank == axes + 2) return LIANA_OK;
    return liana_layer_refuse(build, 0, layouts[axes]);
}

liana_status liana__build_window(liana_layer_build *build, const char *name, const liana__layer_window *window)
{
    LIANA_TRY(liana__build_spatial(build, window->axes));
    for (int i = 0; i < window->axes && window->padding == LIANA_PADDING_VALID; i++) {
        const int64_t extent = liana__window_extent(window, i);
        if (build->inputs[0].dims[1 + i] >= extent) continue;
        char expected[200], sizes[80];
        print_sizes(window->size, window->axes, sizes);
        snprintf(expected, sizeof expected,
                 "at least %lld along axis %d, which is what %s %s covers there; or padding: same", (long long)extent,
                 1 + i, name, sizes);
        return liana_layer_refuse(build, 0, expected);
    }
    return LIANA_OK;
}

liana_shape liana__kernel_shape(const liana__layer_window *window, int64_t a, int64_t b)
{
    liana_shape shape = {.rank = window->axes + 2};
    for (int i = 0; i < window->axes; i++) shape.dims[i] = window->size[i];
    shape.dims[window->axes] = a;
    shape.dims[window->axes + 1] = b;
    return shape;
}

liana_tensor liana__as_images(liana_layer_call *call, liana_tensor x)
{
    const liana_shape shape = liana_tensor_shape(x);
    if (shape.rank != 3) return x;
    return liana_op_reshape_at(call->here, x, liana_shape_of(shape.dims[0], 1, shape.dims[1], shape.dims[2]));
}

liana_tensor liana__as_kernel(liana_layer_call *call, liana_tensor kernel)
{
    const liana_shape shape = liana_tensor_shape(kernel);
    if (shape.rank != 3) return kernel;
    return liana_op_reshape_at(call->here, kernel, liana_shape_of(1, shape.dims[0], shape.dims[1], shape.dims[2]));
}

liana_tensor liana__from_images(liana_layer_call *call, liana_tensor x, liana_tensor given)
{
    const liana_shape shape = liana_tensor_shape(x);
    if (liana_tensor_shape(given).rank != 3 || shape.rank != 4) return x;
    return liana_op_reshape_at(call->here, x, liana_shape_of(shape.dims[0], shape.dims[2], shape.dims[3]));
}

liana_conv_options liana__conv_options(const liana__layer_window *window, int64_t groups)
{
    liana_conv_options options = {.strides = {1, 1}, .padding = window->padding, .dilations = {1, 1}, .groups = groups};
    for (int i = 0; i < window->axes && i < 2; i++) {
        const int to = 2 - window->axes + i;
        options.strides[to] = window->strides[i];
        options.dilations[to] = window->dilations[i];
    }
    return options;
}

liana_conv_options_3d liana__conv_options_3d(const liana__layer_window *window, int64_t groups)
{
    const int64_t *s = window->strides, *d = window->dilations;
    return (liana_conv_options_3d){.strides = {s[0], s[1], s[2]},
                                   .padding = window->padding,
                                   .dilations = {d[0], d[1], d[2]},
                                   .groups = groups};
}

liana_tensor liana__bias_and_activate(liana_layer_call *call, liana_tensor x, const liana_tensor *bias,
                                      const char *activation)
{
    if (bias) x = liana_op_add_at(call->here, x, *bias);
    return liana__activate(call, activation, x);
}
