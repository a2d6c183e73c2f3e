/* The list of regularisers, and what all of them have in common. */
#include "layers/rules/regularizers.h"

#include "base/parts.h"

const liana__regularizer_type *const liana__regularizer_types[] = {
#define LIANA__REGULARIZER(stem, name) &liana__regularizer_##name,
#include "layers/rules/regularizers.def"
#undef LIANA__REGULARIZER
    NULL,
};

static const liana__callable *kind_at(size_t index)
{
    return liana__regularizer_types[index] ? &liana__regularizer_types[index]->call : NULL;
}

liana__callables liana__regularizer_kinds(const liana_context *context)
{
    return (liana__callables){kind_at, LIANA__PART_REGULARIZER, context, "a regularizer"};
}

liana_status liana__regularizer_read(const liana_context *context, const char *text, liana__arena *arena,
                                     liana__regularizer *regularizer, liana__error *error)
{
    const liana__callable *kind;
    LIANA_TRY(
        liana__call_text_read(text, liana__regularizer_kinds(context), arena, &kind, &regularizer->arguments, error));
    regularizer->type = (const liana__regularizer_type *)kind;
    return LIANA_OK;
}

liana_tensor liana__regularizer_of_variable(const liana__regularizer *regularizer, liana_tensor variable)
{
    return regularizer->type->build(regularizer->arguments, variable, LIANA_ALL_AXES);
}

liana_tensor liana__regularizer_by_example(const liana__regularizer *regularizer, liana_tensor activation)
{
    liana_axes axes = {.count = liana_tensor_shape(activation).rank - 1};
    for (int64_t i = 0; i < axes.count; i++) axes.values[i] = i + 1;
    return regularizer->type->build(regularizer->arguments, activation, axes);
}

const char *liana__regularizer_from_keras(const liana_context *context, liana__arena *arena, const liana__value *value)
{
    return liana__call_text_from_keras(arena, value, liana__regularizer_kinds(context));
}

liana__value *liana__regularizer_to_keras(const liana_context *context, liana__arena *arena, const char *text)
{
    return liana__call_text_to_keras(arena, text, liana__regularizer_kinds(context));
}
