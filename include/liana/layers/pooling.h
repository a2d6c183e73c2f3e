/* pooling.h - pooling: their options and builders (layer.h). */
#ifndef LIANA_LAYERS_POOLING_H
#define LIANA_LAYERS_POOLING_H

#include <liana/layer.h>
#include <liana/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The maximum or the mean of each window. .strides 0: the same as pool_size. */
typedef struct liana_pooling2d_options {
    LIANA_LAYER_OPTIONS;
    int64_t pool_size[2] LIANA_DEFAULT_(2);
    int64_t strides[2] LIANA_DEFAULT_();
    liana_padding padding LIANA_DEFAULT_();
} liana_pooling2d_options;
#define LIANA_POOLING2D_DEFAULTS .trainable = true, .training = true, .pool_size = 2
#define liana_max_pooling2d(...) \
    LIANA_ADD_("MaxPooling2D", liana_pooling2d_options, LIANA_POOLING2D_DEFAULTS, __VA_ARGS__, )
#define liana_average_pooling2d(...) \
    LIANA_ADD_("AveragePooling2D", liana_pooling2d_options, LIANA_POOLING2D_DEFAULTS, __VA_ARGS__, )

/* The mean or the maximum of each channel: [batch, channels], or [batch, 1, 1, channels] with .keepdims. */
typedef struct liana_global_pooling2d_options {
    LIANA_LAYER_OPTIONS;
    bool keepdims LIANA_DEFAULT_();
} liana_global_pooling2d_options;
#define LIANA_GLOBAL_POOLING2D_DEFAULTS .trainable = true, .training = true
#define liana_global_average_pooling2d(...) \
    LIANA_ADD_("GlobalAveragePooling2D", liana_global_pooling2d_options, LIANA_GLOBAL_POOLING2D_DEFAULTS, __VA_ARGS__, )
#define liana_global_max_pooling2d(...) \
    LIANA_ADD_("GlobalMaxPooling2D", liana_global_pooling2d_options, LIANA_GLOBAL_POOLING2D_DEFAULTS, __VA_ARGS__, )

/* Over the steps of sequences [batch, steps, channels]: [batch, channels], or [batch, 1, channels] with .keepdims. The
 * mean leaves out the steps that a mask leaves out (0 if it leaves out all); the maximum, as in Keras, is over all
 * steps. */
typedef struct liana_global_pooling1d_options {
    LIANA_LAYER_OPTIONS;
    bool keepdims LIANA_DEFAULT_();
} liana_global_pooling1d_options;
#define LIANA_GLOBAL_POOLING1D_DEFAULTS .trainable = true, .training = true
#define liana_global_average_pooling1d(...) \
    LIANA_ADD_("GlobalAveragePooling1D", liana_global_pooling1d_options, LIANA_GLOBAL_POOLING1D_DEFAULTS, __VA_ARGS__, )
#define liana_global_max_pooling1d(...) \
    LIANA_ADD_("GlobalMaxPooling1D", liana_global_pooling1d_options, LIANA_GLOBAL_POOLING1D_DEFAULTS, __VA_ARGS__, )

#ifdef __cplusplus
}
#endif
#endif
