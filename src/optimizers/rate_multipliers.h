/* rate_multipliers.h - factors of the learning rate by the names of weights: {"block_*": 0.1, "head": 1}. */
#ifndef LIANA_OPTIMIZERS_RATE_MULTIPLIERS_H
#define LIANA_OPTIMIZERS_RATE_MULTIPLIERS_H

#include "base/field.h"

#include <liana/ops.h>

typedef struct liana__rate_multiplier {
    const char *pattern; /* of fnmatch: '*' is any text, '?' any letter */
    liana__place place;
    double factor; /* at least 0 */
} liana__rate_multiplier;

typedef struct liana__rate_multipliers {
    const char *where; /* the dotted key, for messages */
    liana__rate_multiplier *items;
    size_t count;
} liana__rate_multipliers;

/* Reads a map from patterns to factors, into the arena; *multipliers is NULL if the value is NULL or null. Errors:
 * INVALID_CONFIG for a factor that is no number from 0 on, with its place; OUT_OF_MEMORY. */
liana_status liana__rate_multipliers_read(const liana__value *value, const char *where, liana__arena *arena,
                                          const liana__rate_multipliers **multipliers, liana__error *error)
    LIANA_MUST_USE;

/* Checks that each pattern matches one of the weights. Errors: INVALID_CONFIG with the pattern, its place and some
 * names. */
liana_status liana__rate_multipliers_check(const liana__rate_multipliers *multipliers, const char *const *weights,
                                           size_t count, liana__error *error) LIANA_MUST_USE;

/* The factor of a weight such as "base/dense/kernel": that of the last pattern which matches its name, or the name up
 * to a '/' ("base/dense", "base"). 1 if none does, or `multipliers` is NULL. */
double liana__rate_multiplier_of(const liana__rate_multipliers *multipliers, const char *weight);

/* The learning rate, a scalar, times the factor of the weight. */
liana_tensor liana__multiply_rate(const liana__rate_multipliers *multipliers, const char *weight, liana_tensor rate);

#endif
