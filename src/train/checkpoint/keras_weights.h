/* keras_weights.h - a model's weights as Keras 3 keeps them, for a `.weights.h5` file or a `.keras` archive. */
#ifndef LIANA_TRAIN_KERAS_WEIGHTS_H
#define LIANA_TRAIN_KERAS_WEIGHTS_H

#include "formats/hdf5.h"
#include "layers/model.h"

/* The weights of a layer or nested model, in Keras's order: layer by layer. `list` has room for all of the model's;
 * they are added at *count. Errors: OUT_OF_MEMORY. */
liana_status liana__keras_item_weights(const liana_model *model, liana__scope_item item, liana__arena *arena,
                                       size_t *list, size_t *count, liana__error *error) LIANA_MUST_USE;
/* All that the model trains now, in Keras's order: that of its trainable_variables. In the arena. Errors:
 * OUT_OF_MEMORY. */
liana_status liana__keras_trained_weights(const liana_model *model, liana__arena *arena, size_t **list, size_t *count,
                                          liana__error *error) LIANA_MUST_USE;

/* Makes the tree of a file (liana__hdf5_new_bytes gives its bytes). values[w] are those of weight w of the model.
 * `more` are the optimizer and those within it (keras_optimizer.h). `path` is for messages, and outlives the
 * tree. Errors: those of liana__keras3_weights_make. */
liana_status liana__keras_weights_make(const liana_model *model, float *const *values, const liana__keras3_layer *more,
                                       size_t num_more, const char *path, liana__hdf5_new **weights,
                                       liana__error *error) LIANA_MUST_USE;

#endif
