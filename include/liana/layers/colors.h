/* colors.h - layers that change the colours of images, mix images, or choose among such changes: their options and
 * builders (layer.h). */
#ifndef LIANA_LAYERS_COLORS_H
#define LIANA_LAYERS_COLORS_H

#include <liana/layer.h>
#include <liana/layers/reshaping.h>

#ifdef __cplusplus
extern "C" {
#endif

/* All take images [batch, height, width, channels] whose values are those of .value_range; empty: LIANA_FLOATS(0, 255).
 * But for AutoContrast and ContrastLimitedAdaptiveHistogramEqualization they do something in training only. Their draws
 * depend on the run's seed, the layer and the example's place in the run, and so not on batches or shards. With a .seed
 * of 0 or more they depend on it instead of the run's seed and the layer.
 *
 * A factor is one number, or the two ends of a range from which each image draws its own: LIANA_FLOATS(0.2, 0.2) is
 * 0.2 for all. One number f stands for the range from 0 to f, or as each layer says. */

/* RandomBrightness: + factor * (high - low), factors -1 to 1; one number: -f to f.
 * RandomContrast: (x - mean) * c + mean for each channel, c from 1 - factor[0] to 1 + factor[1].
 * RandomHue: adds up to factor / 2 of a whole turn to the hue, in either direction; factors 0 to 1.
 * RandomSaturation: multiplies the saturation by f / (1 - f), factors 0 to 1; 0.5 changes nothing.
 * RandomSharpness: 0 is blurred, 0.5 as it is, 1 sharpened.
 * RandomPosterization: keeps that many upper bits of 8; a range [a, b] draws from a to b - 1; one number: 1 to f.
 * RandomColorDegeneration: 0 is as it is, 1 is grey; one number: -f to f.
 * RandomInvert: the probability that high - x replaces x; empty: 1. */
typedef struct liana_random_color_options {
    LIANA_LAYER_OPTIONS;
    liana_floats factor LIANA_DEFAULT_();
    liana_floats value_range LIANA_DEFAULT_();
    int64_t seed LIANA_DEFAULT_(-1); /* -1: the run's */
} liana_random_color_options;
#define LIANA_RANDOM_COLOR_DEFAULTS .trainable = true, .training = true, .seed = -1
#define LIANA_RANDOM_COLOR_(layer_class, ...) \
    LIANA_ADD_(layer_class, liana_random_color_options, LIANA_RANDOM_COLOR_DEFAULTS, __VA_ARGS__, )
#define liana_random_brightness(...) LIANA_RANDOM_COLOR_("RandomBrightness", __VA_ARGS__)
#define liana_random_contrast(...) LIANA_RANDOM_COLOR_("RandomContrast", __VA_ARGS__)
#define liana_random_hue(...) LIANA_RANDOM_COLOR_("RandomHue", __VA_ARGS__)
#define liana_random_saturation(...) LIANA_RANDOM_COLOR_("RandomSaturation", __VA_ARGS__)
#define liana_random_sharpness(...) LIANA_RANDOM_COLOR_("RandomSharpness", __VA_ARGS__)
#define liana_random_posterization(...) LIANA_RANDOM_COLOR_("RandomPosterization", __VA_ARGS__)
#define liana_random_color_degeneration(...) LIANA_RANDOM_COLOR_("RandomColorDegeneration", __VA_ARGS__)
#define liana_random_invert(...) LIANA_RANDOM_COLOR_("RandomInvert", __VA_ARGS__)

/* RandomBrightness, RandomContrast, RandomSaturation and RandomHue one after the other; an empty factor leaves one
 * out. */
typedef struct liana_random_color_jitter_options {
    LIANA_LAYER_OPTIONS;
    liana_floats value_range LIANA_DEFAULT_();
    liana_floats brightness_factor LIANA_DEFAULT_();
    liana_floats contrast_factor LIANA_DEFAULT_();
    liana_floats saturation_factor LIANA_DEFAULT_();
    liana_floats hue_factor LIANA_DEFAULT_();
    int64_t seed LIANA_DEFAULT_(-1);
} liana_random_color_jitter_options;
#define LIANA_RANDOM_COLOR_JITTER_DEFAULTS .trainable = true, .training = true, .seed = -1
#define liana_random_color_jitter(...)                                                                     \
    LIANA_ADD_("RandomColorJitter", liana_random_color_jitter_options, LIANA_RANDOM_COLOR_JITTER_DEFAULTS, \
               __VA_ARGS__, )

/* With probability .factor (empty: 0 to 1), blurs by a Gaussian kernel of .kernel_size (odd) numbers and a standard
 * deviation of .sigma pixels (empty: 0 to 1), drawn for each axis. */
typedef struct liana_random_gaussian_blur_options {
    LIANA_LAYER_OPTIONS;
    liana_floats factor LIANA_DEFAULT_();
    int64_t kernel_size[2] LIANA_DEFAULT_(3, 3);
    liana_floats sigma LIANA_DEFAULT_();
    liana_floats value_range LIANA_DEFAULT_();
    int64_t seed LIANA_DEFAULT_(-1);
} liana_random_gaussian_blur_options;
#define LIANA_RANDOM_GAUSSIAN_BLUR_DEFAULTS .trainable = true, .training = true, .kernel_size = {3, 3}, .seed = -1
#define liana_random_gaussian_blur(...)                                                                       \
    LIANA_ADD_("RandomGaussianBlur", liana_random_gaussian_blur_options, LIANA_RANDOM_GAUSSIAN_BLUR_DEFAULTS, \
               __VA_ARGS__, )

/* Grey in all channels, with probability .factor. 1 or 3 channels. */
typedef struct liana_random_grayscale_options {
    LIANA_LAYER_OPTIONS;
    double factor LIANA_DEFAULT_(0.5);
    int64_t seed LIANA_DEFAULT_(-1);
} liana_random_grayscale_options;
#define LIANA_RANDOM_GRAYSCALE_DEFAULTS .trainable = true, .training = true, .factor = 0.5, .seed = -1
#define liana_random_grayscale(...) \
    LIANA_ADD_("RandomGrayscale", liana_random_grayscale_options, LIANA_RANDOM_GRAYSCALE_DEFAULTS, __VA_ARGS__, )

/* With probability .factor (empty: 0 to 1), fills a rectangle: of its sides, the root of a number in .scale (empty:
 * 0.02 to 0.33). .fill_value: one number, or one for each of 3 channels; empty: normal numbers times the range's upper
 * end. */
typedef struct liana_random_erasing_options {
    LIANA_LAYER_OPTIONS;
    liana_floats factor LIANA_DEFAULT_();
    liana_floats scale LIANA_DEFAULT_();
    liana_floats fill_value LIANA_DEFAULT_();
    liana_floats value_range LIANA_DEFAULT_();
    int64_t seed LIANA_DEFAULT_(-1);
} liana_random_erasing_options;
#define LIANA_RANDOM_ERASING_DEFAULTS .trainable = true, .training = true, .seed = -1
#define liana_random_erasing(...) \
    LIANA_ADD_("RandomErasing", liana_random_erasing_options, LIANA_RANDOM_ERASING_DEFAULTS, __VA_ARGS__, )

/* In a range of 0 to 255, adds a number from addition_factor[0] to 255 * addition_factor[1], and replaces values from
 * a threshold on (drawn in the same way) by 255 - value. Empty factors are 0: all values are replaced. */
typedef struct liana_solarization_options {
    LIANA_LAYER_OPTIONS;
    liana_floats addition_factor LIANA_DEFAULT_();
    liana_floats threshold_factor LIANA_DEFAULT_();
    liana_floats value_range LIANA_DEFAULT_();
    int64_t seed LIANA_DEFAULT_(-1);
} liana_solarization_options;
#define LIANA_SOLARIZATION_DEFAULTS .trainable = true, .training = true, .seed = -1
#define liana_solarization(...) \
    LIANA_ADD_("Solarization", liana_solarization_options, LIANA_SOLARIZATION_DEFAULTS, __VA_ARGS__, )

/* Stretches each channel of each image over the whole range; also in inference. */
typedef struct liana_auto_contrast_options {
    LIANA_LAYER_OPTIONS;
    liana_floats value_range LIANA_DEFAULT_();
} liana_auto_contrast_options;
#define LIANA_AUTO_CONTRAST_DEFAULTS .trainable = true, .training = true
#define liana_auto_contrast(...) \
    LIANA_ADD_("AutoContrast", liana_auto_contrast_options, LIANA_AUTO_CONTRAST_DEFAULTS, __VA_ARGS__, )

/* Gives each channel a nearly flat histogram. As in Keras the histogram is that of the whole batch, which must be one
 * shard or one program of a device in training. */
typedef struct liana_equalization_options {
    LIANA_LAYER_OPTIONS;
    liana_floats value_range LIANA_DEFAULT_();
    int64_t bins LIANA_DEFAULT_(256);
} liana_equalization_options;
#define LIANA_EQUALIZATION_DEFAULTS .trainable = true, .training = true, .bins = 256
#define liana_equalization(...) \
    LIANA_ADD_("Equalization", liana_equalization_options, LIANA_EQUALIZATION_DEFAULTS, __VA_ARGS__, )

/* The same by tiles of each image, between which it interpolates; also in inference. A bin counts at most .clip_limit
 * times the mean of all 256; 0: no limit. */
typedef struct liana_contrast_limited_options {
    LIANA_LAYER_OPTIONS;
    liana_floats value_range LIANA_DEFAULT_();
    double clip_limit LIANA_DEFAULT_(4);
    int64_t tile_grid_size[2] LIANA_DEFAULT_(8, 8); /* tiles along the height and the width */
} liana_contrast_limited_options;
#define LIANA_CONTRAST_LIMITED_DEFAULTS .trainable = true, .training = true, .clip_limit = 4, .tile_grid_size = {8, 8}
#define liana_contrast_limited_adaptive_histogram_equalization(...)                            \
    LIANA_ADD_("ContrastLimitedAdaptiveHistogramEqualization", liana_contrast_limited_options, \
               LIANA_CONTRAST_LIMITED_DEFAULTS, __VA_ARGS__, )

/* ---- layers that mix images ----
 *
 * Each image of a batch is mixed with another one of it, so in training the batch must be one shard or one program of
 * a device. With two inputs the second are labels [batch, classes], whose mixture is the second result. */

/* share * x + (1 - share) * partner, with a share of Beta(alpha, alpha) (Zhang and others 2017). */
typedef struct liana_mix_up_options {
    LIANA_MERGE_OPTIONS;
    double alpha LIANA_DEFAULT_(0.2);
    int64_t seed LIANA_DEFAULT_(-1);
} liana_mix_up_options;
#define LIANA_MIX_UP_DEFAULTS .trainable = true, .training = true, .alpha = 0.2, .seed = -1
#define liana_mix_up(...) LIANA_ADD_("MixUp", liana_mix_up_options, LIANA_MIX_UP_DEFAULTS, __VA_ARGS__, )

/* Pastes a rectangle of the partner, of a share of Beta(alpha, alpha) with an alpha drawn from .factor (empty: 0 to
 * 1), into the image (Yun and others 2019). */
typedef struct liana_cut_mix_options {
    LIANA_MERGE_OPTIONS;
    liana_floats factor LIANA_DEFAULT_();
    int64_t seed LIANA_DEFAULT_(-1);
} liana_cut_mix_options;
#define LIANA_CUT_MIX_DEFAULTS .trainable = true, .training = true, .seed = -1
#define liana_cut_mix(...) LIANA_ADD_("CutMix", liana_cut_mix_options, LIANA_CUT_MIX_DEFAULTS, __VA_ARGS__, )

/* ---- layers that choose among others ---- */

/* .num_ops changes one after the other, each drawn by each image from 11 (Cubuk and others 2019), of a strength from
 * .factor (empty: 0 to 0.5). */
typedef struct liana_rand_augment_options {
    LIANA_LAYER_OPTIONS;
    liana_floats value_range LIANA_DEFAULT_();
    int64_t num_ops LIANA_DEFAULT_(2);
    liana_floats factor LIANA_DEFAULT_();
    liana_interpolation interpolation LIANA_DEFAULT_(LIANA_BILINEAR); /* or LIANA_NEAREST */
    int64_t seed LIANA_DEFAULT_(-1);
} liana_rand_augment_options;
#define LIANA_RAND_AUGMENT_DEFAULTS \
    .trainable = true, .training = true, .num_ops = 2, .interpolation = LIANA_BILINEAR, .seed = -1
#define liana_rand_augment(...) \
    LIANA_ADD_("RandAugment", liana_rand_augment_options, LIANA_RAND_AUGMENT_DEFAULTS, __VA_ARGS__, )

/* Mixes .num_chains chains of up to .chain_depth drawn changes each, and the image itself (Hendrycks and others 2020).
 * Shares are of a Dirichlet and a Beta distribution of .alpha. .all_ops: brightness, colour degeneration, contrast and
 * sharpness are among the changes. .factor: their strength; empty: 0 to 0.3. */
typedef struct liana_aug_mix_options {
    LIANA_LAYER_OPTIONS;
    liana_floats value_range LIANA_DEFAULT_();
    int64_t num_chains LIANA_DEFAULT_(3);
    int64_t chain_depth LIANA_DEFAULT_(3);
    liana_floats factor LIANA_DEFAULT_();
    double alpha LIANA_DEFAULT_(1);
    bool all_ops LIANA_DEFAULT_(true);
    liana_interpolation interpolation LIANA_DEFAULT_(LIANA_BILINEAR); /* or LIANA_NEAREST */
    int64_t seed LIANA_DEFAULT_(-1);
} liana_aug_mix_options;
#define LIANA_AUG_MIX_DEFAULTS                                                                           \
    .trainable = true, .training = true, .num_chains = 3, .chain_depth = 3, .alpha = 1, .all_ops = true, \
    .interpolation = LIANA_BILINEAR, .seed = -1
#define liana_aug_mix(...) LIANA_ADD_("AugMix", liana_aug_mix_options, LIANA_AUG_MIX_DEFAULTS, __VA_ARGS__, )

/* Layers one after the other. */
typedef struct liana_pipeline_options {
    LIANA_LAYER_OPTIONS;
    liana_held_layers layers LIANA_DEFAULT_();
} liana_pipeline_options;
#define LIANA_PIPELINE_DEFAULTS .trainable = true, .training = true
#define liana_pipeline(...) LIANA_ADD_("Pipeline", liana_pipeline_options, LIANA_PIPELINE_DEFAULTS, __VA_ARGS__, )

/* Gives its images. In Keras it pads bounding boxes to a number, and liana's models have none. */
typedef struct liana_max_num_bounding_boxes_options {
    LIANA_LAYER_OPTIONS;
    int64_t max_number LIANA_DEFAULT_();
    int64_t fill_value LIANA_DEFAULT_(-1);
} liana_max_num_bounding_boxes_options;
#define LIANA_MAX_NUM_BOUNDING_BOXES_DEFAULTS .trainable = true, .training = true, .fill_value = -1
#define liana_max_num_bounding_boxes(...)                                                                          \
    LIANA_ADD_("MaxNumBoundingBoxes", liana_max_num_bounding_boxes_options, LIANA_MAX_NUM_BOUNDING_BOXES_DEFAULTS, \
               __VA_ARGS__, )

#ifdef __cplusplus
}
#endif
#endif
