/* differences.h - the keys at which configurations differ. */
#ifndef LIANA_TRAIN_DIFFERENCES_H
#define LIANA_TRAIN_DIFFERENCES_H

#include "base/value.h"

typedef struct liana__difference {
    const char *key;           /* "train.optimizer.learning_rate" */
    const char *const *values; /* by tree: JSON text; "-": there is no such key */
} liana__difference;

typedef struct liana__differences {
    liana__difference *items;
    size_t count;
    size_t capacity;
} liana__differences;

/* Lists the dotted keys at which the trees are not all equal, in the order of the first tree. Maps are compared key by
 * key, everything else as a whole. Without `ignored` (dotted keys, ended by NULL; may be NULL). Texts are in the arena,
 * items are malloc'ed: free them with liana__differences_free. Errors: OUT_OF_MEMORY. */
liana_status liana__differences_find(const liana__value *const *trees, size_t num_trees, const char *const *ignored,
                                     liana__arena *arena, liana__differences *found, liana__error *error)
    LIANA_MUST_USE;
void liana__differences_free(liana__differences *differences);

#endif
