/* source_open.h - opening sources: which files, and of which kind. */
#ifndef LIANA_DATA_SOURCE_SOURCE_OPEN_H
#define LIANA_DATA_SOURCE_SOURCE_OPEN_H

#include "data/source/source.h"

/* The kind: its list has all kinds of data in the order of sources.def. */
extern const liana__kind liana__source_kind;

/* The number of bytes that `recognises` gets. */
enum { LIANA__SOURCE_HEAD = 64 };

/* Opens the files that `patterns` match (shell patterns, files, folders, also as URLs: remote/remote.h), in the order
 * of the list, and in byte order for each. Errors: NOT_FOUND (nothing matches), INVALID_CONFIG (an unknown kind),
 * INVALID_DATA (no kind fits, or several do; no records; no labels where they are needed), and those of the kind. */
liana_status liana__source_open(const char *const *patterns, size_t num_patterns, const liana__source_options *options,
                                liana__source **source, liana__error *error) LIANA_MUST_USE;

#endif
