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

/* ---- layers that the host computes of texts ----
 *
 * Their input is a liana_input of dtype LIANA_STRING, which feeds nothing else. They are computed where batches are
 * made, so they are part of the model and of its files, and the device gets numbers. A whole number counts as its
 * decimal text. Hashes, rules and files are Keras's. */

/* Keras's output_mode. */
typedef enum liana_output_mode {
    LIANA_OUTPUT_INT,       /* the number of each text, s32 */
    LIANA_OUTPUT_ONE_HOT,   /* a row for each text; a last axis of 1 is left out */
    LIANA_OUTPUT_MULTI_HOT, /* a row for the texts of the last axis: 1 for each number that is there */
    LIANA_OUTPUT_COUNT,     /* ... how often it is there */
    LIANA_OUTPUT_TF_IDF,    /* ... times its weight */
} liana_output_mode;

/* The number of each text. .mask_token (if given) is 0, then come .num_oov_indices numbers for texts that the
 * vocabulary does not have, then those of the vocabulary. In other modes than LIANA_OUTPUT_INT the mask has no
 * number. */
typedef struct liana_string_lookup_options {
    LIANA_LAYER_OPTIONS;
    int64_t max_tokens LIANA_DEFAULT_(); /* 0: any number */
    int64_t num_oov_indices LIANA_DEFAULT_(1);
    const char *mask_token LIANA_DEFAULT_();
    const char *oov_token LIANA_DEFAULT_(); /* NULL: "[UNK]" */
    liana_strings vocabulary LIANA_DEFAULT_();
    const struct liana__value *idf_weights LIANA_DEFAULT_(); /* which only files and configurations give */
    liana_output_mode output_mode LIANA_DEFAULT_();
    bool pad_to_max_tokens LIANA_DEFAULT_();
    liana_ints salt LIANA_DEFAULT_();
} liana_string_lookup_options;
#define LIANA_STRING_LOOKUP_DEFAULTS .trainable = true, .training = true, .num_oov_indices = 1
#define liana_string_lookup(...) \
    LIANA_ADD_("StringLookup", liana_string_lookup_options, LIANA_STRING_LOOKUP_DEFAULTS, __VA_ARGS__, )

/* Tokens of a text as numbers: 0 is padding, 1 an unknown token, 2 the first of the vocabulary. In other modes than
 * LIANA_OUTPUT_INT there is no padding, and numbers begin at 0. */
typedef struct liana_text_vectorization_options {
    LIANA_LAYER_OPTIONS;
    int64_t max_tokens LIANA_DEFAULT_(); /* 0: any number */
    int standardize LIANA_DEFAULT_();    /* 0: lower_and_strip_punctuation, 1: lower, 2: strip_punctuation, 3: none */
    int split LIANA_DEFAULT_();          /* 0: whitespace, 1: character, 2: none */
    liana_ints ngrams LIANA_DEFAULT_();  /* one number: that many tokens in a row, and fewer; several: these */
    liana_output_mode output_mode LIANA_DEFAULT_();
    int64_t output_sequence_length LIANA_DEFAULT_();
    bool pad_to_max_tokens LIANA_DEFAULT_();
    liana_strings vocabulary LIANA_DEFAULT_();
    const struct liana__value *idf_weights LIANA_DEFAULT_(); /* which only files and configurations give */
} liana_text_vectorization_options;
#define LIANA_TEXT_VECTORIZATION_DEFAULTS .trainable = true, .training = true
#define liana_text_vectorization(...) \
    LIANA_ADD_("TextVectorization", liana_text_vectorization_options, LIANA_TEXT_VECTORIZATION_DEFAULTS, __VA_ARGS__, )

/* A bucket for each text, by its hash: FarmHash's fingerprint, or with .salt SipHash-2-4, modulo .num_bins. With
 * .mask_value, that text is bucket 0 alone. */
typedef struct liana_hashing_options {
    LIANA_LAYER_OPTIONS;
    int64_t num_bins LIANA_DEFAULT_();
    const char *mask_value LIANA_DEFAULT_();
    liana_ints salt LIANA_DEFAULT_();
    liana_output_mode output_mode LIANA_DEFAULT_(); /* not LIANA_OUTPUT_TF_IDF */
} liana_hashing_options;
#define LIANA_HASHING_DEFAULTS .trainable = true, .training = true
#define liana_hashing(...) LIANA_ADD_("Hashing", liana_hashing_options, LIANA_HASHING_DEFAULTS, __VA_ARGS__, )

#ifdef __cplusplus
}
#endif
#endif
