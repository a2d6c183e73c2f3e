/* call_text.h - parts that are written as a call, such as "l2(0.01)" or "max_norm(max_value=2, axis=[0, 1])", and as
 * Keras's {"class_name": "L2", "config": {"l2": 0.01}}. Regularisers, constraints and activations are read with it. */
#ifndef LIANA_LAYERS_CALL_TEXT_H
#define LIANA_LAYERS_CALL_TEXT_H

#include "base/part.h"

/* Reads "name", "name(value, ...)" or "name(argument=value, ...)". *found becomes the part, *options its struct in the
 * arena. Errors: INVALID_CONFIG with the value found and the value expected, without a place; OUT_OF_MEMORY. */
liana_status liana__call_text_read(const char *text, const liana__kind *kind, const liana_context *context,
                                   liana__arena *arena, const liana_part **found, const void **options,
                                   liana__error *error) LIANA_MUST_USE;
/* For a kind's `accept`: refuses a part with options that cannot be written in its text. */
liana_status liana__call_text_accept(liana_context *context, const liana_part *part) LIANA_MUST_USE;

/* Its name in Keras's JSON: the first alias, or the name. */
const char *liana__part_class_name(const liana_part *part);

/* Converts a name of Keras, or its map of class_name and config, to the text above. NULL: it is neither, there is
 * no such class, or out of memory. A name alone that is not known is left for the reader to refuse. */
const char *liana__call_text_from_keras(liana__arena *arena, const liana__value *value, const liana__kind *kind,
                                        const liana_context *context);

/* The map of a text that liana__call_text_read accepts. NULL: out of memory, or it does not. */
liana__value *liana__call_text_to_keras(liana__arena *arena, const char *text, const liana__kind *kind,
                                        const liana_context *context);

#endif
