/* warm_names.h - patterns of the names of weights, and the names that a map gives them. */
#ifndef LIANA_TRAIN_WARM_NAMES_H
#define LIANA_TRAIN_WARM_NAMES_H

#include "base/memory.h"

#include <stdbool.h>

/* The texts that the '*' of a pattern stood for, in their order. */
enum { LIANA__WARM_MAX_STARS = 8 };
typedef struct liana__warm_stars {
    size_t count;
    const char *begin[LIANA__WARM_MAX_STARS];
    size_t length[LIANA__WARM_MAX_STARS];
} liana__warm_stars;

/* Whether a pattern is the name of a weight ("encoder/dense/kernel"), or of its layers: "encoder/dense", "encoder". '*'
 * is any text (as little as fits), '?' any letter. *rest is the part of the name behind the match ("/kernel"). `stars`
 * and `rest` may be NULL. A pattern has at most LIANA__WARM_MAX_STARS '*'. */
bool liana__warm_matches(const char *pattern, const char *name, liana__warm_stars *stars, const char **rest);

size_t liana__warm_count_stars(const char *pattern);

/* The name that a match means: each '*' of `to` stands for the text of the pattern's, and the rest follows. `to` has at
 * most as many '*' as the pattern. In the arena; NULL: out of memory. */
const char *liana__warm_rename(const char *to, const liana__warm_stars *stars, const char *rest, liana__arena *arena);

#endif
