/* Regularisers that a program registers. */
#include "ir/own_result.h"
#include "layers/rules/regularizers.h"

typedef struct own_regularizer {
    liana__own_part part;
    liana__regularizer_type type;
    liana_regularizer_type given;
} own_regularizer;

static liana_tensor build(const void *arguments, liana_tensor x, liana_axes axes)
{
    const own_regularizer *own = (const own_regularizer *)liana__own_part_of(arguments);
    const liana_regularizer_call call = {.options = liana__own_options_of(&own->part, arguments), .x = x};
    const liana_dtype dtype = liana_tensor_dtype(x);
    if (own->given.whole) {
        const liana_shape scalar = LIANA_SCALAR;
        return liana__own_result(&own->part, "whole", own->given.whole(&call), x.graph, dtype, &scalar);
    }
    const liana_shape shape = liana_tensor_shape(x);
    liana_tensor each = liana__own_result(&own->part, "elements", own->given.elements(&call), x.graph, dtype, &shape);
    return axes.count != 0 ? liana_op_reduce_sum(each, axes, false) : each;
}

static const char *refuse(const void *arguments, const liana_shape *shape)
{
    const own_regularizer *own = (const own_regularizer *)liana__own_part_of(arguments);
    return own->given.refuse ? own->given.refuse(liana__own_options_of(&own->part, arguments), shape) : NULL;
}

liana_status liana_register_regularizer(liana_context *context, const liana_regularizer_type *type)
{
    LIANA__REQUIRE(NULL, context);
    LIANA__REQUIRE(&context->error, type);
    own_regularizer *own = liana__own_part_allocate(context, sizeof *own);
    if (!own) return LIANA_OUT_OF_MEMORY;
    const liana__own_request request = {.kind = LIANA__PART_REGULARIZER,
                                        .given = type,
                                        .size = sizeof *type,
                                        .shift = LIANA__OWN_SHIFT};
    LIANA_TRY(liana__own_part_begin(context, &request, &own->part, &own->given));
    if (!own->given.elements == !own->given.whole) {
        return liana__own_part_refuse(context, &own->part, "it has %s, expected one of them",
                                      own->given.whole ? "both functions 'elements' and 'whole'"
                                                       : "neither a function 'elements' nor 'whole'");
    }
    LIANA_TRY(liana__call_text_check_part(context, &own->part));
    own->type = (liana__regularizer_type){
        .call = {own->part.name, own->part.name, &own->part.options, &own->part},
        .doc = own->part.doc,
        .is_by_element = own->given.elements != NULL,
        .refuse = refuse,
        .build = build,
    };
    const bool builtin = liana__call_text_is_builtin(own->part.name, liana__regularizer_kinds(NULL));
    return liana__own_part_add(context, &own->part, builtin, &own->type);
}
