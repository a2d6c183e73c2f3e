/* foreign_model.h - models of other programs that are named where an architecture is expected. */
#ifndef LIANA_FORMATS_TENSORFLOW_FOREIGN_MODEL_H
#define LIANA_FORMATS_TENSORFLOW_FOREIGN_MODEL_H

#include "base/error.h"

/* Fails with UNIMPLEMENTED for a pickle and for a TensorFlow checkpoint or SavedModel, and says the way: they have
 * weights, or a graph, but no layers. Anything else is LIANA_OK, also what cannot be read. */
liana_status liana__refuse_foreign_model(const char *path, liana__error *error) LIANA_MUST_USE;

#endif
