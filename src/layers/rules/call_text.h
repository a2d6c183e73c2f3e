/* call_text.h - options that are written as a call, such as "l2(0.01)" or "max_norm(max_value=2, axis=[0, 1])", and as
 * Keras's {"class_name": "L2", "config": {"l2": 0.01}}. Regularisers, constraints and own activations are read with it. */
#ifndef LIANA_LAYERS_CALL_TEXT_H
#define LIANA_LAYERS_CALL_TEXT_H

#include "base/field.h"
#include "base/own_part.h"

/* A kind of thing that is called: its names, and the table of its arguments. */
typedef struct liana__callable {
    const char *name;       /* as written in configurations: "l1_l2" */
    const char *class_name; /* as Keras writes it to JSON: "L1L2" */
    const liana__fields *arguments;
    const liana__own_part *own; /* of a program's own; NULL: liana's */
} liana__callable;

/* All kinds of a list: liana's, then those that the context has. The struct of a kind begins with its liana__callable. */
typedef struct liana__callables {
    const liana__callable *(*at)(size_t index); /* liana's, NULL after the last one */
    const char *part;                           /* own ones: LIANA__PART_... */
    const liana_context *context;               /* NULL: there are no own ones */
    const char *what;                           /* in messages: "a regularizer" */
} liana__callables;

/* Reads "name", "name(value, ...)" or "name(argument=value, ...)". *kind becomes the kind, *arguments its struct in the
 * arena. Errors: INVALID_CONFIG with what was found and expected, without a place; OUT_OF_MEMORY. */
liana_status liana__call_text_read(const char *text, liana__callables kinds, liana__arena *arena,
                                   const liana__callable **kind, const void **arguments, liana__error *error)
    LIANA_MUST_USE;
/* The kind that a text names, whatever its arguments are; NULL: there is none. */
const liana__callable *liana__call_text_kind(const char *text, liana__callables kinds);
/* Whether liana has a kind of that name. */
bool liana__call_text_is_builtin(const char *name, liana__callables kinds);
/* Refuses an own part that is called, if arguments cannot be written in its text. Returns OK or INVALID_ARGUMENT, in the
 * context. */
liana_status liana__call_text_check_part(liana_context *context, const liana__own_part *own) LIANA_MUST_USE;

/* Converts a name of Keras, or its map of class_name and config, to the text above. NULL: it is neither, there is
 * no such class, or out of memory. A name alone that is not known is left for the reader to refuse. */
const char *liana__call_text_from_keras(liana__arena *arena, const liana__value *value, liana__callables kinds);

/* The map of a text that liana__call_text_read accepts. NULL: out of memory, or it does not. */
liana__value *liana__call_text_to_keras(liana__arena *arena, const char *text, liana__callables kinds);

#endif
