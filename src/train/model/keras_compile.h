/* keras_compile.h - Keras's compile settings as the keys of `train:` of a configuration, and back.
 *
 * They are optimizer (with its learning-rate schedule), loss, loss_weights, metrics and steps_per_execution. */
#ifndef LIANA_TRAIN_KERAS_COMPILE_H
#define LIANA_TRAIN_KERAS_COMPILE_H

#include "layers/model.h"

typedef enum liana__keras_compile_form {
    LIANA__KERAS_COMPILE_CONFIG,  /* "compile_config" of a .keras file */
    LIANA__KERAS_TRAINING_CONFIG, /* the attribute "training_config" of an HDF5 file */
} liana__keras_compile_form;

/* Reads either form, which any Keras wrote (`keras3`: Keras 3 did). *train becomes a map of the keys that the settings
 * give, in the arena; NULL: there are none, the model was not compiled. `where` is the settings' name in messages.
 * Outputs are those of the model. Errors: UNIMPLEMENTED and INVALID_CONFIG, with the key, for parts that liana does not
 * have; OUT_OF_MEMORY. */
liana_status liana__keras_compile_read(const liana_model *model, const liana__value *settings, const char *where,
                                       bool keras3, liana__arena *arena, const liana__value **train,
                                       liana__error *error) LIANA_MUST_USE;

/* The settings of such a map, with the defaults of a configuration. Other keys of `train` are not of the compile
 * settings, and passed over. Errors: UNIMPLEMENTED, with the key, for parts that Keras does not have;
 * INVALID_CONFIG; OUT_OF_MEMORY. */
liana_status liana__keras_compile_write(const liana_model *model, const liana__value *train,
                                        liana__keras_compile_form form, liana__arena *arena,
                                        const liana__value **settings, liana__error *error) LIANA_MUST_USE;

#endif
