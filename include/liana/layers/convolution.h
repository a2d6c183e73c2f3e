/* convolution.h - convolutions: their options and builders (layer.h). */
#ifndef LIANA_LAYERS_CONVOLUTION_H
#define LIANA_LAYERS_CONVOLUTION_H

#include <liana/layer.h>
#include <liana/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- convolutions ----
 *
 * activation(convolution of x with the kernel + bias). Numbers by axis are of sequences [batch, steps, in] (1), images
 * [batch, height, width, in] (2) or volumes [batch, depth, height, width, in] (3). kernel [sizes, in / groups,
 * filters]. */
#define LIANA_CONVOLUTION_OPTIONS_(axes)           \
    LIANA_LAYER_OPTIONS;                           \
    int64_t filters LIANA_DEFAULT_();              \
    int64_t kernel_size[axes] LIANA_DEFAULT_();    \
    int64_t strides[axes] LIANA_DEFAULT_(1);       \
    liana_padding padding LIANA_DEFAULT_();        \
    int64_t dilation_rate[axes] LIANA_DEFAULT_(1); \
    int64_t groups LIANA_DEFAULT_(1);              \
    LIANA_KERNEL_OPTIONS_
/* The options of layers that have one kernel and a bias. */
#define LIANA_KERNEL_OPTIONS_                                        \
    const char *activation LIANA_DEFAULT_();                         \
    bool use_bias LIANA_DEFAULT_(true);                              \
    const char *kernel_initializer LIANA_DEFAULT_("glorot_uniform"); \
    const char *bias_initializer LIANA_DEFAULT_("zeros");            \
    const char *kernel_regularizer LIANA_DEFAULT_();                 \
    const char *bias_regularizer LIANA_DEFAULT_();                   \
    const char *activity_regularizer LIANA_DEFAULT_();               \
    const char *kernel_constraint LIANA_DEFAULT_();                  \
    const char *bias_constraint LIANA_DEFAULT_()

/* Paddings: LIANA_PADDING_VALID, LIANA_PADDING_SAME, or LIANA_PADDING_CAUSAL: output t sees no later step. */
typedef struct liana_conv1d_options {
    LIANA_CONVOLUTION_OPTIONS_(1);
} liana_conv1d_options;
/* Paddings of this and all others: LIANA_PADDING_VALID or LIANA_PADDING_SAME. */
typedef struct liana_conv2d_options {
    LIANA_CONVOLUTION_OPTIONS_(2);
} liana_conv2d_options;
typedef struct liana_conv3d_options {
    LIANA_CONVOLUTION_OPTIONS_(3);
} liana_conv3d_options;
#define LIANA_CONV2D_DEFAULTS                                                                             \
    .trainable = true, .training = true, .strides = 1, .dilation_rate = 1, .groups = 1, .use_bias = true, \
    .kernel_initializer = "glorot_uniform", .bias_initializer = "zeros"
#define liana_conv1d(...) LIANA_ADD_("Conv1D", liana_conv1d_options, LIANA_CONV2D_DEFAULTS, __VA_ARGS__, )
#define liana_conv2d(...) LIANA_ADD_("Conv2D", liana_conv2d_options, LIANA_CONV2D_DEFAULTS, __VA_ARGS__, )
#define liana_conv3d(...) LIANA_ADD_("Conv3D", liana_conv3d_options, LIANA_CONV2D_DEFAULTS, __VA_ARGS__, )

/* ---- transposed convolutions ----
 *
 * The result has `strides` times as many cells along an axis (with LIANA_PADDING_SAME), or (input - 1) * stride +
 * max(window, stride) (with LIANA_PADDING_VALID). .output_padding says otherwise: one number for all axes or one for
 * each, below the stride; then it is (input - 1) * stride + window + output_padding, or with LIANA_PADDING_SAME the
 * same with window % 2. kernel [sizes, filters, in]. */
#define LIANA_TRANSPOSED_OPTIONS_(axes)            \
    LIANA_LAYER_OPTIONS;                           \
    int64_t filters LIANA_DEFAULT_();              \
    int64_t kernel_size[axes] LIANA_DEFAULT_();    \
    int64_t strides[axes] LIANA_DEFAULT_(1);       \
    liana_padding padding LIANA_DEFAULT_();        \
    liana_ints output_padding LIANA_DEFAULT_();    \
    int64_t dilation_rate[axes] LIANA_DEFAULT_(1); \
    LIANA_KERNEL_OPTIONS_

typedef struct liana_conv1d_transpose_options {
    LIANA_TRANSPOSED_OPTIONS_(1);
} liana_conv1d_transpose_options;
typedef struct liana_conv2d_transpose_options {
    LIANA_TRANSPOSED_OPTIONS_(2);
} liana_conv2d_transpose_options;
typedef struct liana_conv3d_transpose_options {
    LIANA_TRANSPOSED_OPTIONS_(3);
} liana_conv3d_transpose_options;
#define LIANA_CONV2D_TRANSPOSE_DEFAULTS                                                      \
    .trainable = true, .training = true, .strides = 1, .dilation_rate = 1, .use_bias = true, \
    .kernel_initializer = "glorot_uniform", .bias_initializer = "zeros"
#define liana_conv1d_transpose(...) \
    LIANA_ADD_("Conv1DTranspose", liana_conv1d_transpose_options, LIANA_CONV2D_TRANSPOSE_DEFAULTS, __VA_ARGS__, )
#define liana_conv2d_transpose(...) \
    LIANA_ADD_("Conv2DTranspose", liana_conv2d_transpose_options, LIANA_CONV2D_TRANSPOSE_DEFAULTS, __VA_ARGS__, )
