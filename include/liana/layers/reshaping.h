/* reshaping.h - layers that change shapes: their options and builders (layer.h). */
#ifndef LIANA_LAYERS_RESHAPING_H
#define LIANA_LAYERS_RESHAPING_H

#include <liana/layer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Adds zeros around the input: LIANA_INTS(all sides), one number for both sides of each axis, or two for each axis:
 * LIANA_INTS(top, bottom, left, right). */
typedef struct liana_zero_padding_options {
    LIANA_LAYER_OPTIONS;
    liana_ints padding LIANA_DEFAULT_(1, {1});
} liana_zero_padding_options;
#define LIANA_ZERO_PADDING_DEFAULTS .trainable = true, .training = true, .padding = {1, {1}}
#define liana_zero_padding1d(...) \
    LIANA_ADD_("ZeroPadding1D", liana_zero_padding_options, LIANA_ZERO_PADDING_DEFAULTS, __VA_ARGS__, )
#define liana_zero_padding2d(...) \
    LIANA_ADD_("ZeroPadding2D", liana_zero_padding_options, LIANA_ZERO_PADDING_DEFAULTS, __VA_ARGS__, )
#define liana_zero_padding3d(...) \
    LIANA_ADD_("ZeroPadding3D", liana_zero_padding_options, LIANA_ZERO_PADDING_DEFAULTS, __VA_ARGS__, )

/* Takes cells away from the sides, written in the same way. Something must be left. */
typedef struct liana_cropping_options {
    LIANA_LAYER_OPTIONS;
    liana_ints cropping LIANA_DEFAULT_(1, {1});
} liana_cropping_options;
typedef struct liana_cropping2d_options {
    LIANA_LAYER_OPTIONS;
    liana_ints cropping LIANA_DEFAULT_(1, {0});
} liana_cropping2d_options;
#define LIANA_CROPPING_DEFAULTS .trainable = true, .training = true, .cropping = {1, {1}}
#define LIANA_CROPPING2D_DEFAULTS .trainable = true, .training = true, .cropping = {1, {0}}
#define liana_cropping1d(...) LIANA_ADD_("Cropping1D", liana_cropping_options, LIANA_CROPPING_DEFAULTS, __VA_ARGS__, )
#define liana_cropping2d(...) \
    LIANA_ADD_("Cropping2D", liana_cropping2d_options, LIANA_CROPPING2D_DEFAULTS, __VA_ARGS__, )
#define liana_cropping3d(...) LIANA_ADD_("Cropping3D", liana_cropping_options, LIANA_CROPPING_DEFAULTS, __VA_ARGS__, )

/* How cells between those of the input are found: the nearest one, or sums of 2, 4, 6 or 10 along each axis. */
typedef enum liana_interpolation {
    LIANA_NEAREST,
    LIANA_BILINEAR,
    LIANA_BICUBIC,
    LIANA_LANCZOS3,
    LIANA_LANCZOS5,
} liana_interpolation;

/* Enlarges the input by whole factors. */
typedef struct liana_up_sampling1d_options {
    LIANA_LAYER_OPTIONS;
    int64_t size LIANA_DEFAULT_(2);
} liana_up_sampling1d_options;
typedef struct liana_up_sampling2d_options {
    LIANA_LAYER_OPTIONS;
    int64_t size[2] LIANA_DEFAULT_(2);
    liana_interpolation interpolation LIANA_DEFAULT_();
} liana_up_sampling2d_options;
typedef struct liana_up_sampling3d_options {
    LIANA_LAYER_OPTIONS;
    int64_t size[3] LIANA_DEFAULT_(2);
} liana_up_sampling3d_options;
#define LIANA_UP_SAMPLING_DEFAULTS .trainable = true, .training = true, .size = 2
#define liana_up_sampling1d(...) \
    LIANA_ADD_("UpSampling1D", liana_up_sampling1d_options, LIANA_UP_SAMPLING_DEFAULTS, __VA_ARGS__, )
#define liana_up_sampling2d(...) \
    LIANA_ADD_("UpSampling2D", liana_up_sampling2d_options, LIANA_UP_SAMPLING_DEFAULTS, __VA_ARGS__, )
#define liana_up_sampling3d(...) \
    LIANA_ADD_("UpSampling3D", liana_up_sampling3d_options, LIANA_UP_SAMPLING_DEFAULTS, __VA_ARGS__, )

/* What stands last in an example: its channels (the default everywhere), or its places. */
typedef enum liana_data_format { LIANA_CHANNELS_LAST, LIANA_CHANNELS_FIRST } liana_data_format;

/* [batch, all other dimensions' product]. LIANA_CHANNELS_FIRST: the first axis of an example is moved to its end
 * before. */
typedef struct liana_flatten_options {
    LIANA_LAYER_OPTIONS;
    liana_data_format data_format LIANA_DEFAULT_();
} liana_flatten_options;
#define LIANA_FLATTEN_DEFAULTS .trainable = true, .training = true
#define liana_flatten(...) LIANA_ADD_("Flatten", liana_flatten_options, LIANA_FLATTEN_DEFAULTS, __VA_ARGS__, )

/* The axes of an example in another order: axis i of the result is axis .dims[i] of the input, counted from 1 behind
 * the batch. */
typedef struct liana_permute_options {
    LIANA_LAYER_OPTIONS;
    liana_ints dims LIANA_DEFAULT_();
} liana_permute_options;
#define LIANA_PERMUTE_DEFAULTS .trainable = true, .training = true
#define liana_permute(...) LIANA_ADD_("Permute", liana_permute_options, LIANA_PERMUTE_DEFAULTS, __VA_ARGS__, )

/* Rows [batch, features] `n` times: [batch, n, features]. */
typedef struct liana_repeat_vector_options {
    LIANA_LAYER_OPTIONS;
    int64_t n LIANA_DEFAULT_();
} liana_repeat_vector_options;
#define LIANA_REPEAT_VECTOR_DEFAULTS .trainable = true, .training = true
#define liana_repeat_vector(...) \
    LIANA_ADD_("RepeatVector", liana_repeat_vector_options, LIANA_REPEAT_VECTOR_DEFAULTS, __VA_ARGS__, )

/* [batch, target_shape]; one of its numbers may be -1. */
typedef struct liana_reshape_options {
    LIANA_LAYER_OPTIONS;
    liana_ints target_shape LIANA_DEFAULT_();
} liana_reshape_options;
#define LIANA_RESHAPE_DEFAULTS .trainable = true, .training = true
#define liana_reshape(...) LIANA_ADD_("Reshape", liana_reshape_options, LIANA_RESHAPE_DEFAULTS, __VA_ARGS__, )

#ifdef __cplusplus
}
#endif
#endif
