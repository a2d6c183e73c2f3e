/* place.h - where a known file lies on this machine, where it comes from, and the hash that it must have. */
#ifndef LIANA_KNOWN_PLACE_H
#define LIANA_KNOWN_PLACE_H

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "known/known_file.h"
#include "remote/digest.h"

/* Strings in an arena. */
typedef struct liana__known_place {
    const char *path;   /* the whole file, in the cache */
    const char *folder; /* of the path */
    const char *part;   /* PATH.part: the beginning of the file, while it is fetched */
    const char *origin; /* PATH.origin: where the part came from (remote/download.h) */
    const char *pin;    /* PATH.sha256: the SHA-256 of the first fetch, in the form of sha256sum, "HASH  NAME" */
    const char *url;    /* its address; LIANA_FETCH_BASE stands in the place of its server */
} liana__known_place;

/* Finds the place. It need not be there. Errors: INVALID_CONFIG (there is no cache: HOME is not set); INVALID_ARGUMENT
 * (a name that would lead out of the cache); OUT_OF_MEMORY. */
liana_status liana__known_place_find(const liana__known_file *file, liana__arena *arena, liana__known_place *place,
                                     liana__error *error) LIANA_MUST_USE;

typedef enum liana__known_hash_origin {
    LIANA__KNOWN_NO_HASH, /* none is published, and nothing was fetched yet */
    LIANA__KNOWN_PUBLISHED,
    LIANA__KNOWN_PINNED,
} liana__known_hash_origin;

/* The hash that a file must have. */
typedef struct liana__known_hash {
    liana__known_hash_origin origin;
    liana__digest_kind kind;
    const char *name; /* "MD5", "SHA-256" */
    char text[65];
} liana__known_hash;

liana__known_hash liana__known_hash_of(liana__known_hash_origin origin, liana__digest_kind kind, const char *digits);
/* Finds it; of two that are published the SHA-256. Errors: INVALID_DATA, IO_ERROR (the pin cannot be read). */
liana_status liana__known_hash_find(const liana__known_file *file, const liana__known_place *place,
                                    liana__known_hash *hash, liana__error *error) LIANA_MUST_USE;

/* Adds how to place it by hand: "download ADDRESS and save it as PATH (MD5 ...)". */
void liana__known_by_hand(const liana__known_file *file, const liana__known_place *place, liana__text *text);

#endif
