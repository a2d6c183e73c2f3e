/* automatic_names.h - automatic names of layers (conv2d_3) in Keras's older files. */
#ifndef LIANA_TRAIN_AUTOMATIC_NAMES_H
#define LIANA_TRAIN_AUTOMATIC_NAMES_H

#include "train/checkpoint/weights.h"

/* Keras counts automatic names in a whole program, so those of a file may begin with any number: the published
 * InceptionV3 has conv2d_1 to conv2d_94. If a class has as many such layers in the file as among the first num_required
 * layers of the model (0: all), their numbers differ, and all shapes agree in their order, then the file's layers get
 * the model's names. Errors: OUT_OF_MEMORY. */
liana_status liana__take_automatic_names(liana__weight_source *source, const liana_model *model, size_t num_required,
                                         liana__error *error) LIANA_MUST_USE;

#endif
