/* The list of constraints, and their common code. */
#include "layers/rules/constraints.h"

#include "ir/part_result.h"

static liana_status accept(liana_context *context, liana_part *part)
{
    LIANA_TRY(liana__part_needs(context, part, ((const liana_constraint_type *)part)->apply != NULL, "apply"));
    return liana__call_text_accept(context, part);
}

static const liana_part *const list[] = {
#define LIANA__CONSTRAINT(stem, name) &liana__constraint_##name.part,
#include "layers/rules/constraints.def"
#undef LIANA__CONSTRAINT
    NULL,
};

const liana__kind liana__constraint_kind = {.kind = LIANA_PART_CONSTRAINT,
                                            .size = sizeof(liana_constraint_type),
                                            .builtin = list,
                                            .accept = accept};

liana_status liana__constraint_read(const liana_context *context, const char *text, liana__arena *arena,
                                    liana__constraint *constraint, liana__error *error)
{
    const liana_part *part;
    LIANA_TRY(liana__call_text_read(text, &liana__constraint_kind, context, arena, &part, &constraint->options, error));
    constraint->type = (const liana_constraint_type *)part;
    constraint->text = text;
    return LIANA_OK;
}

liana_status liana__constraint_fits(const liana__constraint *constraint, const liana_shape *shape, liana__error *error)
{
    if (!constraint->type->fits) return LIANA_OK;
    return constraint->type->fits(&(liana_check){.options = (void *)constraint->options, .error = error}, shape);
}

liana_tensor liana__constrain(const liana__constraint *constraint, liana_tensor variable)
{
    const liana_constraint_type *type = constraint->type;
    const liana_constraint_call call = {.options = constraint->options, .variable = variable};
    const liana_shape shape = liana_tensor_shape(variable);
    return liana__part_result(&type->part, "apply", type->apply(&call), variable.graph, liana_tensor_dtype(variable),
                              &shape);
}
