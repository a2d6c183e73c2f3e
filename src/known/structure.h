/* structure.h - whether a file is whole, as far as its format tells. */
#ifndef LIANA_KNOWN_STRUCTURE_H
#define LIANA_KNOWN_STRUCTURE_H

#include "known/known_file.h"

#include "base/error.h"

/* Checks what can be checked without a hash, by the end of the name: HDF5 is opened and has something in it, gzip is
 * unpacked to its end and checksum, a zip archive is opened, and nothing is empty or a web page. Errors: DATA_LOSS,
 * INVALID_DATA and others of the format's reader. */
liana_status liana__known_check_structure(const liana__known_file *file, const char *path, liana__error *error)
    LIANA_MUST_USE;

#endif
