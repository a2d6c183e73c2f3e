/* keras_weights.h - a model's weights as Keras 3 keeps them: the bytes of a `.weights.h5` file, which is also the entry
 * `model.weights.h5` of a `.keras` archive. */
#ifndef LIANA_TRAIN_KERAS_WEIGHTS_H
#define LIANA_TRAIN_KERAS_WEIGHTS_H

#include "formats/hdf5.h"
#include "layers/model.h"

/* Makes the bytes in malloc'ed memory. values[w] are those of weight w of the model. `optimizer` is what the optimizer
 * keeps, with the path "optimizer"; NULL: nothing. `path` is for messages. Errors: those of
 * liana__keras3_weights_make. */
liana_status liana__keras_weights_make(const liana_model *model, float *const *values,
                                       const liana__keras3_layer *optimizer, const char *path, char **bytes,
                                       size_t *size, liana__error *error) LIANA_MUST_USE;

#endif
