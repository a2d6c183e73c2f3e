/* activations.h - activation functions by name: one table for the Activation layer and for the `activation` option of
 * other layers. */
#ifndef LIANA_LAYERS_ACTIVATIONS_H
#define LIANA_LAYERS_ACTIVATIONS_H

#include "layers/layer.h"

typedef struct liana__activation {
    const char *name; /* Keras's */
    const char *doc;  /* the formula */
    liana_tensor (*build)(liana_location here, liana_tensor x);
    liana__logits_kind logits_kind;
} liana__activation;

/* hard_sigmoid of architecture files of Keras 1 and 2. Keras 3 changed the formula under the same name. */
#define LIANA__HARD_SIGMOID_KERAS2 "hard_sigmoid_keras2"

/* All activations; the last one's name is NULL. */
extern const liana__activation liana__activations[];
/* Finds one of them by name; NULL and "" are "linear". NULL: there is none; *nearest (may be NULL) is then the
 * nearest name, or NULL. */
const liana__activation *liana__activation_find(const char *name, const char **nearest);

/* The nearest name, also of the context's own ones; NULL: none is near. */
const char *liana__activation_nearest(const liana_context *context, const char *name);

/* Own activations of a context, as texts: "leaky(slope=0.1)" (own_activation.c). Whether there is one of that name;
 * whether it can be read; its result, where a text that cannot be read is an error of the graph. */
bool liana__own_activation_is_named(const liana_context *context, const char *text);
liana_status liana__own_activation_check(const liana_context *context, const char *text, liana__error *error)
    LIANA_MUST_USE;
liana_tensor liana__own_activate(liana_location here, const char *text, liana_tensor x);

/* Applies an activation that was checked before, and notes the logits of a softmax or sigmoid. */
liana_tensor liana__activate(liana__layer_call *call, const char *name, liana_tensor x);

#endif
