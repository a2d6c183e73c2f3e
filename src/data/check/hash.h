/* hash.h - a 128-bit hash of bytes, for finding copies, which are then compared. Not for secrets, and not for files:
 * the numbers may change from version to version. */
#ifndef LIANA_DATA_HASH_H
#define LIANA_DATA_HASH_H

#include <stddef.h>
#include <stdint.h>

typedef struct liana__hash {
    uint64_t words[2];
} liana__hash;

liana__hash liana__hash_bytes(const void *bytes, size_t size);

#endif
