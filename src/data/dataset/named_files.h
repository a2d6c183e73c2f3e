/* named_files.h - the files that a stage's pattern or URL names. */
#ifndef LIANA_DATA_NAMED_FILES_H
#define LIANA_DATA_NAMED_FILES_H

#include "base/file.h"
#include "remote/remote.h"

/* Finds the local files of a file's name, a shell pattern or a URL, in the order of their names. For a URL *remote is
 * made, which has them until it is destroyed. Errors: NOT_FOUND, those of the remote. */
liana_status liana__named_files_find(const char *pattern, liana__arena *arena, liana__remote **remote,
                                     liana__paths *paths, liana__error *error) LIANA_MUST_USE;

#endif
