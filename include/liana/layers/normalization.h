/* normalization.h - normalisation: their options and builders (layer.h). */
#ifndef LIANA_LAYERS_NORMALIZATION_H
#define LIANA_LAYERS_NORMALIZATION_H

#include <liana/layer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* gamma (x - mean) / sqrt(variance + epsilon) + beta, for each channel (the last axis). In training, mean and variance
 * are those of the shard, and moving = momentum * moving + (1 - momentum) * shard's. Otherwise, and if .trainable is
 * false, they are the moving ones. */
typedef struct liana_batch_normalization_options {
    LIANA_LAYER_OPTIONS;
    double momentum LIANA_DEFAULT_(0.99);
    double epsilon LIANA_DEFAULT_(1e-3);
    bool center LIANA_DEFAULT_(true); /* has beta */
    bool scale LIANA_DEFAULT_(true);  /* has gamma */
    const char *beta_initializer LIANA_DEFAULT_("zeros");
    const char *gamma_initializer LIANA_DEFAULT_("ones");
    const char *moving_mean_initializer LIANA_DEFAULT_("zeros");
    const char *moving_variance_initializer LIANA_DEFAULT_("ones");
    const char *beta_regularizer LIANA_DEFAULT_();
    const char *gamma_regularizer LIANA_DEFAULT_();
    const char *beta_constraint LIANA_DEFAULT_();
    const char *gamma_constraint LIANA_DEFAULT_();
    /* The moving variance of images is that of the population, as in Keras 3. Else it is n / (n - 1) times that, as in
     * Keras 2. */
    bool population_variance LIANA_DEFAULT_();
} liana_batch_normalization_options;
#define LIANA_BATCH_NORMALIZATION_DEFAULTS                                                                 \
    .trainable = true, .training = true, .momentum = 0.99, .epsilon = 1e-3, .center = true, .scale = true, \
    .beta_initializer = "zeros", .gamma_initializer = "ones", .moving_mean_initializer = "zeros",          \
    .moving_variance_initializer = "ones"
#define liana_batch_normalization(...)                                                                      \
    LIANA_ADD_("BatchNormalization", liana_batch_normalization_options, LIANA_BATCH_NORMALIZATION_DEFAULTS, \
               __VA_ARGS__, )

#ifdef __cplusplus
}
#endif
#endif
