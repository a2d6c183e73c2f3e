/* colors.h - changes of the colours of images [batch, height, width, channels], in ops. Numbers that differ from image
 * to image are tensors that broadcast to it: [batch, 1, 1, 1] or one number. */
#ifndef LIANA_LAYERS_COLORS_COLORS_H
#define LIANA_LAYERS_COLORS_COLORS_H

#include "layers/images/images.h"

#include <liana/layers/colors.h>

/* ---- options ---- */

#define LIANA__VALUE_RANGE_ROW(type)            \
    LIANA_OPTION_ROW(type, value_range, FLOATS, \
                     .doc = "the least and the greatest value of the images; default: [0, 255]")

/* As Keras checks it: one number is from `least` to `most`; of two, the first is at most `most` and the second at least
 * `least`. None was given: refused if it is required. */
liana_status liana__check_color_factor(liana_check *check, const char *option, const liana_floats *factor,
                                       liana__range bounds, bool required) LIANA_MUST_USE;
/* Two different numbers, in any order; or none. */
liana_status liana__check_value_range(liana_check *check, const liana_floats *range) LIANA_MUST_USE;
/* Checks that input 0 is [batch, height, width, 3], or 1 or 3. */
liana_status liana__build_three_channels(liana_layer_build *build) LIANA_MUST_USE;
liana_status liana__build_color_images(liana_layer_build *build) LIANA_MUST_USE;

/* A factor, or `preset` if none was given. */
liana__range liana__range_or(const liana_floats *factor, double least, liana__range preset);
liana__range liana__value_range(const liana_floats *range);

/* Writes both ends, whole numbers as such. */
void liana__range_to_keras(liana__arena *arena, liana__value *config, const char *option, liana__range range);

/* ---- numbers ---- */

/* [batch, 1, 1, 1] in the dtype of the images; one number if the range has one. */
liana_tensor liana__color_draw(const liana_layer_call *call, liana_tensor draws, int64_t index, liana__range range);
liana_tensor liana__color_add(const liana_layer_call *call, liana_tensor x, double number);
liana_tensor liana__color_multiply(const liana_layer_call *call, liana_tensor x, double number);
/* bool [batch, 1, 1, 1]: whether a number in `range` is more than one from 0 to 1, both drawn: from `index` on. */
liana_tensor liana__color_chosen(const liana_layer_call *call, liana_tensor draws, int64_t index, liana__range range);
/* From one range of values to another. */
liana_tensor liana__color_rescale(const liana_layer_call *call, liana_tensor x, liana__range from, liana__range to);
/* The grey value, [batch, height, width, 1], of 3 channels or 1. */
liana_tensor liana__color_gray(const liana_layer_call *call, liana_tensor x);

/* ---- drawn factors ----
 *
 * Each takes two numbers of `draws`, from `index` on. The range is that of the layer's factor. */

typedef liana_tensor liana__draw_factor(const liana_layer_call *call, liana_tensor draws, int64_t index,
                                        liana__range range);
liana__draw_factor liana__draw_contrast, liana__draw_hue, liana__draw_saturation, liana__draw_bits, liana__draw_level;

/* For numbers of another distribution than those of liana__image_draws. */
liana__layer_key liana__color_second_key(const liana_layer_call *call, int64_t seed);

/* A rectangle in each image. */
typedef struct liana__rectangle {
    liana_tensor is_within; /* bool [batch, height, width, 1] */
    liana_tensor area;      /* [batch, 1, 1, 1]: its part of the image, with fractions of pixels */
} liana__rectangle;
/* Anywhere within the image, with these parts of its sides, [batch, 1, 1, 1]. Takes two numbers. */
liana__rectangle liana__color_rectangle(const liana_layer_call *call, liana_tensor draws, int64_t index,
                                        liana_tensor across, liana_tensor down);

/* ---- changes ---- */

/* All take the images, the range of their values, and a drawn factor of Keras's layer of that name. */
typedef liana_tensor liana__color_change(const liana_layer_call *call, liana_tensor x, liana__range values,
                                         liana_tensor factor);
liana__color_change liana__color_brightness, liana__color_contrast, liana__color_hue, liana__color_saturation,
    liana__color_sharpness, liana__color_posterize, liana__color_degenerate;

/* Numbers of 0 to 255 that are added, and from which on values are replaced. */
liana_tensor liana__color_solarize(const liana_layer_call *call, liana_tensor x, liana__range values,
                                   liana_tensor addition, liana_tensor threshold);
liana_tensor liana__color_auto_contrast(const liana_layer_call *call, liana_tensor x, liana__range values);
/* Histograms are those of the images that are present, or of each image. */
liana_tensor liana__color_equalize(const liana_layer_call *call, liana_tensor x, liana__range values, int64_t bins,
                                   bool of_each);

#endif
