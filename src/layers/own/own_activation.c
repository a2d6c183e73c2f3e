/* Activations that a program registers. */
#include "ir/graph.h"
#include "ir/own_result.h"
#include "layers/activations.h"
#include "layers/rules/call_text.h"

typedef struct own_activation {
    liana__callable call; /* first, as call_text.h wants it */
    liana__own_part part;
    liana_activation_type given;
} own_activation;

static liana__callables own_kinds(const liana_context *context)
{
    return (liana__callables){NULL, LIANA__PART_ACTIVATION, context, "an activation"};
}

bool liana__own_activation_is_named(const liana_context *context, const char *text)
{
    return liana__call_text_kind(text, own_kinds(context)) != NULL;
}

liana_status liana__own_activation_check(const liana_context *context, const char *text, liana__error *error)
{
    liana__arena arena = {0};
    const liana__callable *kind;
    const void *arguments;
    liana_status status = liana__call_text_read(text, own_kinds(context), &arena, &kind, &arguments, error);
    liana__arena_free(&arena);
    return status;
}

liana_tensor liana__own_activate(liana_location here, const char *text, liana_tensor x)
{
    liana_graph *graph = x.graph;
    const liana__callable *kind;
    const void *arguments;
    liana__error error = {0};
    if (!graph || graph->status != LIANA_OK) return (liana_tensor){graph, 0};
    liana_status status =
        liana__call_text_read(text, own_kinds(graph->context), &graph->arena, &kind, &arguments, &error);
    if (status != LIANA_OK) return liana__graph_fail(graph, here, status, "activation: %s", error.message);
    const own_activation *own = (const own_activation *)kind;
    const liana_activation_call call = {.here = here, .options = liana__own_options_of(&own->part, arguments), .x = x};
    const liana_shape shape = liana_tensor_shape(x);
    return liana__own_result(&own->part, "apply", own->given.apply(&call), graph, liana_tensor_dtype(x), &shape);
}

liana_status liana_register_activation(liana_context *context, const liana_activation_type *type)
{
    LIANA__REQUIRE(NULL, context);
    LIANA__REQUIRE(&context->error, type);
    own_activation *own = liana__own_part_allocate(context, sizeof *own);
    if (!own) return LIANA_OUT_OF_MEMORY;
    const liana__own_request request = {.kind = LIANA__PART_ACTIVATION,
                                        .given = type,
                                        .size = sizeof *type,
                                        .shift = LIANA__OWN_SHIFT};
    LIANA_TRY(liana__own_part_begin(context, &request, &own->part, &own->given));
    if (!own->given.apply) return liana__own_part_refuse(context, &own->part, "its function 'apply' is NULL");
    LIANA_TRY(liana__call_text_check_part(context, &own->part));
    own->call = (liana__callable){own->part.name, own->part.name, &own->part.options, &own->part};
    return liana__own_part_add(context, &own->part, liana__activation_find(own->part.name, NULL) != NULL, own);
}
