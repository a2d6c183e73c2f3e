/* convolution.h - the common code of Conv2D, DepthwiseConv2D and SeparableConv2D. */
#ifndef LIANA_LAYERS_CONVOLUTION_CONVOLUTION_H
#define LIANA_LAYERS_CONVOLUTION_CONVOLUTION_H

#include "layers/activations.h"
#include "layers/layer.h"
#include "layers/option_rows.h"

#include <liana/layers/convolution.h>

/* The window, and how it moves. */
#define LIANA__WINDOW_ROWS(type)                                                                                 \
    LIANA__PAIR_ROW(type, kernel_size, .required = true, .doc = "height and width of the window"),               \
        LIANA__PAIR_ROW(type, strides, .default_text = "1", .doc = "steps of the window: vertical, horizontal"), \
        LIANA__PADDING_ROW(type)
#define LIANA__DILATION_ROW(type)                             \
    LIANA__PAIR_ROW(type, dilation_rate, .default_text = "1", \
                    .doc = "distance between the window's cells: vertical, horizontal")

/* Checks that strides and dilation are not both above 1, as Keras does. */
liana_status liana__check_dilation(liana_check *check, const int64_t strides[2], const int64_t dilation[2])
    LIANA_MUST_USE;

liana_conv_options liana__conv_options(const int64_t strides[2], liana_padding padding, const int64_t dilation[2],
                                       int64_t groups);

/* activation(x + bias), the end of most layers. `bias` may be NULL. */
liana_tensor liana__bias_and_activate(liana_layer_call *call, liana_tensor x, const liana_tensor *bias,
                                      const char *activation);

#endif
