/* tar_file.h - tar archives that a test makes, also such that no program should. */
#ifndef LIANA_TESTS_TAR_FILE_H
#define LIANA_TESTS_TAR_FILE_H

#include "base/text.h"

/* Adds a member of a type of POSIX: '0' is a file, '5' a folder, '2' a symbolic link to `link`. */
void liana__test_tar_add(liana__text *tar, const char *name, char type, const char *link, const void *data,
                         size_t size);
/* Adds the end. */
void liana__test_tar_end(liana__text *tar);

#endif
