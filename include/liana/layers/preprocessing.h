/* preprocessing.h - layers that prepare values: their options and builders (layer.h). */
#ifndef LIANA_LAYERS_PREPROCESSING_H
#define LIANA_LAYERS_PREPROCESSING_H

#include <liana/layer.h>
#include <liana/ops.h>

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

/* Keras's oov_method of whole numbers. */
typedef enum liana_oov_method {
    LIANA_OOV_FLOORMOD, /* the number modulo num_oov_indices */
    LIANA_OOV_FARMHASH, /* the hash of its decimal text, with .salt SipHash-2-4 */
} liana_oov_method;

/* As liana_string_lookup for whole numbers: .vocabulary = LIANA_INTEGERS(12, 36), .mask_token = LIANA_INTS(0).
 * .invert: the inputs are places in the vocabulary, and the result has its numbers, .oov_token where a place has
 * none. */
typedef struct liana_integer_lookup_options {
    LIANA_LAYER_OPTIONS;
    int64_t max_tokens LIANA_DEFAULT_(); /* 0: any number */
    int64_t num_oov_indices LIANA_DEFAULT_(1);
    liana_ints mask_token LIANA_DEFAULT_(); /* none, or one */
    int64_t oov_token LIANA_DEFAULT_(-1);
    liana_integers vocabulary LIANA_DEFAULT_();
    int vocabulary_dtype LIANA_DEFAULT_();                   /* 0: int64, the only one */
    const struct liana__value *idf_weights LIANA_DEFAULT_(); /* which only files and configurations give */
    bool invert LIANA_DEFAULT_();
    liana_output_mode output_mode LIANA_DEFAULT_();
    bool pad_to_max_tokens LIANA_DEFAULT_();
    liana_oov_method oov_method LIANA_DEFAULT_();
    liana_ints salt LIANA_DEFAULT_();
} liana_integer_lookup_options;
#define LIANA_INTEGER_LOOKUP_DEFAULTS .trainable = true, .training = true, .num_oov_indices = 1, .oov_token = -1
#define liana_integer_lookup(...) \
    LIANA_ADD_("IntegerLookup", liana_integer_lookup_options, LIANA_INTEGER_LOOKUP_DEFAULTS, __VA_ARGS__, )

/* A bucket for the values of all inputs together, by their hashes: texts, or whole numbers. Each input is [batch] or
 * [batch, 1]. .output_mode: LIANA_OUTPUT_INT or LIANA_OUTPUT_ONE_HOT. */
typedef struct liana_hashed_crossing_options {
    LIANA_MERGE_OPTIONS;
    int64_t num_bins LIANA_DEFAULT_();
    liana_output_mode output_mode LIANA_DEFAULT_();
} liana_hashed_crossing_options;
#define LIANA_HASHED_CROSSING_DEFAULTS .trainable = true, .training = true
#define liana_hashed_crossing(...) \
    LIANA_ADD_("HashedCrossing", liana_hashed_crossing_options, LIANA_HASHED_CROSSING_DEFAULTS, __VA_ARGS__, )

/* ---- numbers and signals, which the device computes ---- */

/* The number of the bin that each value is in: how many of the boundaries are not above it. .bin_boundaries are given,
 * or .num_bins says how many bins liana_layer_adapt (train.h) finds: .epsilon is how exactly. */
typedef struct liana_discretization_options {
    LIANA_LAYER_OPTIONS;
    liana_floats bin_boundaries LIANA_DEFAULT_();
    int64_t num_bins LIANA_DEFAULT_();
    double epsilon LIANA_DEFAULT_(0.01);
    liana_output_mode output_mode LIANA_DEFAULT_(); /* not LIANA_OUTPUT_TF_IDF */
} liana_discretization_options;
#define LIANA_DISCRETIZATION_DEFAULTS .trainable = true, .training = true, .epsilon = 0.01
#define liana_discretization(...) \
    LIANA_ADD_("Discretization", liana_discretization_options, LIANA_DISCRETIZATION_DEFAULTS, __VA_ARGS__, )

