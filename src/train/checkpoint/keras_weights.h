/* keras_weights.h - a model's weights as Keras 3 keeps them, for a `.weights.h5` file or a `.keras` archive. */
#ifndef LIANA_TRAIN_KERAS_WEIGHTS_H
#define LIANA_TRAIN_KERAS_WEIGHTS_H

#include "formats/hdf5.h"
#include "layers/model.h"

/* Makes the tree of a file (liana__hdf5_new_bytes gives its bytes). values[w] are those of weight w of the model.
 * `optimizer` is what the optimizer keeps, with the path "optimizer"; NULL: nothing. `path` is for messages, and
 * outlives the tree. Errors: those of liana__keras3_weights_make. */
liana_status liana__keras_weights_make(const liana_model *model, float *const *values,
                                       const liana__keras3_layer *optimizer, const char *path,
                                       liana__hdf5_new **weights, liana__error *error) LIANA_MUST_USE;

#endif
