/* folder_set.h - a set of visited folders. Links may lead to a folder again, and so on without end. */
#ifndef LIANA_DATA_FOLDER_SET_H
#define LIANA_DATA_FOLDER_SET_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct liana__folder_key {
    uint64_t device;
    uint64_t inode;
    bool used;
} liana__folder_key;

/* Zero-initialise; free with liana__folder_set_free. */
typedef struct liana__folder_set {
    liana__folder_key *slots; /* [capacity], a power of two; at most half of them are used */
    size_t count;
    size_t capacity;
} liana__folder_set;

/* Adds the folder that a path leads to. A folder that cannot be looked at counts as new. Errors: OUT_OF_MEMORY. */
liana_status liana__folder_set_add(liana__folder_set *set, const char *path, bool *is_new, liana__error *error)
    LIANA_MUST_USE;
void liana__folder_set_free(liana__folder_set *set);

#endif
