/* preprocessing.h - how the pixels of a decoded image become the numbers that a model was trained on: the modes of
 * keras.applications' preprocess_input, and two more. */
#ifndef LIANA_MODELS_PREPROCESSING_H
#define LIANA_MODELS_PREPROCESSING_H

#include <liana/graph.h>
#include <liana/preprocessing.h>

enum { LIANA__NUM_SCALES = LIANA_SCALE_TORCH + 1 };

/* The words of configurations, in the order of liana_scale; NULL-terminated. */
extern const char *const liana__scale_names[LIANA__NUM_SCALES + 1];

/* u8 images [batch, height, width, channels] as f32. An unknown scale, and one that is defined for red, green and blue
 * on images of another number of channels, are errors that stick to the graph. */
liana_tensor liana__preprocess(liana_tensor images, liana_scale scale);

#endif
