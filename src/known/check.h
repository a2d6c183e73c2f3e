/* check.h - whether a file is the known one: by its size and its published hash, else by the hash that was pinned when
 * it was first fetched. */
#ifndef LIANA_KNOWN_CHECK_H
#define LIANA_KNOWN_CHECK_H

#include "known/place.h"

/* Compares size and hash of the file at `path`: place->path, or the part that is about to become it. Without a hash,
 * only the published size counts. Errors: DATA_LOSS (found, expected, and what to do); those of reading it. */
liana_status liana__known_check(const liana__known_file *file, const liana__known_place *place, const char *path,
                                const liana__known_hash *hash, liana__error *error) LIANA_MUST_USE;

/* Writes the pin for the file at `path`, and gives its hash. Errors: those of reading and writing. */
liana_status liana__known_pin(const liana__known_place *place, const char *path, liana__known_hash *hash,
                              liana__error *error) LIANA_MUST_USE;

#endif
