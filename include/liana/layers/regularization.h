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

/* In training, sets a share `rate` of the elements to zero and multiplies the others by 1 / (1 - rate). .noise_shape
 * has one number for each axis, the batch first: -1 (or the input's size), or 1 where all elements along the axis share
 * one draw. LIANA_INTS(-1, 1, 1, 1) drops whole examples. */
typedef struct liana_dropout_options {
    LIANA_LAYER_OPTIONS;
    double rate LIANA_DEFAULT_();
    liana_ints noise_shape LIANA_DEFAULT_(); /* the first is -1; empty: each element has its own draw */
} liana_dropout_options;
#define LIANA_DROPOUT_DEFAULTS .trainable = true, .training = true
#define liana_dropout(...) LIANA_ADD_("Dropout", liana_dropout_options, LIANA_DROPOUT_DEFAULTS, __VA_ARGS__, )

#ifdef __cplusplus
}
#endif
#endif
