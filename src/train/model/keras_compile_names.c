/* Names of losses and metrics in Keras and here. */
#include "train/model/keras_compile_names.h"

#include "base/field.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static const liana__keras_name losses[] = {
    {"SparseCategoricalCrossentropy", "sparse_categorical_crossentropy", "sparse_categorical_crossentropy"},
    {"CategoricalCrossentropy", "categorical_crossentropy", "categorical_crossentropy"},
    {"BinaryCrossentropy", "binary_crossentropy", "binary_crossentropy"},
    {"BinaryCrossentropy", "bce", "binary_crossentropy"},
    {"MeanSquaredError", "mean_squared_error", "mean_squared_error"},
    {"MeanSquaredError", "mse", "mean_squared_error"},
    {"MeanAbsoluteError", "mean_absolute_error", "mean_absolute_error"},
    {"MeanAbsoluteError", "mae", "mean_absolute_error"},
    {"Huber", "huber", "huber"},
    {"Huber", "huber_loss", "huber"},
    {"MeanAbsolutePercentageError", "mean_absolute_percentage_error", "mean_absolute_percentage_error"},
    {"MeanAbsolutePercentageError", "mape", "mean_absolute_percentage_error"},
    {"MeanSquaredLogarithmicError", "mean_squared_logarithmic_error", "mean_squared_logarithmic_error"},
    {"MeanSquaredLogarithmicError", "msle", "mean_squared_logarithmic_error"},
    {"LogCosh", "log_cosh", "log_cosh"},
    {"LogCosh", "logcosh", "log_cosh"},
    {"Poisson", "poisson", "poisson"},
    {"Hinge", "hinge", "hinge"},
    {"SquaredHinge", "squared_hinge", "squared_hinge"},
    {"CategoricalHinge", "categorical_hinge", "categorical_hinge"},
    {"KLDivergence", "kl_divergence", "kl_divergence"},
    {"KLDivergence", "kullback_leibler_divergence", "kl_divergence"},
    {"KLDivergence", "kld", "kl_divergence"},
    {"CosineSimilarity", "cosine_similarity", "cosine_similarity"},
    {"CategoricalFocalCrossentropy", "categorical_focal_crossentropy", "categorical_focal_crossentropy"},
    {"BinaryFocalCrossentropy", "binary_focal_crossentropy", "binary_focal_crossentropy"},
};

/* Keras chooses the class for the name 'accuracy' by the shapes, as liana does. */
static const liana__keras_name metrics[] = {
    {"accuracy", "acc", "accuracy"},
    {"SparseCategoricalAccuracy", "sparse_categorical_accuracy", "accuracy"},
    {"CategoricalAccuracy", "categorical_accuracy", "accuracy"},
    {"BinaryAccuracy", "binary_accuracy", "binary_accuracy"},
    {"TopKCategoricalAccuracy", "top_k_categorical_accuracy", "top_k_accuracy"},
    {"SparseTopKCategoricalAccuracy", "sparse_top_k_categorical_accuracy", "top_k_accuracy"},
    {"MeanSquaredError", "mean_squared_error", "mean_squared_error"},
    {"MeanSquaredError", "mse", "mean_squared_error"},
    {"MeanAbsoluteError", "mean_absolute_error", "mean_absolute_error"},
    {"MeanAbsoluteError", "mae", "mean_absolute_error"},
    {"MeanAbsolutePercentageError", "mean_absolute_percentage_error", "mean_absolute_percentage_error"},
    {"MeanAbsolutePercentageError", "mape", "mean_absolute_percentage_error"},
    {"MeanSquaredLogarithmicError", "mean_squared_logarithmic_error", "mean_squared_logarithmic_error"},
    {"MeanSquaredLogarithmicError", "msle", "mean_squared_logarithmic_error"},
    {"RootMeanSquaredError", "root_mean_squared_error", "root_mean_squared_error"},
    {"LogCoshError", "logcosh", "log_cosh_error"},
    {"Poisson", "poisson", "poisson"},
    {"Hinge", "hinge", "hinge"},
    {"SquaredHinge", "squared_hinge", "squared_hinge"},
    {"CategoricalHinge", "categorical_hinge", "categorical_hinge"},
    {"KLDivergence", "kl_divergence", "kl_divergence"},
    {"KLDivergence", "kullback_leibler_divergence", "kl_divergence"},
    {"CosineSimilarity", "cosine_similarity", "cosine_similarity"},
    {"R2Score", "r2_score", "r2_score"},
    {"Precision", "precision", "precision"},
    {"Recall", "recall", "recall"},
    {"F1Score", "f1_score", "f1_score"},
    {"FBetaScore", "fbeta_score", "fbeta_score"},
    {"AUC", "auc", "auc"},
};

static const char *const optimizers[] = {"Adam",    "AdamW",    "Adamax", "Nadam", "SGD",  "RMSprop",
                                         "Adagrad", "Adadelta", "Ftrl",   "Lion",  "Lamb", NULL};

/* A Constant becomes a number. */
static const char *const schedules[] = {
    "Constant",    "ExponentialDecay",    "InverseTimeDecay",       "PolynomialDecay",
    "CosineDecay", "CosineDecayRestarts", "PiecewiseConstantDecay", NULL,
};

static const liana__keras_name *find(const liana__keras_name *rows, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(rows[i].class_name, name) == 0 || strcasecmp(rows[i].function, name) == 0) return &rows[i];
    }
    return NULL;
}

static const liana__keras_name *find_liana(const liana__keras_name *rows, size_t count, const char *liana)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(rows[i].liana, liana) == 0) return &rows[i];
    }
    return NULL;
}

#define COUNT(rows) (sizeof(rows) / sizeof *(rows))

const liana__keras_name *liana__keras_find_loss(const char *name)
{
    return find(losses, COUNT(losses), name);
}

const liana__keras_name *liana__keras_loss_of(const char *liana)
{
    return find_liana(losses, COUNT(losses), liana);
}

const liana__keras_name *liana__keras_find_metric(const char *name)
{
    return find(metrics, COUNT(metrics), name);
}

const liana__keras_name *liana__keras_metric_of(const char *liana)
{
    return find_liana(metrics, COUNT(metrics), liana);
}

static bool is_among(const char *const *names, const char *name)
{
    for (size_t i = 0; names[i]; i++) {
        if (strcmp(names[i], name) == 0) return true;
    }
    return false;
}

bool liana__keras_has_optimizer(const char *name)
{
    return is_among(optimizers, name);
}

bool liana__keras_has_schedule(const char *name)
{
    return is_among(schedules, name);
}

liana_status liana__keras_lacks(const liana__value *value, const char *where, const char *key, const char *expected,
                                liana__error *error)
{
    char found[128];
    liana__fail_at(error, &value->place, where, "%s: found %s, expected %s", key,
                   liana__value_describe(value, found, sizeof found), expected);
    if (error) error->status = LIANA_UNIMPLEMENTED;
    return LIANA_UNIMPLEMENTED;
}
