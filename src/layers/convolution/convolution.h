/* convolution.h - the common code of convolution layers of sequences, images and volumes. */
#ifndef LIANA_LAYERS_CONVOLUTION_CONVOLUTION_H
#define LIANA_LAYERS_CONVOLUTION_CONVOLUTION_H

#include "layers/activations.h"
#include "layers/layer.h"
#include "layers/option_rows.h"

#include <liana/layers/convolution.h>
#include <liana/layers/pooling.h>
#include <liana/layers/reshaping.h>

enum { LIANA__MOST_AXES = 3 };

#define LIANA__PADDING_DOC "valid: only whole windows; same: zeros around the input, output = ceil(input / stride)"

/* The window, and how it moves; `axes` is a literal 1, 2 or 3. */
#define LIANA__WINDOW_ROWS(type, axes, paddings, padding_doc)                    \
    LIANA__AXES_ROW_##axes(type, kernel_size, .minimum = 1, .required = true,    \
                           .doc = "size of the window along each axis"),         \
        LIANA__AXES_ROW_##axes(type, strides, .minimum = 1, .default_text = "1", \
                               .doc = "steps of the window along each axis"),    \
        LIANA_OPTION_ROW(type, padding, ENUM, .default_text = "valid", .names = (paddings), .doc = padding_doc)
#define LIANA__DILATION_ROW(type, axes)                                            \
    LIANA__AXES_ROW_##axes(type, dilation_rate, .minimum = 1, .default_text = "1", \
                           .doc = "distance between the window's cells along each axis")
#define LIANA__KERNEL_ROWS(type)                                                                                   \
    LIANA__ACTIVATION_ROW(type), LIANA__BIAS_ROW(type),                                                            \
        LIANA__INITIALIZER_ROW(type, kernel_initializer, "glorot_uniform"),                                        \
        LIANA__INITIALIZER_ROW(type, bias_initializer, "zeros"), LIANA__REGULARIZER_ROW(type, kernel_regularizer), \
        LIANA__REGULARIZER_ROW(type, bias_regularizer), LIANA__REGULARIZER_ROW(type, activity_regularizer),        \
        LIANA__CONSTRAINT_ROW(type, kernel_constraint), LIANA__CONSTRAINT_ROW(type, bias_constraint)

/* The window of a layer; numbers are by axis. */
typedef struct liana__layer_window {
    int axes;
    const int64_t *size, *strides, *dilations;
    liana_padding padding;
} liana__layer_window;
#define LIANA__LAYER_WINDOW(chosen)                                                                                \
    {                                                                                                              \
        .axes = (int)(sizeof(chosen)->kernel_size / sizeof *(chosen)->kernel_size), .size = (chosen)->kernel_size, \
        .strides = (chosen)->strides, .dilations = (chosen)->dilation_rate, .padding = (chosen)->padding,          \
    }

/* Cells from the first to the last of a window. */
static inline int64_t liana__window_extent(const liana__layer_window *window, int axis)
{
    return (window->size[axis] - 1) * window->dilations[axis] + 1;
}

/* Checks that strides and dilation are not both above 1, as Keras does. */
liana_status liana__check_dilation(liana_check *check, const liana__layer_window *window) LIANA_MUST_USE;

/* Checks that input 0 has that many axes between batch and channels. */
liana_status liana__build_spatial(liana_layer_build *build, int axes) LIANA_MUST_USE;
/* The same, and that the window fits in it: option `name` with the window's `size`. */
liana_status liana__build_window(liana_layer_build *build, const char *name, const liana__layer_window *window)
    LIANA_MUST_USE;

/* A shape [sizes of the window, a, b]. */
liana_shape liana__kernel_shape(const liana__layer_window *window, int64_t a, int64_t b);

/* Sequences as images of height 1 and kernels as those of such images; others as they are. And back, where `given` was
 * a sequence. */
liana_tensor liana__as_images(liana_layer_call *call, liana_tensor x);
liana_tensor liana__as_kernel(liana_layer_call *call, liana_tensor kernel);
liana_tensor liana__from_images(liana_layer_call *call, liana_tensor x, liana_tensor given);

/* The options of an op on such images. */
liana_conv_options liana__conv_options(const liana__layer_window *window, int64_t groups);
liana_conv_options_3d liana__conv_options_3d(const liana__layer_window *window, int64_t groups);

/* activation(x + bias), the end of most layers. `bias` may be NULL. */
liana_tensor liana__bias_and_activate(liana_layer_call *call, liana_tensor x, const liana_tensor *bias,
                                      const char *activation);

#endif
