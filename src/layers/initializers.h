/* initializers.h - Keras's initialisers, drawn with Philox. */
#ifndef LIANA_LAYERS_INITIALIZERS_H
#define LIANA_LAYERS_INITIALIZERS_H

#include "base/field.h"

#include <liana/graph.h>

struct liana__initializer_type;

enum { LIANA__MAX_INITIALIZER_ARGUMENTS = 3 };

typedef struct liana__initializer {
    const struct liana__initializer_type *type;
    double arguments[LIANA__MAX_INITIALIZER_ARGUMENTS];
} liana__initializer;

/* Reads "zeros", "constant(0.5)", "random_normal(mean=0, stddev=0.01)": Keras's names and argument names, arguments by
 * name or by position. The message says what was found and expected, without a place. */
liana_status liana__initializer_parse(const char *text, liana__initializer *initializer, liana__error *error)
    LIANA_MUST_USE;

/* Fills `values` (row-major). Depends on the initialiser, seed, salt (which weight) and shape only. Uniform draws take
 * one word an element (counter element / 4); normal ones two words, redrawn beyond two deviations where truncated. */
void liana__initializer_fill(const liana__initializer *initializer, uint64_t seed, uint32_t salt,
                             const liana_shape *shape, float *values);

/* Keras's {"class_name": "RandomNormal", "config": {"stddev": 0.01, "seed": null}} (or a name, of any Keras) as the
 * text above, and back. `from` returns NULL for what it cannot read. */
const char *liana__initializer_from_keras(liana__arena *arena, const liana__value *value);
liana__value *liana__initializer_to_keras(liana__arena *arena, const char *text);

/* The names of all, NULL-terminated. */
const char *const *liana__initializer_names(void);

#endif