#define liana_conv3d_transpose(...) \
    LIANA_ADD_("Conv3DTranspose", liana_conv3d_transpose_options, LIANA_CONV2D_TRANSPOSE_DEFAULTS, __VA_ARGS__, )

/* ---- depthwise convolutions ----
 *
 * Each channel has `depth_multiplier` kernels of its own. depthwise_kernel [sizes, in, depth_multiplier]. */
#define LIANA_DEPTHWISE_OPTIONS_(axes)                                  \
    LIANA_LAYER_OPTIONS;                                                \
    int64_t kernel_size[axes] LIANA_DEFAULT_();                         \
    int64_t strides[axes] LIANA_DEFAULT_(1);                            \
    liana_padding padding LIANA_DEFAULT_();                             \
    int64_t depth_multiplier LIANA_DEFAULT_(1);                         \
    int64_t dilation_rate[axes] LIANA_DEFAULT_(1);                      \
    const char *activation LIANA_DEFAULT_();                            \
    bool use_bias LIANA_DEFAULT_(true);                                 \
    const char *depthwise_initializer LIANA_DEFAULT_("glorot_uniform"); \
    const char *bias_initializer LIANA_DEFAULT_("zeros");               \
    const char *depthwise_regularizer LIANA_DEFAULT_();                 \
    const char *bias_regularizer LIANA_DEFAULT_();                      \
    const char *activity_regularizer LIANA_DEFAULT_();                  \
    const char *depthwise_constraint LIANA_DEFAULT_();                  \
    const char *bias_constraint LIANA_DEFAULT_()

typedef struct liana_depthwise_conv1d_options {
    LIANA_DEPTHWISE_OPTIONS_(1);
} liana_depthwise_conv1d_options;
typedef struct liana_depthwise_conv2d_options {
    LIANA_DEPTHWISE_OPTIONS_(2);
} liana_depthwise_conv2d_options;
#define LIANA_DEPTHWISE_CONV2D_DEFAULTS                                                                             \
    .trainable = true, .training = true, .strides = 1, .depth_multiplier = 1, .dilation_rate = 1, .use_bias = true, \
    .depthwise_initializer = "glorot_uniform", .bias_initializer = "zeros"
#define liana_depthwise_conv1d(...) \
    LIANA_ADD_("DepthwiseConv1D", liana_depthwise_conv1d_options, LIANA_DEPTHWISE_CONV2D_DEFAULTS, __VA_ARGS__, )
#define liana_depthwise_conv2d(...) \
    LIANA_ADD_("DepthwiseConv2D", liana_depthwise_conv2d_options, LIANA_DEPTHWISE_CONV2D_DEFAULTS, __VA_ARGS__, )

/* ---- separable convolutions ----
 *
 * A depthwise convolution, then a convolution of single cells: depthwise_kernel [sizes, in, depth_multiplier],
 * pointwise_kernel [1, ..., in * depth_multiplier, filters], bias. */
#define LIANA_SEPARABLE_OPTIONS_(axes)                                  \
    LIANA_LAYER_OPTIONS;                                                \
    int64_t filters LIANA_DEFAULT_();                                   \
    int64_t kernel_size[axes] LIANA_DEFAULT_();                         \
    int64_t strides[axes] LIANA_DEFAULT_(1);                            \
    liana_padding padding LIANA_DEFAULT_();                             \
    int64_t dilation_rate[axes] LIANA_DEFAULT_(1);                      \
    int64_t depth_multiplier LIANA_DEFAULT_(1);                         \
    const char *activation LIANA_DEFAULT_();                            \
    bool use_bias LIANA_DEFAULT_(true);                                 \
    const char *depthwise_initializer LIANA_DEFAULT_("glorot_uniform"); \
    const char *pointwise_initializer LIANA_DEFAULT_("glorot_uniform"); \
    const char *bias_initializer LIANA_DEFAULT_("zeros");               \
    const char *depthwise_regularizer LIANA_DEFAULT_();                 \
    const char *pointwise_regularizer LIANA_DEFAULT_();                 \
    const char *bias_regularizer LIANA_DEFAULT_();                      \
    const char *activity_regularizer LIANA_DEFAULT_();                  \
    const char *depthwise_constraint LIANA_DEFAULT_();                  \
    const char *pointwise_constraint LIANA_DEFAULT_();                  \
    const char *bias_constraint LIANA_DEFAULT_()

typedef struct liana_separable_conv1d_options {
    LIANA_SEPARABLE_OPTIONS_(1);
} liana_separable_conv1d_options;
typedef struct liana_separable_conv2d_options {
    LIANA_SEPARABLE_OPTIONS_(2);
} liana_separable_conv2d_options;
#define LIANA_SEPARABLE_CONV2D_DEFAULTS                                                                             \
    .trainable = true, .training = true, .strides = 1, .dilation_rate = 1, .depth_multiplier = 1, .use_bias = true, \
    .depthwise_initializer = "glorot_uniform", .pointwise_initializer = "glorot_uniform", .bias_initializer = "zeros"
#define liana_separable_conv1d(...) \
    LIANA_ADD_("SeparableConv1D", liana_separable_conv1d_options, LIANA_SEPARABLE_CONV2D_DEFAULTS, __VA_ARGS__, )
#define liana_separable_conv2d(...) \
    LIANA_ADD_("SeparableConv2D", liana_separable_conv2d_options, LIANA_SEPARABLE_CONV2D_DEFAULTS, __VA_ARGS__, )

#ifdef __cplusplus
}
#endif
#endif
