/* convolution.h - convolutions: their options and builders (layer.h). */
#ifndef LIANA_LAYERS_CONVOLUTION_H
#define LIANA_LAYERS_CONVOLUTION_H

#include <liana/layer.h>
#include <liana/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/* activation(convolution of [batch, height, width, in] with kernel [height, width, in / groups, filters] + bias). */
typedef struct liana_conv2d_options {
    LIANA_LAYER_OPTIONS;
    int64_t filters LIANA_DEFAULT_();
    int64_t kernel_size[2] LIANA_DEFAULT_();
    int64_t strides[2] LIANA_DEFAULT_(1);
    liana_padding padding LIANA_DEFAULT_(); /* LIANA_PADDING_VALID or LIANA_PADDING_SAME */
    int64_t dilation_rate[2] LIANA_DEFAULT_(1);
    int64_t groups LIANA_DEFAULT_(1);
    const char *activation LIANA_DEFAULT_();
    bool use_bias LIANA_DEFAULT_(true);
    const char *kernel_initializer LIANA_DEFAULT_("glorot_uniform");
    const char *bias_initializer LIANA_DEFAULT_("zeros");
    const char *kernel_regularizer LIANA_DEFAULT_();
    const char *bias_regularizer LIANA_DEFAULT_();
    const char *activity_regularizer LIANA_DEFAULT_();
    const char *kernel_constraint LIANA_DEFAULT_();
    const char *bias_constraint LIANA_DEFAULT_();
} liana_conv2d_options;
#define LIANA_CONV2D_DEFAULTS                                                                             \
    .trainable = true, .training = true, .strides = 1, .dilation_rate = 1, .groups = 1, .use_bias = true, \
    .kernel_initializer = "glorot_uniform", .bias_initializer = "zeros"
#define liana_conv2d(...) LIANA_ADD_("Conv2D", liana_conv2d_options, LIANA_CONV2D_DEFAULTS, __VA_ARGS__, )

/* A depthwise convolution: each channel has `depth_multiplier` kernels of its own. depthwise_kernel [height, width, in,
 * depth_multiplier]. */
typedef struct liana_depthwise_conv2d_options {
    LIANA_LAYER_OPTIONS;
    int64_t kernel_size[2] LIANA_DEFAULT_();
    int64_t strides[2] LIANA_DEFAULT_(1);
    liana_padding padding LIANA_DEFAULT_();
    int64_t depth_multiplier LIANA_DEFAULT_(1);
    int64_t dilation_rate[2] LIANA_DEFAULT_(1);
    const char *activation LIANA_DEFAULT_();
    bool use_bias LIANA_DEFAULT_(true);
    const char *depthwise_initializer LIANA_DEFAULT_("glorot_uniform");
    const char *bias_initializer LIANA_DEFAULT_("zeros");
    const char *depthwise_regularizer LIANA_DEFAULT_();
    const char *bias_regularizer LIANA_DEFAULT_();
    const char *activity_regularizer LIANA_DEFAULT_();
    const char *depthwise_constraint LIANA_DEFAULT_();
    const char *bias_constraint LIANA_DEFAULT_();
} liana_depthwise_conv2d_options;
#define LIANA_DEPTHWISE_CONV2D_DEFAULTS                                                                             \
    .trainable = true, .training = true, .strides = 1, .depth_multiplier = 1, .dilation_rate = 1, .use_bias = true, \
    .depthwise_initializer = "glorot_uniform", .bias_initializer = "zeros"
#define liana_depthwise_conv2d(...) \
    LIANA_ADD_("DepthwiseConv2D", liana_depthwise_conv2d_options, LIANA_DEPTHWISE_CONV2D_DEFAULTS, __VA_ARGS__, )

/* A depthwise convolution, then a convolution of 1 x 1: depthwise_kernel [height, width, in, depth_multiplier],
 * pointwise_kernel [1, 1, in * depth_multiplier, filters], bias. */
typedef struct liana_separable_conv2d_options {
    LIANA_LAYER_OPTIONS;
    int64_t filters LIANA_DEFAULT_();
    int64_t kernel_size[2] LIANA_DEFAULT_();
    int64_t strides[2] LIANA_DEFAULT_(1);
    liana_padding padding LIANA_DEFAULT_();
    int64_t dilation_rate[2] LIANA_DEFAULT_(1);
    int64_t depth_multiplier LIANA_DEFAULT_(1);
    const char *activation LIANA_DEFAULT_();
    bool use_bias LIANA_DEFAULT_(true);
    const char *depthwise_initializer LIANA_DEFAULT_("glorot_uniform");
    const char *pointwise_initializer LIANA_DEFAULT_("glorot_uniform");
    const char *bias_initializer LIANA_DEFAULT_("zeros");
    const char *depthwise_regularizer LIANA_DEFAULT_();
    const char *pointwise_regularizer LIANA_DEFAULT_();
    const char *bias_regularizer LIANA_DEFAULT_();
    const char *activity_regularizer LIANA_DEFAULT_();
    const char *depthwise_constraint LIANA_DEFAULT_();
    const char *pointwise_constraint LIANA_DEFAULT_();
    const char *bias_constraint LIANA_DEFAULT_();
} liana_separable_conv2d_options;
#define LIANA_SEPARABLE_CONV2D_DEFAULTS                                                                             \
    .trainable = true, .training = true, .strides = 1, .dilation_rate = 1, .depth_multiplier = 1, .use_bias = true, \
    .depthwise_initializer = "glorot_uniform", .pointwise_initializer = "glorot_uniform", .bias_initializer = "zeros"
#define liana_separable_conv2d(...) \
    LIANA_ADD_("SeparableConv2D", liana_separable_conv2d_options, LIANA_SEPARABLE_CONV2D_DEFAULTS, __VA_ARGS__, )

#ifdef __cplusplus
}
#endif
#endif
