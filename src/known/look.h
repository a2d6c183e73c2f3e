/* look.h - what of a known file is on this machine. */
#ifndef LIANA_KNOWN_LOOK_H
#define LIANA_KNOWN_LOOK_H

#include "known/place.h"

typedef enum liana__known_state {
    LIANA__KNOWN_NOT_HERE,
    LIANA__KNOWN_PARTIAL, /* a fetch was cut, or is under way */
    LIANA__KNOWN_HERE,
    LIANA__KNOWN_DAMAGED, /* other bytes than published or pinned */
} liana__known_state;

typedef struct liana__known_look {
    const liana__known_file *file;
    liana__known_place place;
    liana__known_hash hash; /* that it must have */
    liana__known_state state;
    uint64_t size;      /* bytes that are here */
    const char *damage; /* what was found and expected, and what to do; in the arena */
} liana__known_look;

/* Looks. With `verify` the content of a whole file is read and compared with the hash, and without a hash its structure
 * is checked; else only the published size is compared. Nothing is written. Errors: those of finding the place;
 * UNIMPLEMENTED (no libcrypto); OUT_OF_MEMORY. */
liana_status liana__known_look_at(const liana__known_file *file, bool verify, liana__arena *arena,
                                  liana__known_look *look, liana__error *error) LIANA_MUST_USE;

#endif
