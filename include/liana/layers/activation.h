/* activation.h - activations as layers: their options and builders (layer.h). */
#ifndef LIANA_LAYERS_ACTIVATION_H
#define LIANA_LAYERS_ACTIVATION_H

#include <liana/layer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An activation by name. */
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

/* Softmax over `axis`. */
typedef struct liana_softmax_options {
    LIANA_LAYER_OPTIONS;
    int64_t axis LIANA_DEFAULT_(-1);
} liana_softmax_options;
#define LIANA_SOFTMAX_DEFAULTS .trainable = true, .training = true, .axis = -1
#define liana_softmax(...) LIANA_ADD_("Softmax", liana_softmax_options, LIANA_SOFTMAX_DEFAULTS, __VA_ARGS__, )

#ifdef __cplusplus
}
#endif
#endif
