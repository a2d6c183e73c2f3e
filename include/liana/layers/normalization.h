/* normalization.h - normalisation: their options and builders (layer.h). */
#ifndef LIANA_LAYERS_NORMALIZATION_H
#define LIANA_LAYERS_NORMALIZATION_H

#include <liana/layer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An option `axis` is one or several axes: .axis = 1, .axis = {1, 2}. Axis 0 is the batch; negative ones count from the
 * end. */

/* gamma (x - mean) / sqrt(variance + epsilon) + beta, for each channel (along .axis). In training, mean and variance
 * are those of the shard, without the steps that a mask leaves out, and moving = momentum * moving + (1 - momentum) *
 * shard's. Otherwise, and if .trainable is false, they are the moving ones. */
typedef struct liana_batch_normalization_options {
    LIANA_LAYER_OPTIONS;
    int64_t axis LIANA_DEFAULT_(-1);
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
    /* Batch renormalisation (Ioffe 2017): x is normalised in training by averages that follow with .renorm_momentum.
     * The correction factors lie from renorm_rmin to renorm_rmax, and from -renorm_dmax to renorm_dmax. */
    bool renorm LIANA_DEFAULT_();
    double renorm_rmax LIANA_DEFAULT_(LIANA_NO_LIMIT);
    double renorm_rmin LIANA_DEFAULT_(LIANA_NO_LIMIT);
    double renorm_dmax LIANA_DEFAULT_(LIANA_NO_LIMIT);
    double renorm_momentum LIANA_DEFAULT_(0.99);
    /* The statistics are those of the whole batch. An update must then be one shard, or one program of a device. */
    bool synchronized LIANA_DEFAULT_();
    /* The moving variance of images is that of the population, as in Keras 3. Else it is n / (n - 1) times that, as in
     * Keras 2. */
    bool population_variance LIANA_DEFAULT_(true);
} liana_batch_normalization_options;
#define LIANA_BATCH_NORMALIZATION_DEFAULTS                                                                             \
    .trainable = true, .training = true, .axis = -1, .momentum = 0.99, .epsilon = 1e-3, .center = true, .scale = true, \
    .beta_initializer = "zeros", .gamma_initializer = "ones", .moving_mean_initializer = "zeros",                      \
    .moving_variance_initializer = "ones", .renorm_rmax = LIANA_NO_LIMIT, .renorm_rmin = LIANA_NO_LIMIT,               \
    .renorm_dmax = LIANA_NO_LIMIT, .renorm_momentum = 0.99, .population_variance = true
#define liana_batch_normalization(...)                                                                      \
    LIANA_ADD_("BatchNormalization", liana_batch_normalization_options, LIANA_BATCH_NORMALIZATION_DEFAULTS, \
               __VA_ARGS__, )

/* gamma (x - mean) / sqrt(variance + epsilon) + beta, with mean and variance over .axis in each example (Ba et al.
 * 2016). gamma and beta have the sizes of these axes. */
typedef struct liana_layer_normalization_options {
    LIANA_LAYER_OPTIONS;
    int64_t axis[LIANA_MAX_AXES] LIANA_DEFAULT_(-1);
    double epsilon LIANA_DEFAULT_(1e-3);
    bool center LIANA_DEFAULT_(true); /* has beta */
    bool scale LIANA_DEFAULT_(true);  /* has gamma */
    const char *beta_initializer LIANA_DEFAULT_("zeros");
    const char *gamma_initializer LIANA_DEFAULT_("ones");
    const char *beta_regularizer LIANA_DEFAULT_();
    const char *gamma_regularizer LIANA_DEFAULT_();
    const char *beta_constraint LIANA_DEFAULT_();
    const char *gamma_constraint LIANA_DEFAULT_();
    /* As in older Keras: gamma x / sqrt(variance + epsilon), always with gamma and without beta. RMSNormalization is
     * another formula. */
    bool rms_scaling LIANA_DEFAULT_();
} liana_layer_normalization_options;
#define LIANA_LAYER_NORMALIZATION_DEFAULTS                                                             \
    .trainable = true, .training = true, .axis = {-1}, .epsilon = 1e-3, .center = true, .scale = true, \
    .beta_initializer = "zeros", .gamma_initializer = "ones"
#define liana_layer_normalization(...)                                                                      \
    LIANA_ADD_("LayerNormalization", liana_layer_normalization_options, LIANA_LAYER_NORMALIZATION_DEFAULTS, \
               __VA_ARGS__, )

