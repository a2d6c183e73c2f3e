/* named_weights.h - pretrained weights by name ("imagenet") for a model. */
#ifndef LIANA_TRAIN_NAMED_WEIGHTS_H
#define LIANA_TRAIN_NAMED_WEIGHTS_H

#include "base/notes.h"
#include "known/known_weights.h"
#include "models/origin.h"
#include "remote/remote.h"

/* The whole way of a name: which file, fetched if it is not there. *path is in the arena. `remote` may be NULL: one of
 * its own. The notes tell of a fetch, and if the weights were made for another image size. Errors: those of
 * liana__weights_choose and of liana__known_fetch. */
liana_status liana__named_weights_fetch(const liana__weights_wanted *wanted, liana__remote *remote,
                                        liana_context *context, const liana__notes *notes, liana__arena *arena,
                                        const char **path, liana__error *error) LIANA_MUST_USE;

/* What is wanted for a model of that origin. */
liana__weights_wanted liana__named_weights_for(const char *name, const liana__model_origin *origin);

/* What is wanted for a model that begins with a known architecture. *num_layers are the model's layers up to the last
 * one of the architecture. Errors: INVALID_CONFIG (the architecture is not known; an EfficientNet lacks Keras's second
 * Rescaling, which Keras's own weights need), those of liana__weights_choose. */
liana_status liana__named_weights_of(const liana_model *model, const char *name, liana__weights_wanted *wanted,
                                     size_t *num_layers, liana__error *error) LIANA_MUST_USE;

#endif
