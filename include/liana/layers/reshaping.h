/* reshaping.h - layers that change shapes: their options and builders (layer.h). */
#ifndef LIANA_LAYERS_RESHAPING_H
#define LIANA_LAYERS_RESHAPING_H

#include <liana/layer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Adds zeros around the image: LIANA_INTS(all), LIANA_INTS(top and bottom, left and right) or
 * LIANA_INTS(top, bottom, left, right). */
typedef struct liana_zero_padding2d_options {
    LIANA_LAYER_OPTIONS;
    liana_ints padding LIANA_DEFAULT_(1, {1});
} liana_zero_padding2d_options;
#define LIANA_ZERO_PADDING2D_DEFAULTS .trainable = true, .training = true, .padding = {1, {1}}
#define liana_zero_padding2d(...) \
    LIANA_ADD_("ZeroPadding2D", liana_zero_padding2d_options, LIANA_ZERO_PADDING2D_DEFAULTS, __VA_ARGS__, )

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
