/* image_geometry.h - layers that resize, crop, turn and distort images: their options and builders (layer.h).
 *
 * Images are [batch, height, width, channels]. Those that begin with "random" do something in training only (RandomCrop
 * also resizes in inference). Their draws depend on the run's seed, the layer and the example's place in the run, and
 * so not on batches or shards: each image has draws of its own. With a .seed of 0 or more they depend on it instead of
 * the run's seed and the layer. Gradients flow to the images. */
#ifndef LIANA_LAYERS_IMAGE_GEOMETRY_H
#define LIANA_LAYERS_IMAGE_GEOMETRY_H

#include <liana/layers/reshaping.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What stands beyond the edges of a row a b c d. */
typedef enum liana_fill_mode {
    LIANA_FILL_CONSTANT, /* k k k | a b c d | k k k, with k = .fill_value */
    LIANA_FILL_NEAREST,  /* a a a | a b c d | d d d */
    LIANA_FILL_REFLECT,  /* c b a | a b c d | d c b */
    LIANA_FILL_WRAP,     /* b c d | a b c d | a b c */
    LIANA_FILL_MIRROR,   /* d c b | a b c d | c b a; RandomElasticTransform alone */
} liana_fill_mode;

/* Images of another size. .crop_to_aspect_ratio: of the largest window in the centre that has the new proportions.
 * .pad_to_aspect_ratio: of the image in the centre of an area of .fill_value that has them; .fill_mode is
 * LIANA_FILL_CONSTANT. .antialias: where a side becomes smaller, the kernel is wider by as much. */
typedef struct liana_resizing_options {
    LIANA_LAYER_OPTIONS;
    int64_t height LIANA_DEFAULT_();
    int64_t width LIANA_DEFAULT_();
    liana_interpolation interpolation LIANA_DEFAULT_(LIANA_BILINEAR);
    bool crop_to_aspect_ratio LIANA_DEFAULT_();
    bool pad_to_aspect_ratio LIANA_DEFAULT_();
    liana_fill_mode fill_mode LIANA_DEFAULT_();
    double fill_value LIANA_DEFAULT_();
    bool antialias LIANA_DEFAULT_();
} liana_resizing_options;
#define LIANA_RESIZING_DEFAULTS .trainable = true, .training = true, .interpolation = LIANA_BILINEAR
#define liana_resizing(...) LIANA_ADD_("Resizing", liana_resizing_options, LIANA_RESIZING_DEFAULTS, __VA_ARGS__, )

/* The window in the centre. Of an image that is smaller, the largest window of these proportions is resized. */
typedef struct liana_center_crop_options {
    LIANA_LAYER_OPTIONS;
    int64_t height LIANA_DEFAULT_();
    int64_t width LIANA_DEFAULT_();
} liana_center_crop_options;
#define LIANA_CENTER_CROP_DEFAULTS .trainable = true, .training = true
#define liana_center_crop(...) \
    LIANA_ADD_("CenterCrop", liana_center_crop_options, LIANA_CENTER_CROP_DEFAULTS, __VA_ARGS__, )

/* In training a window at a random place. In inference the largest window of these proportions in the centre is
 * resized. */
typedef struct liana_random_crop_options {
    LIANA_LAYER_OPTIONS;
    int64_t height LIANA_DEFAULT_();
    int64_t width LIANA_DEFAULT_();
    int64_t seed LIANA_DEFAULT_(-1);
} liana_random_crop_options;
#define LIANA_RANDOM_CROP_DEFAULTS .trainable = true, .training = true, .seed = -1
#define liana_random_crop(...) \
    LIANA_ADD_("RandomCrop", liana_random_crop_options, LIANA_RANDOM_CROP_DEFAULTS, __VA_ARGS__, )

typedef enum liana_flip_mode {
    LIANA_FLIP_HORIZONTAL,              /* left and right change places */
    LIANA_FLIP_VERTICAL,                /* top and bottom do */
    LIANA_FLIP_HORIZONTAL_AND_VERTICAL, /* both, or neither */
} liana_flip_mode;

/* Every second image, on average. */
typedef struct liana_random_flip_options {
    LIANA_LAYER_OPTIONS;
    liana_flip_mode mode LIANA_DEFAULT_(LIANA_FLIP_HORIZONTAL_AND_VERTICAL);
    int64_t seed LIANA_DEFAULT_(-1);
} liana_random_flip_options;
#define LIANA_RANDOM_FLIP_DEFAULTS \
    .trainable = true, .training = true, .mode = LIANA_FLIP_HORIZONTAL_AND_VERTICAL, .seed = -1
#define liana_random_flip(...) \
    LIANA_ADD_("RandomFlip", liana_random_flip_options, LIANA_RANDOM_FLIP_DEFAULTS, __VA_ARGS__, )

/* A factor is a range: LIANA_FLOATS(-0.1, 0.3), or one number f for -f to f. */

/* Shifts by a part of the height and of the width, from -1 to 1; down and to the right where it is positive. */
typedef struct liana_random_translation_options {
    LIANA_LAYER_OPTIONS;
    liana_floats height_factor LIANA_DEFAULT_();
    liana_floats width_factor LIANA_DEFAULT_();
    liana_fill_mode fill_mode LIANA_DEFAULT_(LIANA_FILL_REFLECT);
    liana_interpolation interpolation LIANA_DEFAULT_(LIANA_BILINEAR); /* or LIANA_NEAREST */
    int64_t seed LIANA_DEFAULT_(-1);
    double fill_value LIANA_DEFAULT_();
} liana_random_translation_options;
#define LIANA_SAMPLING_DEFAULTS_ \
    .trainable = true, .training = true, .fill_mode = LIANA_FILL_REFLECT, .interpolation = LIANA_BILINEAR, .seed = -1
