/* keras_assets.h - vocabularies that a .keras file keeps beside the architecture. */
#ifndef LIANA_TRAIN_KERAS_ASSETS_H
#define LIANA_TRAIN_KERAS_ASSETS_H

#include "base/value.h"

/* Puts the vocabularies of an archive into the configs of the layers that lack theirs. Errors: those of reading an
 * archive; INVALID_DATA (a vocabulary that is no text); OUT_OF_MEMORY. */
liana_status liana__keras_read_assets(const char *path, liana__value *architecture, liana__arena *arena,
                                      liana__error *error) LIANA_MUST_USE;

#endif
