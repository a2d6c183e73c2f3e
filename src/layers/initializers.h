/* initializers.h - Keras's initialisers, drawn with Philox: liana_initializer_type of <liana/parts.h>. To add one: its
 * function and a row in initializers.c. */
#ifndef LIANA_LAYERS_INITIALIZERS_H
#define LIANA_LAYERS_INITIALIZERS_H

#include "base/part.h"

#include <stdalign.h>

extern const liana__kind liana__initializer_kind;

/* One with its options, whose struct is in the bytes. */
typedef struct liana__initializer {
    const liana_initializer_type *type;
    alignas(16) unsigned char options[LIANA_MAX_INITIALIZER_BYTES];
    double fan_in, fan_out; /* 0: by the shape, as of a convolution */
} liana__initializer;

/* Parses "zeros", "constant(0.5)", "random_normal(mean=0, stddev=0.01)": Keras's names and argument names; arguments by
 * name or by position. The name may be one of the context's own (NULL: there are none). The message has the value found
 * and the value expected, without a place. */
liana_status liana__initializer_parse(const liana_context *context, const char *text, liana__initializer *initializer,
                                      liana__error *error) LIANA_MUST_USE;

/* Refuses an initialiser that cannot fill weights of the shape. `text` is its text. Errors: INVALID_CONFIG. */
liana_status liana__initializer_check_shape(const liana__initializer *initializer, const char *text, const char *weight,
                                            const liana_shape *shape, liana__error *error) LIANA_MUST_USE;

/* Fills `values` (row-major). They depend only on the initialiser, seed, salt (which weight) and shape. Uniform draws
 * take one word for an element (counter element / 4). Normal draws take two words, and are drawn again beyond two
 * deviations if truncated. */
void liana__initializer_fill(const liana__initializer *initializer, uint64_t seed, uint32_t salt,
                             const liana_shape *shape, float *values);

/* Converts Keras's {"class_name": "RandomNormal", "config": {"stddev": 0.01, "seed": null}} (or a name, of any Keras)
 * to the text above, and back. `from` returns NULL for a value that it cannot read. */
const char *liana__initializer_from_keras(const liana_context *context, liana__arena *arena, const liana__value *value);
liana__value *liana__initializer_to_keras(const liana_context *context, liana__arena *arena, const char *text);

#endif