typedef enum liana_stft_mode {
    LIANA_STFT_LOG,
    LIANA_STFT_MAGNITUDE,
    LIANA_STFT_PSD,
    LIANA_STFT_REAL,
    LIANA_STFT_IMAG,
    LIANA_STFT_ANGLE,
    LIANA_STFT_STFT, /* real parts, then imaginary ones */
} liana_stft_mode;

/* The short-time Fourier transform of signals [batch, time, channels]: [batch, frames, channels * bins], or with
 * .expand_dims [batch, frames, bins, channels], where bins = fft_length / 2 + 1. Its kernels are weights, which may be
 * trained. */
typedef struct liana_stft_spectrogram_options {
    LIANA_LAYER_OPTIONS;
    liana_stft_mode mode LIANA_DEFAULT_();
    int64_t frame_length LIANA_DEFAULT_(256);
    int64_t frame_step LIANA_DEFAULT_();         /* 0: frame_length / 2 */
    int64_t fft_length LIANA_DEFAULT_();         /* 0: the power of two that is not below frame_length */
    const char *window LIANA_DEFAULT_();         /* a window of SciPy; NULL: "hann", "none": none */
    liana_floats window_values LIANA_DEFAULT_(); /* instead of .window */
    bool periodic LIANA_DEFAULT_();
    int scaling LIANA_DEFAULT_(); /* 0: density, 1: spectrum, 2: none */
    liana_padding padding LIANA_DEFAULT_();
    bool expand_dims LIANA_DEFAULT_();
} liana_stft_spectrogram_options;
#define LIANA_STFT_SPECTROGRAM_DEFAULTS .trainable = true, .training = true, .frame_length = 256
#define liana_stft_spectrogram(...) \
    LIANA_ADD_("STFTSpectrogram", liana_stft_spectrogram_options, LIANA_STFT_SPECTROGRAM_DEFAULTS, __VA_ARGS__, )

/* Signals [batch, time] as mel spectrograms [batch, num_mel_bins, frames]. */
typedef struct liana_mel_spectrogram_options {
    LIANA_LAYER_OPTIONS;
    int64_t fft_length LIANA_DEFAULT_(2048);
    int64_t sequence_stride LIANA_DEFAULT_(512);
    int64_t sequence_length LIANA_DEFAULT_();    /* 0: fft_length */
    int window LIANA_DEFAULT_();                 /* 0: hann, 1: hamming, 2: none */
    liana_floats window_values LIANA_DEFAULT_(); /* instead of .window */
    double sampling_rate LIANA_DEFAULT_(16000);
    int64_t num_mel_bins LIANA_DEFAULT_(128);
    double min_freq LIANA_DEFAULT_(20);
    double max_freq LIANA_DEFAULT_(); /* 0: sampling_rate / 2 */
    bool power_to_db LIANA_DEFAULT_(true);
    double top_db LIANA_DEFAULT_(80);
    double mag_exp LIANA_DEFAULT_(2);
    double min_power LIANA_DEFAULT_(1e-10);
    double ref_power LIANA_DEFAULT_(1);
} liana_mel_spectrogram_options;
#define LIANA_MEL_SPECTROGRAM_DEFAULTS                                                                        \
    .trainable = true, .training = true, .fft_length = 2048, .sequence_stride = 512, .sampling_rate = 16000,  \
    .num_mel_bins = 128, .min_freq = 20, .power_to_db = true, .top_db = 80, .mag_exp = 2, .min_power = 1e-10, \
    .ref_power = 1
#define liana_mel_spectrogram(...) \
    LIANA_ADD_("MelSpectrogram", liana_mel_spectrogram_options, LIANA_MEL_SPECTROGRAM_DEFAULTS, __VA_ARGS__, )

#ifdef __cplusplus
}
#endif
#endif
