/* activation.h - activations as layers: their options and builders (layer.h). */
#ifndef LIANA_LAYERS_ACTIVATION_H
#define LIANA_LAYERS_ACTIVATION_H

#include <liana/layer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An activation by name, with arguments in parentheses if it has any: "relu", "leaky_relu(negative_slope=0.1)". */
typedef struct liana_activation_options {
    LIANA_LAYER_OPTIONS;
    const char *activation LIANA_DEFAULT_();
} liana_activation_options;
#define LIANA_ACTIVATION_DEFAULTS .trainable = true, .training = true
#define liana_activation(...) \
    LIANA_ADD_("Activation", liana_activation_options, LIANA_ACTIVATION_DEFAULTS, __VA_ARGS__, )

/* x if x >= `threshold`, at most `max_value` (above 0; default: no limit); else negative_slope * (x - threshold). */
typedef struct liana_relu_options {
    LIANA_LAYER_OPTIONS;
    double max_value LIANA_DEFAULT_(LIANA_NO_LIMIT);
    double negative_slope LIANA_DEFAULT_();
    double threshold LIANA_DEFAULT_();
} liana_relu_options;
#define LIANA_RELU_DEFAULTS .trainable = true, .training = true, .max_value = LIANA_NO_LIMIT
#define liana_relu(...) LIANA_ADD_("ReLU", liana_relu_options, LIANA_RELU_DEFAULTS, __VA_ARGS__, )

/* x above 0, else negative_slope * x. */
typedef struct liana_leaky_relu_options {
    LIANA_LAYER_OPTIONS;
    double negative_slope LIANA_DEFAULT_(0.3);
} liana_leaky_relu_options;
#define LIANA_LEAKY_RELU_DEFAULTS .trainable = true, .training = true, .negative_slope = 0.3
#define liana_leaky_relu(...) \
    LIANA_ADD_("LeakyReLU", liana_leaky_relu_options, LIANA_LEAKY_RELU_DEFAULTS, __VA_ARGS__, )

/* x above 0, else alpha * (e^x - 1). */
typedef struct liana_elu_options {
    LIANA_LAYER_OPTIONS;
    double alpha LIANA_DEFAULT_(1.0);
} liana_elu_options;
#define LIANA_ELU_DEFAULTS .trainable = true, .training = true, .alpha = 1.0
#define liana_elu(...) LIANA_ADD_("ELU", liana_elu_options, LIANA_ELU_DEFAULTS, __VA_ARGS__, )

/* x above 0, else alpha * x, where alpha is a weight: one for each element of an example. Elements along .shared_axes
 * share one: LIANA_INTS(1, 2) gives one for each channel of images. Axes count from 1; 0 is the batch. */
typedef struct liana_prelu_options {
    LIANA_LAYER_OPTIONS;
    const char *alpha_initializer LIANA_DEFAULT_("zeros");
    const char *alpha_regularizer LIANA_DEFAULT_();
    const char *alpha_constraint LIANA_DEFAULT_();
    liana_ints shared_axes LIANA_DEFAULT_();
} liana_prelu_options;
#define LIANA_PRELU_DEFAULTS .trainable = true, .training = true, .alpha_initializer = "zeros"
#define liana_prelu(...) LIANA_ADD_("PReLU", liana_prelu_options, LIANA_PRELU_DEFAULTS, __VA_ARGS__, )

/* Softmax over .axis: one, or several axes together, {1, 2}. A mask of the input makes the results 0 where it is false;
 * it must be broadcast to the input, as in numpy. So does another layer's result that is the second of .inputs: false
 * where it is 0. */
typedef struct liana_softmax_options {
    const char *name LIANA_DEFAULT_();
    bool trainable LIANA_DEFAULT_(true);
    bool training LIANA_DEFAULT_(true);
    union {
        liana_layer input LIANA_DEFAULT_();
        liana_layer inputs[LIANA_MAX_LAYER_INPUTS];
    };
    int64_t axis[LIANA_MAX_AXES] LIANA_DEFAULT_(-1);
} liana_softmax_options;
#define LIANA_SOFTMAX_DEFAULTS .trainable = true, .training = true, .axis = {-1}
#define liana_softmax(...) LIANA_ADD_("Softmax", liana_softmax_options, LIANA_SOFTMAX_DEFAULTS, __VA_ARGS__, )

#ifdef __cplusplus
}
#endif
#endif
