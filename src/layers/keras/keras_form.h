/* keras_form.h - names and kinds of parts in Keras's architecture files: shared by the writer and by the check of the
 * limits of a form. */
#ifndef LIANA_LAYERS_KERAS_FORM_H
#define LIANA_LAYERS_KERAS_FORM_H

#include "layers/activations.h"
#include "layers/keras/keras_file.h"
#include "layers/model.h"

/* liana's own keys of a layer in the form of Keras 3, which Keras passes over. training: false for a layer that
 * always computes as in inference. liana_name: its name, where Keras has another one. liana_population_variance:
 * false for a BatchNormalization whose moving variance is not Keras 3's. liana_mask_with_states,
 * liana_masks_of_keras2: true for a layer with such a rule of masks. */
#define LIANA__KERAS_TRAINING "training"
#define LIANA__KERAS_NAME "liana_name"
#define LIANA__KERAS_VARIANCE "liana_" LIANA__POPULATION_VARIANCE
#define LIANA__KERAS_MASK "liana_%s"

/* The name of an item in a form: Keras 3 takes no '/', so "conv1/conv" is "conv1_conv" there. If another item of the
 * scope has that name already, it stays as it is. TensorFlow.js finds weights by the names of layers alone, so those of
 * a nested model begin with its name. In the arena; NULL: out of memory. */
const char *liana__keras_item_name(const liana_model *model, size_t scope, liana__scope_item item,
                                   liana__keras_form form, liana__arena *arena);

/* A kind of part that options name by their ends, such as kernel_initializer, and Keras's module of it. */
typedef struct liana__keras_kind {
    const char *ending;
    const liana__kind *kind;
    const char *module;
    const char *said; /* "an initialiser of liana" */
} liana__keras_kind;

/* NULL: the option names no part. */
const liana__keras_kind *liana__keras_kind_of(const char *key);

/* Whether a scope is written as a Functional. */
bool liana__keras_is_functional(const liana_model *model, size_t scope);

/* The name of output `index` of a scope, and whether one of its outputs is called otherwise than Keras would. */
const char *liana__keras_output_name(const liana_model *model, size_t scope, size_t index);
bool liana__keras_names_outputs(const liana_model *model, size_t scope);

#endif
