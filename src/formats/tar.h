/* tar.h - tar archives, mapped and indexed. The bytes of each member are in the file as they are. Copy mapped bytes
 * before reading them (liana__mapping_copy), since others may cut the file.
 *
 * Supported: POSIX ustar (IEEE Std 1003.1, "ustar Interchange Format"), its pax extended headers (path and size), and
 * GNU's long names and sizes above 8 GiB. Members that are not regular files are left out. */
#ifndef LIANA_FORMATS_TAR_H
#define LIANA_FORMATS_TAR_H

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"

typedef struct liana__tar_member {
    const char *name;
    uint64_t offset; /* of its bytes in the file */
    uint64_t size;
} liana__tar_member;

typedef struct liana__tar {
    const char *name; /* the path, for messages */
    liana__mapping mapping;
    liana__arena arena;
    liana__tar_member *members; /* [count], in the order of the file */
    size_t count;
    size_t capacity;
    const char *special; /* the first member that is neither a file nor a folder, or NULL */
} liana__tar;

/* Maps a file and reads its headers, each checked against its checksum. Without the zeros that mark the end of an
 * archive, a file counts as truncated. Errors, with the file and the offset: NOT_FOUND, IO_ERROR, DATA_LOSS (truncated,
 * wrong checksum), INVALID_DATA (not a tar archive, or a compressed one), OUT_OF_MEMORY. Close after a failure too. */
liana_status liana__tar_open(const char *path, liana__tar *tar, liana__error *error) LIANA_MUST_USE;
void liana__tar_close(liana__tar *tar);

/* Whether the bytes (512 are enough) are the beginning of a tar archive. */
bool liana__is_tar(const uint8_t *bytes, size_t size);

#endif
