/* own_source.h - kinds of data that a program registers. */
#ifndef LIANA_DATA_OWN_SOURCE_H
#define LIANA_DATA_OWN_SOURCE_H

#include "data/source/source.h"

/* What a built-in kind's functions of these names do. `kind` is an own one. */
bool liana__own_source_recognises(const liana__source_kind *kind, const char *path, const uint8_t *head, size_t size);
liana_status liana__own_source_open(const liana__source_kind *kind, const liana__paths *paths, liana__source **source,
                                    liana__error *error) LIANA_MUST_USE;

#endif
