/* keras_older.h - what Keras 3 has and Keras 2 had not. */
#ifndef LIANA_LAYERS_KERAS_OLDER_H
#define LIANA_LAYERS_KERAS_OLDER_H

#include "layers/layer.h"

/* Whether Keras 2 has no such layer. */
bool liana__keras_is_newer(const liana_layer_type *type);
/* Whether its layer of that name has no such option. */
bool liana__keras_is_newer_option(const liana_layer_type *type, const char *option);
/* Such an option that is not at its default, or NULL. */
const char *liana__keras_find_newer_option(const liana_layer_type *type, const void *options);

#endif
