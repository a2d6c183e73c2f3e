/* activations.h - activations, which are liana_activation_type of <liana/parts.h>. To add one: its function and a row
 * in activations.c. */
#ifndef LIANA_LAYERS_ACTIVATIONS_H
#define LIANA_LAYERS_ACTIVATIONS_H

#include "layers/layer.h"

/* hard_sigmoid of architecture files of Keras 1 and 2. Keras 3 changed the formula under the same name. */
#define LIANA__HARD_SIGMOID_KERAS2 "hard_sigmoid_keras2"

/* The sparsemax of Martins and Astudillo (2016), which is not Keras 3's. */
#define LIANA__SPARSEMAX_PROJECTION "sparsemax_projection"

extern const liana__kind liana__activation_kind;

/* One with its options. */
typedef struct liana__activation {
    const liana_activation_type *type;
    const void *options;
} liana__activation;

/* Reads "relu", or "leaky(slope=0.1)" of the context's own ones (NULL: there are none). NULL and "" are "linear". The
 * options are in the arena. Errors: INVALID_CONFIG without a place; OUT_OF_MEMORY. */
liana_status liana__activation_read(const liana_context *context, const char *text, liana__arena *arena,
                                    liana__activation *activation, liana__error *error) LIANA_MUST_USE;

/* Whether its arguments are the defaults. */
bool liana__activation_is_plain(const liana__activation *activation);

/* Applies an activation that was checked before, and notes the logits of a softmax or sigmoid. */
liana_tensor liana__activate(liana_layer_call *call, const char *text, liana_tensor x);

#endif
