/* pooling.h - pooling: their options and builders (layer.h). */
#ifndef LIANA_LAYERS_POOLING_H
#define LIANA_LAYERS_POOLING_H

#include <liana/layer.h>
#include <liana/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Numbers by axis are of sequences [batch, steps, channels] (1), images [batch, height, width, channels] (2) or volumes
 * [batch, depth, height, width, channels] (3).
 *
 * The maximum or the mean of each window, without the padding. .strides 0: the same as pool_size. */
#define LIANA_POOLING_OPTIONS_(axes)           \
    LIANA_LAYER_OPTIONS;                       \
    int64_t pool_size[axes] LIANA_DEFAULT_(2); \
    int64_t strides[axes] LIANA_DEFAULT_();    \
    liana_padding padding LIANA_DEFAULT_()

typedef struct liana_pooling1d_options {
    LIANA_POOLING_OPTIONS_(1);
} liana_pooling1d_options;
typedef struct liana_pooling2d_options {
    LIANA_POOLING_OPTIONS_(2);
} liana_pooling2d_options;
typedef struct liana_pooling3d_options {
    LIANA_POOLING_OPTIONS_(3);
} liana_pooling3d_options;
#define LIANA_POOLING2D_DEFAULTS .trainable = true, .training = true, .pool_size = 2
#define liana_max_pooling1d(...) \
    LIANA_ADD_("MaxPooling1D", liana_pooling1d_options, LIANA_POOLING2D_DEFAULTS, __VA_ARGS__, )
#define liana_average_pooling1d(...) \
    LIANA_ADD_("AveragePooling1D", liana_pooling1d_options, LIANA_POOLING2D_DEFAULTS, __VA_ARGS__, )
#define liana_max_pooling2d(...) \
    LIANA_ADD_("MaxPooling2D", liana_pooling2d_options, LIANA_POOLING2D_DEFAULTS, __VA_ARGS__, )
#define liana_average_pooling2d(...) \
    LIANA_ADD_("AveragePooling2D", liana_pooling2d_options, LIANA_POOLING2D_DEFAULTS, __VA_ARGS__, )
#define liana_max_pooling3d(...) \
    LIANA_ADD_("MaxPooling3D", liana_pooling3d_options, LIANA_POOLING2D_DEFAULTS, __VA_ARGS__, )
#define liana_average_pooling3d(...) \
    LIANA_ADD_("AveragePooling3D", liana_pooling3d_options, LIANA_POOLING2D_DEFAULTS, __VA_ARGS__, )

/* The same with windows that give `output_size` cells along each axis: cell i is of the cells from floor(i * input /
 * output) to ceil((i + 1) * input / output). */
#define LIANA_ADAPTIVE_POOLING_OPTIONS_(axes) \
    LIANA_LAYER_OPTIONS;                      \
    int64_t output_size[axes] LIANA_DEFAULT_()

typedef struct liana_adaptive_pooling1d_options {
    LIANA_ADAPTIVE_POOLING_OPTIONS_(1);
} liana_adaptive_pooling1d_options;
typedef struct liana_adaptive_pooling2d_options {
    LIANA_ADAPTIVE_POOLING_OPTIONS_(2);
} liana_adaptive_pooling2d_options;
typedef struct liana_adaptive_pooling3d_options {
    LIANA_ADAPTIVE_POOLING_OPTIONS_(3);
} liana_adaptive_pooling3d_options;
#define LIANA_ADAPTIVE_POOLING2D_DEFAULTS .trainable = true, .training = true
#define liana_adaptive_max_pooling1d(...)                                                                   \
    LIANA_ADD_("AdaptiveMaxPooling1D", liana_adaptive_pooling1d_options, LIANA_ADAPTIVE_POOLING2D_DEFAULTS, \
               __VA_ARGS__, )
#define liana_adaptive_average_pooling1d(...)                                                                   \
    LIANA_ADD_("AdaptiveAveragePooling1D", liana_adaptive_pooling1d_options, LIANA_ADAPTIVE_POOLING2D_DEFAULTS, \
               __VA_ARGS__, )
#define liana_adaptive_max_pooling2d(...)                                                                   \
    LIANA_ADD_("AdaptiveMaxPooling2D", liana_adaptive_pooling2d_options, LIANA_ADAPTIVE_POOLING2D_DEFAULTS, \
               __VA_ARGS__, )
#define liana_adaptive_average_pooling2d(...)                                                                   \
    LIANA_ADD_("AdaptiveAveragePooling2D", liana_adaptive_pooling2d_options, LIANA_ADAPTIVE_POOLING2D_DEFAULTS, \
               __VA_ARGS__, )
#define liana_adaptive_max_pooling3d(...)                                                                   \
    LIANA_ADD_("AdaptiveMaxPooling3D", liana_adaptive_pooling3d_options, LIANA_ADAPTIVE_POOLING2D_DEFAULTS, \
               __VA_ARGS__, )
#define liana_adaptive_average_pooling3d(...)                                                                   \
    LIANA_ADD_("AdaptiveAveragePooling3D", liana_adaptive_pooling3d_options, LIANA_ADAPTIVE_POOLING2D_DEFAULTS, \
               __VA_ARGS__, )

/* The mean or the maximum of each channel: [batch, channels], or with axes of size 1 in their places with .keepdims.
 * The mean of a sequence leaves out the steps that a mask leaves out (0 if it leaves out all); the maximum, as in
 * Keras, is over all steps. */
typedef struct liana_global_pooling_options {
    LIANA_LAYER_OPTIONS;
    bool keepdims LIANA_DEFAULT_();
} liana_global_pooling_options;
#define LIANA_GLOBAL_POOLING_DEFAULTS .trainable = true, .training = true
#define liana_global_average_pooling1d(...) \
    LIANA_ADD_("GlobalAveragePooling1D", liana_global_pooling_options, LIANA_GLOBAL_POOLING_DEFAULTS, __VA_ARGS__, )
#define liana_global_max_pooling1d(...) \
    LIANA_ADD_("GlobalMaxPooling1D", liana_global_pooling_options, LIANA_GLOBAL_POOLING_DEFAULTS, __VA_ARGS__, )
#define liana_global_average_pooling2d(...) \
    LIANA_ADD_("GlobalAveragePooling2D", liana_global_pooling_options, LIANA_GLOBAL_POOLING_DEFAULTS, __VA_ARGS__, )
#define liana_global_max_pooling2d(...) \
    LIANA_ADD_("GlobalMaxPooling2D", liana_global_pooling_options, LIANA_GLOBAL_POOLING_DEFAULTS, __VA_ARGS__, )
#define liana_global_average_pooling3d(...) \
    LIANA_ADD_("GlobalAveragePooling3D", liana_global_pooling_options, LIANA_GLOBAL_POOLING_DEFAULTS, __VA_ARGS__, )
#define liana_global_max_pooling3d(...) \
    LIANA_ADD_("GlobalMaxPooling3D", liana_global_pooling_options, LIANA_GLOBAL_POOLING_DEFAULTS, __VA_ARGS__, )

#ifdef __cplusplus
}
#endif
#endif
