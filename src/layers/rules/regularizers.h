/* regularizers.h - the contract of regularisers: what is added to the loss for the size of weights or activations. To add
 * one: src/layers/rules/regularizer/<stem>.c with the struct, and a row in regularizers.def. Names, formulas and defaults are
 * Keras's. */
#ifndef LIANA_LAYERS_REGULARIZERS_H
#define LIANA_LAYERS_REGULARIZERS_H

#include "layers/rules/call_text.h"

#include <liana/ops.h>

typedef struct liana__regularizer_type {
    liana__callable call; /* names and arguments; the first member */
    const char *doc;      /* the formula */
    /* The penalty is a sum over elements, each by itself. Otherwise it is of a whole variable. */
    bool is_by_element;
    /* What is wrong with variables of a shape, "expected a matrix [rows, columns]"; NULL: nothing. NULL: takes any. */
    const char *(*refuse)(const void *arguments, const liana_shape *shape);
    /* Builds the penalty over `axes` of x; over all of them if it is not by element. */
    liana_tensor (*build)(const void *arguments, liana_tensor x, liana_axes axes);
} liana__regularizer_type;

#define LIANA__REGULARIZER(stem, name) extern const liana__regularizer_type liana__regularizer_##name;
#include "layers/rules/regularizers.def"
#undef LIANA__REGULARIZER

/* All regularisers in the order of regularizers.def, NULL-terminated. */
extern const liana__regularizer_type *const liana__regularizer_types[];

/* A regulariser with its arguments. type NULL: none. */
typedef struct liana__regularizer {
    const liana__regularizer_type *type;
    const void *arguments;
} liana__regularizer;

/* Reads "l2", "l2(0.01)", "l1_l2(l1=0.01, l2=0.001)". The name may be one of the context's own (NULL: there are none). The
 * arguments are in the arena. Errors: INVALID_CONFIG without a
 * place; OUT_OF_MEMORY. */
liana_status liana__regularizer_read(const liana_context *context, const char *text, liana__arena *arena,
                                     liana__regularizer *regularizer, liana__error *error) LIANA_MUST_USE;
/* All kinds: those of the list, and the context's own (NULL: there are none). */
liana__callables liana__regularizer_kinds(const liana_context *context);

/* The penalty of a variable, a scalar; that of each example of an activation [batch, ...], [batch]. */
liana_tensor liana__regularizer_of_variable(const liana__regularizer *regularizer, liana_tensor variable);
liana_tensor liana__regularizer_by_example(const liana__regularizer *regularizer, liana_tensor activation);

/* Keras's form to the text above, and back, as of call_text.h. */
const char *liana__regularizer_from_keras(const liana_context *context, liana__arena *arena, const liana__value *value);
liana__value *liana__regularizer_to_keras(const liana_context *context, liana__arena *arena, const char *text);

#endif
