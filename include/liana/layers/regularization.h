/* regularization.h - layers against overfitting: their options and builders (layer.h). */
#ifndef LIANA_LAYERS_REGULARIZATION_H
#define LIANA_LAYERS_REGULARIZATION_H

#include <liana/layer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Gives its input, and adds l1 * sum(|x|) + l2 * sum(x^2), divided by the number of examples, to the loss. Both factors
 * are at least 0. */
typedef struct liana_activity_regularization_options {
    LIANA_LAYER_OPTIONS;
    double l1 LIANA_DEFAULT_();
    double l2 LIANA_DEFAULT_();
} liana_activity_regularization_options;
#define LIANA_ACTIVITY_REGULARIZATION_DEFAULTS .trainable = true, .training = true
#define liana_activity_regularization(...)                                      \
    LIANA_ADD_("ActivityRegularization", liana_activity_regularization_options, \
               LIANA_ACTIVITY_REGULARIZATION_DEFAULTS, __VA_ARGS__, )

/* The layers below do something in training only. Their draws depend on the run's seed, the layer, the example's place
 * in the run and the element's index in its example, and so not on batches or shards. With a .seed of 0 or more they
 * depend on it instead of the run's seed and the layer: two layers with one seed draw the same numbers. */

/* Sets a share `rate` of the elements to zero and multiplies the others by 1 / (1 - rate). .noise_shape has one number
 * for each axis, the batch first: -1 (or the input's size), or 1 where all elements along the axis share one draw.
 * LIANA_INTS(-1, 1, 1, 1) drops whole examples.
 *
 * AlphaDropout sets them to the least value of SELU, and keeps the mean 0 and the variance 1 of its input (Klambauer et
 * al. 2017). */
typedef struct liana_dropout_options {
    LIANA_LAYER_OPTIONS;
    double rate LIANA_DEFAULT_();
    liana_ints noise_shape LIANA_DEFAULT_(); /* the first is -1; empty: each element has its own draw */
    int64_t seed LIANA_DEFAULT_(-1);         /* -1: the run's */
} liana_dropout_options;
#define LIANA_DROPOUT_DEFAULTS .trainable = true, .training = true, .seed = -1
#define liana_dropout(...) LIANA_ADD_("Dropout", liana_dropout_options, LIANA_DROPOUT_DEFAULTS, __VA_ARGS__, )
#define liana_alpha_dropout(...) \
    LIANA_ADD_("AlphaDropout", liana_dropout_options, LIANA_DROPOUT_DEFAULTS, __VA_ARGS__, )

/* Dropout of whole channels (the last axis): of sequences, images and volumes. */
typedef struct liana_spatial_dropout_options {
    LIANA_LAYER_OPTIONS;
    double rate LIANA_DEFAULT_();
    int64_t seed LIANA_DEFAULT_(-1);
} liana_spatial_dropout_options;
#define LIANA_SPATIAL_DROPOUT_DEFAULTS .trainable = true, .training = true, .seed = -1
#define liana_spatial_dropout1d(...) \
    LIANA_ADD_("SpatialDropout1D", liana_spatial_dropout_options, LIANA_SPATIAL_DROPOUT_DEFAULTS, __VA_ARGS__, )
#define liana_spatial_dropout2d(...) \
    LIANA_ADD_("SpatialDropout2D", liana_spatial_dropout_options, LIANA_SPATIAL_DROPOUT_DEFAULTS, __VA_ARGS__, )
#define liana_spatial_dropout3d(...) \
    LIANA_ADD_("SpatialDropout3D", liana_spatial_dropout_options, LIANA_SPATIAL_DROPOUT_DEFAULTS, __VA_ARGS__, )

/* Drops whole examples of a residual branch (Huang et al. 2016): sets a share `drop_path_rate` of the examples to zero,
 * and multiplies the others by 1 / (1 - drop_path_rate). Keras has this layer in keras.applications.convnext. */
typedef struct liana_stochastic_depth_options {
    LIANA_LAYER_OPTIONS;
    double drop_path_rate LIANA_DEFAULT_();
} liana_stochastic_depth_options;
#define LIANA_STOCHASTIC_DEPTH_DEFAULTS .trainable = true, .training = true
#define liana_stochastic_depth(...) \
    LIANA_ADD_("StochasticDepth", liana_stochastic_depth_options, LIANA_STOCHASTIC_DEPTH_DEFAULTS, __VA_ARGS__, )

/* Multiplies each element by a normal number of mean 1 and deviation sqrt(rate / (1 - rate)). */
typedef struct liana_gaussian_dropout_options {
    LIANA_LAYER_OPTIONS;
    double rate LIANA_DEFAULT_();
    int64_t seed LIANA_DEFAULT_(-1);
} liana_gaussian_dropout_options;
#define LIANA_GAUSSIAN_DROPOUT_DEFAULTS .trainable = true, .training = true, .seed = -1
#define liana_gaussian_dropout(...) \
    LIANA_ADD_("GaussianDropout", liana_gaussian_dropout_options, LIANA_GAUSSIAN_DROPOUT_DEFAULTS, __VA_ARGS__, )

/* Adds a normal number of mean 0 and deviation .stddev to each element. */
typedef struct liana_gaussian_noise_options {
    LIANA_LAYER_OPTIONS;
    double stddev LIANA_DEFAULT_();
    int64_t seed LIANA_DEFAULT_(-1);
} liana_gaussian_noise_options;
#define LIANA_GAUSSIAN_NOISE_DEFAULTS .trainable = true, .training = true, .seed = -1
#define liana_gaussian_noise(...) \
    LIANA_ADD_("GaussianNoise", liana_gaussian_noise_options, LIANA_GAUSSIAN_NOISE_DEFAULTS, __VA_ARGS__, )

#ifdef __cplusplus
}
#endif
#endif
