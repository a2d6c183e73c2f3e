/* keras_steps.h - models within a TimeDistributed of a file of Keras. */
#ifndef LIANA_LAYERS_KERAS_STEPS_H
#define LIANA_LAYERS_KERAS_STEPS_H

#include "base/value.h"

/* A TimeDistributed of a Sequential or Functional, as the model of layers that are each in a TimeDistributed, in the
 * arena; any other layer as it is. NULL: out of memory. */
const liana__value *liana__keras_expand(const liana__value *layer, liana__arena *arena);

#endif