#define LIANA_RANDOM_TRANSLATION_DEFAULTS LIANA_SAMPLING_DEFAULTS_
#define liana_random_translation(...) \
    LIANA_ADD_("RandomTranslation", liana_random_translation_options, LIANA_RANDOM_TRANSLATION_DEFAULTS, __VA_ARGS__, )

/* Turns about the centre by a part of 360 degrees, from -1 to 1; against the clock where it is positive. */
typedef struct liana_random_rotation_options {
    LIANA_LAYER_OPTIONS;
    liana_floats factor LIANA_DEFAULT_();
    liana_fill_mode fill_mode LIANA_DEFAULT_(LIANA_FILL_REFLECT);
    liana_interpolation interpolation LIANA_DEFAULT_(LIANA_BILINEAR);
    int64_t seed LIANA_DEFAULT_(-1);
    double fill_value LIANA_DEFAULT_();
} liana_random_rotation_options;
#define LIANA_RANDOM_ROTATION_DEFAULTS LIANA_SAMPLING_DEFAULTS_
#define liana_random_rotation(...) \
    LIANA_ADD_("RandomRotation", liana_random_rotation_options, LIANA_RANDOM_ROTATION_DEFAULTS, __VA_ARGS__, )

/* Zooms out where a factor is positive, in where it is negative; above -1, at most 1. Without .width_factor the
 * proportions stay. */
typedef struct liana_random_zoom_options {
    LIANA_LAYER_OPTIONS;
    liana_floats height_factor LIANA_DEFAULT_();
    liana_floats width_factor LIANA_DEFAULT_();
    liana_fill_mode fill_mode LIANA_DEFAULT_(LIANA_FILL_REFLECT);
    liana_interpolation interpolation LIANA_DEFAULT_(LIANA_BILINEAR);
    int64_t seed LIANA_DEFAULT_(-1);
    double fill_value LIANA_DEFAULT_();
} liana_random_zoom_options;
#define LIANA_RANDOM_ZOOM_DEFAULTS LIANA_SAMPLING_DEFAULTS_
#define liana_random_zoom(...) \
    LIANA_ADD_("RandomZoom", liana_random_zoom_options, LIANA_RANDOM_ZOOM_DEFAULTS, __VA_ARGS__, )

/* Shifts each row by a part of its number, and each column; from 0 to 1, then to either side. Without a factor it is
 * 0. */
typedef struct liana_random_shear_options {
    LIANA_LAYER_OPTIONS;
    liana_floats x_factor LIANA_DEFAULT_();
    liana_floats y_factor LIANA_DEFAULT_();
    liana_interpolation interpolation LIANA_DEFAULT_(LIANA_BILINEAR);
    liana_fill_mode fill_mode LIANA_DEFAULT_(LIANA_FILL_REFLECT);
    double fill_value LIANA_DEFAULT_();
    int64_t seed LIANA_DEFAULT_(-1);
} liana_random_shear_options;
#define LIANA_RANDOM_SHEAR_DEFAULTS \
    .trainable = true, .training = true, .interpolation = LIANA_BILINEAR, .fill_mode = LIANA_FILL_REFLECT, .seed = -1
#define liana_random_shear(...) \
    LIANA_ADD_("RandomShear", liana_random_shear_options, LIANA_RANDOM_SHEAR_DEFAULTS, __VA_ARGS__, )

/* Another point of view: corners move by up to half of .scale of the side. .factor is the range of the probability that
 * an image is changed; one number f is 0 to f, none is 1. */
typedef struct liana_random_perspective_options {
    LIANA_LAYER_OPTIONS;
    liana_floats factor LIANA_DEFAULT_();
    double scale LIANA_DEFAULT_(1);
    liana_interpolation interpolation LIANA_DEFAULT_(LIANA_BILINEAR);
    double fill_value LIANA_DEFAULT_();
    int64_t seed LIANA_DEFAULT_(-1);
} liana_random_perspective_options;
#define LIANA_RANDOM_PERSPECTIVE_DEFAULTS \
    .trainable = true, .training = true, .scale = 1, .interpolation = LIANA_BILINEAR, .seed = -1
#define liana_random_perspective(...) \
    LIANA_ADD_("RandomPerspective", liana_random_perspective_options, LIANA_RANDOM_PERSPECTIVE_DEFAULTS, __VA_ARGS__, )

/* Moves each pixel by smooth random distances (Simard et al. 2003); .scale is the range of their size, one number f is
 * 0 to f, none is 1. Values are then limited to .value_range (0 to 255 if it is empty). .factor as of
 * RandomPerspective. */
typedef struct liana_random_elastic_transform_options {
    LIANA_LAYER_OPTIONS;
    liana_floats factor LIANA_DEFAULT_();
    liana_floats scale LIANA_DEFAULT_();
    liana_interpolation interpolation LIANA_DEFAULT_(LIANA_BILINEAR);
    liana_fill_mode fill_mode LIANA_DEFAULT_(LIANA_FILL_REFLECT);
    double fill_value LIANA_DEFAULT_();
    liana_floats value_range LIANA_DEFAULT_();
    int64_t seed LIANA_DEFAULT_(-1);
} liana_random_elastic_transform_options;
#define LIANA_RANDOM_ELASTIC_TRANSFORM_DEFAULTS LIANA_RANDOM_SHEAR_DEFAULTS
#define liana_random_elastic_transform(...)                                      \
    LIANA_ADD_("RandomElasticTransform", liana_random_elastic_transform_options, \
               LIANA_RANDOM_ELASTIC_TRANSFORM_DEFAULTS, __VA_ARGS__, )

#ifdef __cplusplus
}
#endif
#endif
