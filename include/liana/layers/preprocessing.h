/* preprocessing.h - layers that prepare values: their options and builders (layer.h). */
#ifndef LIANA_LAYERS_PREPROCESSING_H
#define LIANA_LAYERS_PREPROCESSING_H

#include <liana/layer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* x * scale + offset. */
typedef struct liana_rescaling_options {
    LIANA_LAYER_OPTIONS;
    double scale LIANA_DEFAULT_();
    double offset LIANA_DEFAULT_();
    /* A further factor and summand for each channel, which only files and architectures give: programs leave them
     * NULL. */
    const struct liana__value *scales LIANA_DEFAULT_();
    const struct liana__value *offsets LIANA_DEFAULT_();
} liana_rescaling_options;
#define LIANA_RESCALING_DEFAULTS .trainable = true, .training = true
#define liana_rescaling(...) LIANA_ADD_("Rescaling", liana_rescaling_options, LIANA_RESCALING_DEFAULTS, __VA_ARGS__, )

/* (x - mean) / sqrt(variance) for each position along .axis: one, several, or {0}, which is none: the same mean and
 * variance everywhere. Without .mean and .variance they are weights that training does not change; so is `count`,
 * which nothing uses. liana_layer_adapt (train.h) computes them, or a weight file has them; else mean is 0 and variance
 * 1. With .mean = LIANA_FLOATS(...) and .variance they are these numbers: one, or one for each position, row by row.
 * .invert: x * sqrt(variance) + mean. */
typedef struct liana_normalization_options {
    LIANA_LAYER_OPTIONS;
    int64_t axis[LIANA_MAX_AXES] LIANA_DEFAULT_(-1);
    liana_floats mean LIANA_DEFAULT_();
    liana_floats variance LIANA_DEFAULT_();
    liana_ints mean_shape LIANA_DEFAULT_(); /* of both, if they have several axes */
    bool invert LIANA_DEFAULT_();
} liana_normalization_options;
#define LIANA_NORMALIZATION_DEFAULTS .trainable = true, .training = true, .axis = {-1}
#define liana_normalization(...) \
    LIANA_ADD_("Normalization", liana_normalization_options, LIANA_NORMALIZATION_DEFAULTS, __VA_ARGS__, )

typedef enum liana_encoding {
    LIANA_MULTI_HOT, /* one row: 1 for each id that is there */
    LIANA_ONE_HOT,   /* a row for each id */
    LIANA_COUNT,     /* one row: how often each id is there */
} liana_encoding;

/* Ids [batch, ids] as floats [batch, num_tokens]; LIANA_ONE_HOT: [batch, ids, num_tokens], where a last axis of 1 is
 * left out. Ids are 0 to num_tokens - 1; others give zeros. */
typedef struct liana_category_encoding_options {
    LIANA_LAYER_OPTIONS;
    int64_t num_tokens LIANA_DEFAULT_();
    liana_encoding output_mode LIANA_DEFAULT_();
} liana_category_encoding_options;
#define LIANA_CATEGORY_ENCODING_DEFAULTS .trainable = true, .training = true
#define liana_category_encoding(...) \
    LIANA_ADD_("CategoryEncoding", liana_category_encoding_options, LIANA_CATEGORY_ENCODING_DEFAULTS, __VA_ARGS__, )

#ifdef __cplusplus
}
#endif
#endif
