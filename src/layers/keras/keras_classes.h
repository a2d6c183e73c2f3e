/* keras_classes.h - the layers of an architecture file whose classes liana does not have. */
#ifndef LIANA_LAYERS_KERAS_CLASSES_H
#define LIANA_LAYERS_KERAS_CLASSES_H

#include "layers/layer.h"

/* Whether a class is that of a model. */
bool liana__keras_is_model_class(const char *name);

/* Whether a layer is an operation of keras.ops, or Keras 2's TFOpLambda. The HDF5 files of Keras 3 do not say the
 * module. */
bool liana__keras_is_operation(const liana__value *layer);

/* The layer type of a class name of any Keras. NULL: there is none; *nearest is then the nearest, or NULL. The
 * context's own layers count too. */
const liana_layer_type *liana__keras_find_layer(const liana_context *context, const char *class_name,
                                                const char **nearest);

/* The module of Keras 3 that has a class of liana's own list. */
const char *liana__keras_layer_module(const liana_layer_type *type);

/* Refuses an architecture with several layers that liana does not have, those of nested models among them. One alone is
 * found when it is added. Errors: UNIMPLEMENTED with their classes and names. */
liana_status liana__keras_check_classes(const liana_context *context, const liana__value *root, liana__error *error)
    LIANA_MUST_USE;

/* Refuses a layer whose class liana does not have (`type` NULL; `nearest` may be NULL), Python code, and a class of
 * somebody's package that has the name of a Keras class. Errors: UNIMPLEMENTED with `where`. */
liana_status liana__keras_check_class(const liana__value *layer, const liana_layer_type *type, const char *where,
                                      const char *nearest, liana__error *error) LIANA_MUST_USE;

#endif
