/* constraints.h - the contract of constraints: what becomes of a weight after each update. To add one:
 * src/layers/rules/constraint/<stem>.c with the struct, and a row in constraints.def. Names, formulas and defaults are
 * Keras's. */
#ifndef LIANA_LAYERS_CONSTRAINTS_H
#define LIANA_LAYERS_CONSTRAINTS_H

#include "layers/rules/call_text.h"

#include <liana/ops.h>

typedef struct liana__constraint_type {
    liana__callable call; /* names and arguments; the first member */
    const char *doc;      /* the formula */
    /* Changes each element by itself. Otherwise it reads the whole variable. */
    bool is_by_element;
    /* Finds what is wrong with the arguments for variables of a shape. NULL: nothing ever is. Errors: INVALID_CONFIG,
     * without a place. */
    liana_status (*check)(const void *arguments, const liana_shape *shape, liana__error *error);
    liana_tensor (*build)(const void *arguments, liana_tensor variable);
} liana__constraint_type;

#define LIANA__CONSTRAINT(stem, name) extern const liana__constraint_type liana__constraint_##name;
#include "layers/rules/constraints.def"
#undef LIANA__CONSTRAINT

/* All constraints in the order of constraints.def, NULL-terminated. */
extern const liana__constraint_type *const liana__constraint_types[];

/* A constraint with its arguments. type NULL: none. */
typedef struct liana__constraint {
    const liana__constraint_type *type;
    const void *arguments;
    const char *text; /* as it was read; borrowed */
} liana__constraint;

/* Reads "non_neg", "max_norm(2)", "max_norm(max_value=2, axis=[0, 1, 2])". The name may be one of the context's own (NULL: there are none). The
 * arguments are in the arena. Errors:
 * INVALID_CONFIG without a place; OUT_OF_MEMORY. */
liana_status liana__constraint_read(const liana_context *context, const char *text, liana__arena *arena,
                                    liana__constraint *constraint, liana__error *error) LIANA_MUST_USE;
/* All kinds: those of the list, and the context's own (NULL: there are none). */
liana__callables liana__constraint_kinds(const liana_context *context);

/* Keras's form to the text above, and back, as of call_text.h. */
const char *liana__constraint_from_keras(const liana_context *context, liana__arena *arena, const liana__value *value);
liana__value *liana__constraint_to_keras(const liana_context *context, liana__arena *arena, const char *text);

#endif
