/* The list of regularisers, and their common code. */
#include "layers/rules/regularizers.h"

#include "ir/part_result.h"

static liana_status accept(liana_context *context, liana_part *part)
{
    LIANA_TRY(liana__part_needs(context, part, ((const liana_regularizer_type *)part)->penalty != NULL, "penalty"));
    return liana__call_text_accept(context, part);
}

static const liana_part *const list[] = {
#define LIANA__REGULARIZER(stem, name) &liana__regularizer_##name.part,
#include "layers/rules/regularizers.def"
#undef LIANA__REGULARIZER
    NULL,
};

const liana__kind liana__regularizer_kind = {.kind = LIANA_PART_REGULARIZER,
                                             .size = sizeof(liana_regularizer_type),
                                             .builtin = list,
                                             .accept = accept};

liana_status liana__regularizer_read(const liana_context *context, const char *text, liana__arena *arena,
                                     liana__regularizer *regularizer, liana__error *error)
{
    const liana_part *part;
    LIANA_TRY(
        liana__call_text_read(text, &liana__regularizer_kind, context, arena, &part, &regularizer->options, error));
    regularizer->type = (const liana_regularizer_type *)part;
    return LIANA_OK;
}

static liana_tensor penalty_of(const liana__regularizer *regularizer, liana_tensor x, liana_axes axes,
                               const liana_shape *expected)
{
    const liana_regularizer_type *type = regularizer->type;
    const liana_regularizer_call call = {.options = regularizer->options, .x = x, .axes = axes};
    return liana__part_result(&type->part, "penalty", type->penalty(&call), x.graph, liana_tensor_dtype(x), expected);
}

liana_tensor liana__regularizer_of_variable(const liana__regularizer *regularizer, liana_tensor variable)
{
    return penalty_of(regularizer, variable, LIANA_ALL_AXES, &LIANA_SCALAR);
}

liana_tensor liana__regularizer_add(const liana__regularizer *regularizer, liana_graph *graph, const char *name,
                                    liana_shape shape, liana_tensor total)
{
    const liana_tensor variable = liana_graph_variable(graph, name, LIANA_F32, shape);
    const liana_tensor penalty = liana__regularizer_of_variable(regularizer, variable);
    return total.id ? liana_op_add(total, penalty) : penalty;
}

liana_tensor liana__regularizer_by_example(const liana__regularizer *regularizer, liana_tensor activation)
{
    liana_shape shape = liana_tensor_shape(activation);
    liana_axes axes = {.count = shape.rank - 1};
    for (int64_t i = 0; i < axes.count; i++) axes.values[i] = i + 1;
    shape.rank = 1;
    return penalty_of(regularizer, activation, axes, &shape);
}
