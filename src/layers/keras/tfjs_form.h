/* tfjs_form.h - layers as TensorFlow.js reads them: in the form of Keras 2, with the words that its layers know. */
#ifndef LIANA_LAYERS_TFJS_FORM_H
#define LIANA_LAYERS_TFJS_FORM_H

#include "layers/model.h"

/* A part of a layer that TensorFlow.js would compute otherwise, or not read, for a message "what name: advice". */
typedef struct liana__tfjs_fault {
    const char *what; /* NULL: there is none */
    const char *name, *advice;
} liana__tfjs_fault;

/* The first fault of a layer. The texts are the layer's or static. */
liana__tfjs_fault liana__tfjs_find_fault(const liana_model *model, size_t layer);

/* Whether TensorFlow.js takes the name of a layer or model. */
bool liana__tfjs_takes_name(const char *name);

/* Turns a layer in the form of Keras 2, {class_name, config}, into that of TensorFlow.js. A layer without a fault
 * computes the same in inference. */
void liana__tfjs_rewrite(liana__arena *arena, const liana_model *model, size_t layer, liana__value *map);

#endif
