/* preprocessing.h - converts the pixels of a decoded image to the numbers with which a model was trained: the modes of
 * keras.applications' preprocess_input, and two more. */
#ifndef LIANA_MODELS_PREPROCESSING_H
#define LIANA_MODELS_PREPROCESSING_H

#include "base/error.h"
#include "models/models.h"

#include <liana/graph.h>
#include <liana/model.h>
#include <liana/preprocessing.h>

enum { LIANA__NUM_SCALES = LIANA_SCALE_TORCH + 1 };

/* The words of configurations, in the order of liana_scale; NULL-terminated. */
extern const char *const liana__scale_names[LIANA__NUM_SCALES + 1];

/* The layer that scales the pixels of input `input`: a Rescaling or Normalization behind it, with nothing between but
 * layers that move pixels. NULL: none does. (BatchNormalization is not one of them: it follows the batch.) */
const char *liana__scaling_layer(const liana_model *model, size_t input);
/* The model's first input of images, [batch, height, width, channels]; the number of inputs: there is none. */
size_t liana__image_input(const liana_model *model);
/* The scale of images where nobody says one: NONE for a model that scales by itself, as in Keras, else ZERO_ONE. */
liana_scale liana__scale_assumed(const liana_model *model);

/* The scale with which images enter an architecture: NONE if a layer of its own scales them. */
liana_scale liana__scale_of(const liana_model *model, size_t input, const liana__architecture *architecture);

/* Converts u8 or f32 images [batch, height, width, channels], of 0 to 255, to f32. Errors stay with the graph: an
 * unknown scale; a scale for red, green and blue on images with another number of channels. */
liana_tensor liana__preprocess(liana_tensor images, liana_scale scale);

/* The same for `count` pixels in memory, 0 to 255, in place; the numbers are the same. Errors: INVALID_ARGUMENT, as
 * above. */
liana_status liana__preprocess_pixels(liana_scale scale, int64_t channels, size_t count, float *pixels,
                                      liana__error *error) LIANA_MUST_USE;

#endif
