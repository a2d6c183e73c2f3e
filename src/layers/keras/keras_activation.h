/* keras_activation.h - activations in Keras's architecture files: a name, or a layer with arguments in its place. */
#ifndef LIANA_LAYERS_KERAS_ACTIVATION_H
#define LIANA_LAYERS_KERAS_ACTIVATION_H

#include "layers/activations.h"
#include "layers/model.h"

/* The text for the tables of an activation in a file: "relu", or "leaky_relu(negative_slope=0.1)" of a layer LeakyReLU.
 * NULL: liana has none of that name, or out of memory. */
liana__value *liana__activation_from_keras(const liana_context *context, liana__arena *arena, const liana__value *value,
                                           bool keras3);

/* The opposite, of a text that was checked. NULL: the form has no word for it (*why: a static string), or out of memory
 * (*why NULL). */
liana__value *liana__activation_to_keras(const liana_context *context, liana__arena *arena, const char *text,
                                         liana__keras_form form, const char **why);

#endif
