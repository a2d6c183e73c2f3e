/* constraints.h - the contract of constraints: they change a weight after each update. To add one:
 * src/layers/rules/constraint/<stem>.c with the struct, and a row in constraints.def. Names, formulas and defaults are
 * Keras's. */
#ifndef LIANA_LAYERS_CONSTRAINTS_H
#define LIANA_LAYERS_CONSTRAINTS_H

#include "layers/rules/call_text.h"

#include <liana/ops.h>

#define LIANA__CONSTRAINT(stem, name) extern const liana_constraint_type liana__constraint_##name;
#include "layers/rules/constraints.def"
#undef LIANA__CONSTRAINT

/* The kind: its list has all of them in the order of constraints.def. */
extern const liana__kind liana__constraint_kind;

/* A constraint with its arguments. type NULL: none. */
typedef struct liana__constraint {
    const liana_constraint_type *type;
    const void *options;
    const char *text; /* as it was read; borrowed */
} liana__constraint;

/* Reads "non_neg", "max_norm(2)", "max_norm(max_value=2, axis=[0, 1, 2])". The name may be one of the context's own
 * (NULL: there are none). The arguments are in the arena. Errors: INVALID_CONFIG without a place; OUT_OF_MEMORY. */
liana_status liana__constraint_read(const liana_context *context, const char *text, liana__arena *arena,
                                    liana__constraint *constraint, liana__error *error) LIANA_MUST_USE;
/* Finds the fault of the options for variables of a shape. Errors: INVALID_CONFIG, without a place. */
liana_status liana__constraint_fits(const liana__constraint *constraint, const liana_shape *shape, liana__error *error)
    LIANA_MUST_USE;
/* The variable as it may be. */
liana_tensor liana__constrain(const liana__constraint *constraint, liana_tensor variable);

#endif
