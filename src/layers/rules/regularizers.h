/* regularizers.h - the contract of regularisers: terms of the loss for the size of weights or activations. To add one:
 * src/layers/rules/regularizer/<stem>.c with the struct, and a row in regularizers.def. Names, formulas and defaults
 * are Keras's. */
#ifndef LIANA_LAYERS_REGULARIZERS_H
#define LIANA_LAYERS_REGULARIZERS_H

#include "layers/rules/call_text.h"

#include <liana/ops.h>

#define LIANA__REGULARIZER(stem, name) extern const liana_regularizer_type liana__regularizer_##name;
#include "layers/rules/regularizers.def"
#undef LIANA__REGULARIZER

/* The kind: its list has all of them in the order of regularizers.def. */
extern const liana__kind liana__regularizer_kind;

/* A regulariser with its arguments. type NULL: none. */
typedef struct liana__regularizer {
    const liana_regularizer_type *type;
    const void *options;
} liana__regularizer;

/* Reads "l2", "l2(0.01)", "l1_l2(l1=0.01, l2=0.001)". The name may be one of the context's own (NULL: there are none).
 * The arguments are in the arena. Errors: INVALID_CONFIG without a place; OUT_OF_MEMORY. */
liana_status liana__regularizer_read(const liana_context *context, const char *text, liana__arena *arena,
                                     liana__regularizer *regularizer, liana__error *error) LIANA_MUST_USE;
/* The penalty of a variable, a scalar; that of each example of an activation [batch, ...], [batch]. */
liana_tensor liana__regularizer_of_variable(const liana__regularizer *regularizer, liana_tensor variable);
/* `total` (invalid: 0) and the penalty of a variable of the graph. */
liana_tensor liana__regularizer_add(const liana__regularizer *regularizer, liana_graph *graph, const char *name,
                                    liana_shape shape, liana_tensor total);
liana_tensor liana__regularizer_by_example(const liana__regularizer *regularizer, liana_tensor activation);

#endif
