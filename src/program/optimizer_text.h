/* optimizer_text.h - optimizers as C programs write them: a name, or YAML in one line. */
#ifndef LIANA_PROGRAM_OPTIMIZER_TEXT_H
#define LIANA_PROGRAM_OPTIMIZER_TEXT_H

#include "base/value.h"

/* Reads "Adam" or "{name: SGD, momentum: 0.9}" as the mapping that liana__optimizer_read takes. Errors: INVALID_CONFIG,
 * OUT_OF_MEMORY. */
liana_status liana__optimizer_text_read(const char *text, liana__arena *arena, liana__value **map, liana__error *error)
    LIANA_MUST_USE;

#endif
