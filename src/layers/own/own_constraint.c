/* Constraints that a program registers. */
#include "ir/own_result.h"
#include "layers/rules/constraints.h"

typedef struct own_constraint {
    liana__own_part part;
    liana__constraint_type type;
    liana_constraint_type given;
} own_constraint;

static liana_tensor build(const void *arguments, liana_tensor variable)
{
    const own_constraint *own = (const own_constraint *)liana__own_part_of(arguments);
    const liana_constraint_call call = {.options = liana__own_options_of(&own->part, arguments), .variable = variable};
    const liana_shape shape = liana_tensor_shape(variable);
    return liana__own_result(&own->part, "apply", own->given.apply(&call), variable.graph, liana_tensor_dtype(variable),
                             &shape);
}

static liana_status check(const void *arguments, const liana_shape *shape, liana__error *error)
{
    const own_constraint *own = (const own_constraint *)liana__own_part_of(arguments);
    if (!own->given.refuse) return LIANA_OK;
    const char *expected = own->given.refuse(liana__own_options_of(&own->part, arguments), shape);
    return expected ? liana__fail(error, LIANA_INVALID_CONFIG, "expected %s", expected) : LIANA_OK;
}

liana_status liana_register_constraint(liana_context *context, const liana_constraint_type *type)
{
    LIANA__REQUIRE(NULL, context);
    LIANA__REQUIRE(&context->error, type);
    own_constraint *own = liana__own_part_allocate(context, sizeof *own);
    if (!own) return LIANA_OUT_OF_MEMORY;
    const liana__own_request request = {.kind = LIANA__PART_CONSTRAINT,
                                        .given = type,
                                        .size = sizeof *type,
                                        .shift = LIANA__OWN_SHIFT};
    LIANA_TRY(liana__own_part_begin(context, &request, &own->part, &own->given));
    if (!own->given.apply) return liana__own_part_refuse(context, &own->part, "its function 'apply' is NULL");
    LIANA_TRY(liana__call_text_check_part(context, &own->part));
    own->type = (liana__constraint_type){
        .call = {own->part.name, own->part.name, &own->part.options, &own->part},
        .doc = own->part.doc,
        .is_by_element = own->given.is_by_element,
        .check = check,
        .build = build,
    };
    const bool builtin = liana__call_text_is_builtin(own->part.name, liana__constraint_kinds(NULL));
    return liana__own_part_add(context, &own->part, builtin, &own->type);
}