/* scale x / sqrt(mean(x^2) + epsilon), with the mean over .axis in each example (Zhang and Sennrich 2019). */
typedef struct liana_rms_normalization_options {
    LIANA_LAYER_OPTIONS;
    int64_t axis[LIANA_MAX_AXES] LIANA_DEFAULT_(-1);
    double epsilon LIANA_DEFAULT_(1e-6);
} liana_rms_normalization_options;
#define LIANA_RMS_NORMALIZATION_DEFAULTS .trainable = true, .training = true, .axis = {-1}, .epsilon = 1e-6
#define liana_rms_normalization(...) \
    LIANA_ADD_("RMSNormalization", liana_rms_normalization_options, LIANA_RMS_NORMALIZATION_DEFAULTS, __VA_ARGS__, )

/* The channels along .axis are cut into .groups of equal size. In each example, each group is normalised by its mean
 * and variance over all other axes (Wu and He 2018); then gamma and beta of each channel follow. .groups -1: as many as
 * channels. */
typedef struct liana_group_normalization_options {
    LIANA_LAYER_OPTIONS;
    int64_t groups LIANA_DEFAULT_(32);
    int64_t axis LIANA_DEFAULT_(-1);
    double epsilon LIANA_DEFAULT_(1e-3);
    bool center LIANA_DEFAULT_(true); /* has beta */
    bool scale LIANA_DEFAULT_(true);  /* has gamma */
    const char *beta_initializer LIANA_DEFAULT_("zeros");
    const char *gamma_initializer LIANA_DEFAULT_("ones");
    const char *beta_regularizer LIANA_DEFAULT_();
    const char *gamma_regularizer LIANA_DEFAULT_();
    const char *beta_constraint LIANA_DEFAULT_();
    const char *gamma_constraint LIANA_DEFAULT_();
} liana_group_normalization_options;
#define LIANA_GROUP_NORMALIZATION_DEFAULTS                                                                         \
    .trainable = true, .training = true, .groups = 32, .axis = -1, .epsilon = 1e-3, .center = true, .scale = true, \
    .beta_initializer = "zeros", .gamma_initializer = "ones"
#define liana_group_normalization(...)                                                                      \
    LIANA_ADD_("GroupNormalization", liana_group_normalization_options, LIANA_GROUP_NORMALIZATION_DEFAULTS, \
               __VA_ARGS__, )

/* x / sqrt(sum(x^2)), with the sum over .axis in each example. The root is at least 1e-12. */
typedef struct liana_unit_normalization_options {
    LIANA_LAYER_OPTIONS;
    int64_t axis[LIANA_MAX_AXES] LIANA_DEFAULT_(-1);
} liana_unit_normalization_options;
#define LIANA_UNIT_NORMALIZATION_DEFAULTS .trainable = true, .training = true, .axis = {-1}
#define liana_unit_normalization(...) \
    LIANA_ADD_("UnitNormalization", liana_unit_normalization_options, LIANA_UNIT_NORMALIZATION_DEFAULTS, __VA_ARGS__, )

/* .layer, whose kernel (or embeddings) is divided in training by its greatest singular value (Miyato et al. 2018),
 * which .power_iterations steps for each update find. Outside training the kernel is used as it is. */
typedef struct liana_spectral_normalization_options {
    LIANA_LAYER_OPTIONS;
    liana_held_layer layer LIANA_DEFAULT_();
    int64_t power_iterations LIANA_DEFAULT_(1);
} liana_spectral_normalization_options;
#define LIANA_SPECTRAL_NORMALIZATION_DEFAULTS .trainable = true, .training = true, .power_iterations = 1
#define liana_spectral_normalization(...)                                                                            \
    LIANA_ADD_("SpectralNormalization", liana_spectral_normalization_options, LIANA_SPECTRAL_NORMALIZATION_DEFAULTS, \
               __VA_ARGS__, )

/* gamma x, with one gamma for each channel (the last axis) that begins at .init_values (Touvron et al. 2021). A small
 * one lets a deep network begin almost without its residual branches. .projection_dim is the number of channels. Keras
 * has this layer in keras.applications.convnext. */
typedef struct liana_layer_scale_options {
    LIANA_LAYER_OPTIONS;
    double init_values LIANA_DEFAULT_();
    int64_t projection_dim LIANA_DEFAULT_();
} liana_layer_scale_options;
#define LIANA_LAYER_SCALE_DEFAULTS .trainable = true, .training = true
#define liana_layer_scale(...) \
    LIANA_ADD_("LayerScale", liana_layer_scale_options, LIANA_LAYER_SCALE_DEFAULTS, __VA_ARGS__, )

#ifdef __cplusplus
}
#endif
#endif
