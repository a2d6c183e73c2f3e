/* The list of constraints. */
#include "layers/rules/constraints.h"

#include "base/parts.h"

const liana__constraint_type *const liana__constraint_types[] = {
#define LIANA__CONSTRAINT(stem, name) &liana__constraint_##name,
#include "layers/rules/constraints.def"
#undef LIANA__CONSTRAINT
    NULL,
};

static const liana__callable *kind_at(size_t index)
{
    return liana__constraint_types[index] ? &liana__constraint_types[index]->call : NULL;
}

liana__callables liana__constraint_kinds(const liana_context *context)
{
    return (liana__callables){kind_at, LIANA__PART_CONSTRAINT, context, "a constraint"};
}

liana_status liana__constraint_read(const liana_context *context, const char *text, liana__arena *arena,
                                    liana__constraint *constraint, liana__error *error)
{
    const liana__callable *kind;
    LIANA_TRY(
        liana__call_text_read(text, liana__constraint_kinds(context), arena, &kind, &constraint->arguments, error));
    constraint->type = (const liana__constraint_type *)kind;
    constraint->text = text;
    return LIANA_OK;
}

const char *liana__constraint_from_keras(const liana_context *context, liana__arena *arena, const liana__value *value)
{
    return liana__call_text_from_keras(arena, value, liana__constraint_kinds(context));
}

liana__value *liana__constraint_to_keras(const liana_context *context, liana__arena *arena, const char *text)
{
    return liana__call_text_to_keras(arena, text, liana__constraint_kinds(context));
}
