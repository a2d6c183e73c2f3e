/* initializers.h - Keras's initialisers, drawn with Philox. */
#ifndef LIANA_LAYERS_INITIALIZERS_H
#define LIANA_LAYERS_INITIALIZERS_H

#include "base/context.h"
#include "base/field.h"
#include "base/random.h"

#include <liana/graph.h>

enum { LIANA__MAX_INITIALIZER_ARGUMENTS = 8 };

typedef struct liana__initializer_argument {
    const char *name; /* NULL: no more */
    double standard;
    const char *const *words; /* the argument is a word of this list, kept as its index; NULL: a number */
    double minimum, maximum;  /* of a number; not checked if they are equal */
    bool whole;
} liana__initializer_argument;

/* The address of a weight's draws, and what it is drawn for. */
typedef struct liana__drawing {
    const struct liana__initializer_type *type;
    liana__philox_key key;
    const double *arguments;
    double fan_in, fan_out;
    const liana_shape *shape;
    int64_t count;
    float *values;
} liana__drawing;

typedef struct liana__initializer_type {
    const char *name;       /* as written in configurations */
    const char *class_name; /* as Keras 2 writes it to JSON */
    liana__initializer_argument arguments[LIANA__MAX_INITIALIZER_ARGUMENTS];
    void (*fill)(const liana__drawing *to);
    const struct liana__own_part *own; /* of a program's own initialiser (own_initializer.c) */
} liana__initializer_type;

typedef struct liana__initializer {
    const liana__initializer_type *type;
    double arguments[LIANA__MAX_INITIALIZER_ARGUMENTS];
} liana__initializer;

/* Parses "zeros", "constant(0.5)", "random_normal(mean=0, stddev=0.01)": Keras's names and argument names; arguments by
 * name or by position. The name may be one of the context's own (NULL: there are none). The message says what was found and expected, without a place. */
liana_status liana__initializer_parse(const liana_context *context, const char *text, liana__initializer *initializer,
                                      liana__error *error) LIANA_MUST_USE;

/* Fills `values` (row-major). They depend only on the initialiser, seed, salt (which weight) and shape. Uniform draws
 * take one word for an element (counter element / 4). Normal draws take two words, and are drawn again beyond two
 * deviations if truncated. */
void liana__initializer_fill(const liana__initializer *initializer, uint64_t seed, uint32_t salt,
                             const liana_shape *shape, float *values);

/* Converts Keras's {"class_name": "RandomNormal", "config": {"stddev": 0.01, "seed": null}} (or a name, of any Keras)
 * to the text above, and back. `from` returns NULL for what it cannot read. */
const char *liana__initializer_from_keras(const liana_context *context, liana__arena *arena, const liana__value *value);
liana__value *liana__initializer_to_keras(const liana_context *context, liana__arena *arena, const char *text);

/* A standard normal number for element `index`, attempt `attempt` (Box and Muller 1958). */
double liana__draw_normal(liana__philox_key key, uint64_t index, uint32_t attempt);

/* Checks an own initialiser's arguments as it wishes. Built-in ones are fine. */
liana_status liana__own_initializer_check(const liana__initializer *initializer, liana__error *error) LIANA_MUST_USE;

/* The words of arguments that are true or false. */
extern const char *const liana__initializer_truths[];

/* The names of all built-in initialisers, NULL-terminated. */
const char *const *liana__initializer_names(void);

#endif
