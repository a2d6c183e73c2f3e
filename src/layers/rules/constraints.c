/* The list of constraints. */
#include "layers/rules/constraints.h"

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

liana_status liana__constraint_read(const char *text, liana__arena *arena, liana__constraint *constraint,
                                    liana__error *error)
{
    size_t index;
    LIANA_TRY(liana__call_text_read(text, kind_at, "a constraint", arena, &index, &constraint->arguments, error));
    constraint->type = liana__constraint_types[index];
    return LIANA_OK;
}

const char *liana__constraint_from_keras(liana__arena *arena, const liana__value *value)
{
    return liana__call_text_from_keras(arena, value, kind_at);
}

liana__value *liana__constraint_to_keras(liana__arena *arena, const char *text)
{
    return liana__call_text_to_keras(arena, text, kind_at);
}
