/* sha256.h - SHA-256 (FIPS 180-4) of bytes and files, for lists of checksums. It needs no library. */
#ifndef LIANA_TRAIN_SHA256_H
#define LIANA_TRAIN_SHA256_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

enum { LIANA__SHA256_BLOCK = 64 };

typedef struct liana__sha256 {
    uint32_t state[8];
    uint64_t size; /* bytes so far */
    uint8_t block[LIANA__SHA256_BLOCK];
} liana__sha256;

/* 64 hexadecimal digits. */
typedef struct liana__sha256_digits {
    char text[65];
} liana__sha256_digits;

void liana__sha256_begin(liana__sha256 *hash);
void liana__sha256_add(liana__sha256 *hash, const void *bytes, size_t size);
liana__sha256_digits liana__sha256_end(liana__sha256 *hash);

/* Of a whole file. Errors: NOT_FOUND, IO_ERROR. */
liana_status liana__sha256_file(const char *path, liana__sha256_digits *digits, liana__error *error) LIANA_MUST_USE;

#endif
