/* part.h - the common code of parts of all kinds (<liana/parts.h>): finding one by its name among liana's own and those
 * of a context, checking its options, and registering one.
 *
 * A room that has parts of a kind defines its liana__kind, with the list of those that it brings. */
#ifndef LIANA_BASE_PART_H
#define LIANA_BASE_PART_H

#include "base/context.h"
#include "base/field.h"

#include <liana/parts.h>

/* A kind of part. */
typedef struct liana__kind {
    liana_part_kind kind;
    size_t size;                      /* of its struct */
    const liana_part *const *builtin; /* those that liana brings; ends with NULL */
    const char *const *reserved;      /* further names that options cannot have, as `name`; ends with NULL, or NULL */
    /* Refuses a part that is being registered and that the kind cannot have. It may complete its copy. */
    liana_status (*accept)(liana_context *context, liana_part *part);
} liana__kind;

/* The part of that name or alias, as it is written or else in another spelling ("RandomFlip" finds "random_flip"): a
 * built-in one, else one of the context (NULL: it has none). The kind's struct begins with it. NULL: there is none;
 * *nearest (NULL: not wanted) is then the nearest name of both, or NULL. */
const void *liana__part_find(const liana_context *context, const liana__kind *kind, const char *name,
                             const char **nearest);
/* Part `index`: the built-in ones, then the context's in the order of their registration; NULL after the last. */
const void *liana__part_at(const liana_context *context, const liana__kind *kind, size_t index);
/* Whether a name or an alias of the part. */
bool liana__part_is_named(const liana_part *part, const char *name, size_t length);

/* After the options of a part were read from `map`: has them checked. Errors: INVALID_CONFIG with place and key. */
liana_status liana__part_check(const liana_part *part, const liana_context *context, const void *options,
                               const liana__value *map, const char *where, liana__error *error) LIANA_MUST_USE;

/* "loss", of LIANA_PART_LOSS. */
const char *liana__part_word(liana_part_kind kind);

/* ---- registering ---- */

/* Copies the part into the context. Errors: as of liana_register. */
liana_status liana__part_register(liana_context *context, const liana__kind *kind, const liana_part *given)
    LIANA_MUST_USE;

/* For a kind's `accept`. Refuses the part with "the loss 'x': REASON". Returns INVALID_ARGUMENT. And with "its function
 * 'x' is NULL" unless it is there. */
liana_status liana__part_refuse(liana_context *context, const liana_part *part, const char *format, ...)
    LIANA__PRINTF(3, 4);
liana_status liana__part_needs(liana_context *context, const liana_part *part, bool is_there, const char *function)
    LIANA_MUST_USE;
/* Refuses the part unless its table has these rows, as those of every part of its kind. */
liana_status liana__part_needs_rows(liana_context *context, const liana_part *part, const liana_option *rows,
                                    size_t count, const char *macro) LIANA_MUST_USE;

#endif
