/* NonNeg: no element is negative. */
#include "layers/rules/constraints.h"

static liana_tensor apply(const liana_constraint_call *call)
{
    const liana_tensor variable = call->variable;
    return liana_op_maximum(variable, liana_graph_scalar(variable.graph, liana_tensor_dtype(variable), 0));
}

const liana_constraint_type liana__constraint_non_neg = {
    LIANA_PART(CONSTRAINT, liana_constraint_type, "non_neg", "max(w, 0)", .aliases = {"NonNeg"}),
    .is_by_element = true,
    .apply = apply,
};
