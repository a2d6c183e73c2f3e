/* call_text.h - options that are written as a call, such as "l2(0.01)" or "max_norm(max_value=2, axis=[0, 1])", and as
 * Keras's {"class_name": "L2", "config": {"l2": 0.01}}. Regularisers and constraints are read with it. */
#ifndef LIANA_LAYERS_CALL_TEXT_H
#define LIANA_LAYERS_CALL_TEXT_H

#include "base/field.h"

/* A kind of thing that is called: its names, and the table of its arguments. */
typedef struct liana__callable {
    const char *name;       /* as written in configurations: "l1_l2" */
    const char *class_name; /* as Keras writes it to JSON: "L1L2" */
    const liana__fields *arguments;
} liana__callable;

/* Kinds by number, NULL after the last one. */
typedef const liana__callable *(*liana__callable_at)(size_t index);

/* Reads "name", "name(value, ...)" or "name(argument=value, ...)". *index becomes the number of the kind, *arguments its
 * struct in the arena. `what` names the kinds in messages: "a regularizer". Errors: INVALID_CONFIG with what was found
 * and expected, without a place; OUT_OF_MEMORY. */
liana_status liana__call_text_read(const char *text, liana__callable_at kinds, const char *what, liana__arena *arena,
                                   size_t *index, const void **arguments, liana__error *error) LIANA_MUST_USE;

/* Converts a name of Keras, or its map of class_name and config, to the text above. NULL: it is neither, or out of
 * memory. A name that is not known is left for the reader to refuse. */
const char *liana__call_text_from_keras(liana__arena *arena, const liana__value *value, liana__callable_at kinds);

/* The map of a text that liana__call_text_read accepts. NULL: out of memory, or it does not. */
liana__value *liana__call_text_to_keras(liana__arena *arena, const char *text, liana__callable_at kinds);

#endif
