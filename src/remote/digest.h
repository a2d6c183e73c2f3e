/* digest.h - checksums of whole files, as their publishers give them. */
#ifndef LIANA_REMOTE_DIGEST_H
#define LIANA_REMOTE_DIGEST_H

#include "base/error.h"

typedef enum liana__digest_kind { LIANA__DIGEST_MD5, LIANA__DIGEST_SHA256 } liana__digest_kind;

/* In small hexadecimal digits. */
typedef struct liana__digest_text {
    char text[65];
} liana__digest_text;

/* Reads a file through. Errors: NOT_FOUND, IO_ERROR; UNIMPLEMENTED (this machine forbids MD5, or has no libcrypto). */
liana_status liana__digest_file(const char *path, liana__digest_kind kind, liana__digest_text *digest,
                                liana__error *error) LIANA_MUST_USE;

#endif
