/* file_target.h - the target of a file that is written: the end of the path's links, and whether it can be replaced.
 * Replacing a device or a pipe would take it away from all its users. */
#ifndef LIANA_BASE_FILE_TARGET_H
#define LIANA_BASE_FILE_TARGET_H

#include "base/error.h"

typedef struct liana__file_target {
    char *path;     /* malloc'ed; the file that the links lead to; it need not exist */
    int descriptor; /* -1: a file to be replaced; else a device, a pipe or the process's own output, opened for
                     * writing */
} liana__file_target;

/* Finds the target of `path`. /dev/stdout, /dev/stderr, /dev/fd/N and /proc/self/fd/N are the descriptors of the
 * process, also if they are files. Opening a named pipe waits for its reader. After a failure there is nothing to free.
 * Errors: IO_ERROR (a folder, a socket, a disk, links in a circle, no permission), OUT_OF_MEMORY. */
liana_status liana__file_target_find(const char *path, liana__file_target *target, liana__error *error) LIANA_MUST_USE;

#endif
