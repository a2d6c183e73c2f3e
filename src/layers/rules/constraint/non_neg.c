/* NonNeg: no element is negative. */
#include "layers/rules/constraints.h"

typedef struct no_arguments {
    char none;
} no_arguments;

static const liana__fields fields = {"non_neg", sizeof(no_arguments), 0, NULL};

static liana_tensor build(const void *arguments, liana_tensor variable)
{
    (void)arguments;
    return liana_op_maximum(variable, liana_graph_scalar(variable.graph, liana_tensor_dtype(variable), 0));
}

const liana__constraint_type liana__constraint_non_neg = {
    .call = {"non_neg", "NonNeg", &fields, NULL},
    .doc = "max(w, 0)",
    .is_by_element = true,
    .build = build,
};
