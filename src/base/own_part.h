/* own_part.h - what parts of all kinds have in common that a program or a plugin registers (<liana/parts.h>).
 *
 * For each kind a room has a file own_KIND.c. It makes the struct that the room's built-in parts have, whose functions
 * call those of the program. An internal struct of options begins with the address of the part (at `stamp`), by which
 * these functions find it; the program's own struct of options follows at `shift`. */
#ifndef LIANA_BASE_OWN_PART_H
#define LIANA_BASE_OWN_PART_H

#include "base/field.h"
#include "base/parts.h"

#include <liana/parts.h>

typedef struct liana__own_part {
    const char *kind; /* "loss" */
    const char *name;
    const char *doc;
    liana__fields options;
    const char *(*check)(const void *options);
    size_t stamp;
    size_t shift;
    bool has_options;
    const void *thing; /* the struct that built-in parts of the kind have */
} liana__own_part;

/* Where the program's struct of options begins, unless something else does: behind the address, as aligned as can be. */
enum { LIANA__OWN_SHIFT = 16 };

/* A part that is being registered. */
typedef struct liana__own_request {
    const char *kind;
    const void *given;          /* the program's struct; begins with LIANA_PART_MEMBERS */
    size_t size;                /* of the struct today */
    size_t stamp, shift;        /* as above */
    const liana__field *common; /* [num_common]: rows that all parts of the kind have, before its own */
    size_t num_common;
    const char *const *reserved; /* names that its options cannot have, besides `name`; NULL-terminated, or NULL */
} liana__own_request;

/* Checks what all parts have, fills *own, and copies the program's struct to `copy` (zeros where the program's is
 * smaller). Texts and rows are copied into the context. Errors: INVALID_ARGUMENT, OUT_OF_MEMORY, in the context. */
liana_status liana__own_part_begin(liana_context *context, const liana__own_request *request, liana__own_part *own,
                                   void *copy) LIANA_MUST_USE;
/* Refuses the part with "the loss 'x': REASON". Returns INVALID_ARGUMENT. */
liana_status liana__own_part_refuse(liana_context *context, const liana__own_part *own, const char *format, ...)
    LIANA__PRINTF(3, 4);
/* Adds it, unless its name is taken: `builtin` says whether by one of liana's own. `thing` is the struct of built-in
 * parts. Both must live as long as the context. */
liana_status liana__own_part_add(liana_context *context, liana__own_part *own, bool builtin, const void *thing)
    LIANA_MUST_USE;

/* Own part `index` of a kind, in the order of their registration; NULL after the last. `context` may be NULL. */
const liana__own_part *liana__own_part_at(const liana_context *context, const char *kind, size_t index);

/* Zeroed memory that lives as long as the context. NULL: out of memory, which is the context's error then. */
void *liana__own_part_allocate(liana_context *context, size_t size);

/* After the options of a part were read: stores its address, and has them checked. `own` NULL: a built-in part, nothing
 * to do. Errors: INVALID_CONFIG with place and key. */
liana_status liana__own_part_finish(const liana__own_part *own, const void *options, const liana__place *place,
                                    const char *where, liana__error *error) LIANA_MUST_USE;

/* The part that internal options belong to, with the address at offset 0; and the program's struct in them (NULL: it has
 * none). */
static inline const liana__own_part *liana__own_part_of(const void *options)
{
    return *(const liana__own_part *const *)options;
}
static inline const void *liana__own_options_of(const liana__own_part *own, const void *options)
{
    return own->has_options ? (const char *)options + own->shift : NULL;
}

#endif
