/* unpack.h - unpacks archives of others (tar, gzipped) into folders, with limits. */
#ifndef LIANA_KNOWN_UNPACK_H
#define LIANA_KNOWN_UNPACK_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

typedef struct liana__unpack_limits {
    uint64_t bytes; /* of the archive when it is inflated */
    size_t files;
    unsigned ratio; /* inflated bytes for each of the file, beyond the first 16 MiB */
} liana__unpack_limits;

/* Makes `folder` with the files of a .tar.gz, unless it is there. They are unpacked in a folder beside it, written to
 * the disk, and the folder is renamed: it is there whole, or not at all. Processes that want it at the same time wait
 * for the first one, which has locked FOLDER.lock; the lock ends with the process.
 *
 * Nothing is written for an archive with a name that leads out of the folder ("..", absolute), a name twice, a link or
 * a device, or more than the limits. Errors: INVALID_DATA and OUT_OF_RANGE for these, with the member; DATA_LOSS
 * (damaged, truncated); IO_ERROR. */
liana_status liana__unpack(const char *archive, const char *folder, const liana__unpack_limits *limits,
                           liana__error *error) LIANA_MUST_USE;

#endif
