/* The penalty of weights. */
#include "train/objective/step_graphs.h"

#include "base/context.h"

bool liana__has_penalty(const liana__updated_variable *weights, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (weights[i].regularizer) return true;
    }
    return false;
}

static liana_tensor add_up(const liana__updated_variable *weights, size_t count, liana_graph *graph)
{
    liana_tensor total = {0};
    for (size_t i = 0; i < count; i++) {
        const liana__updated_variable *weight = &weights[i];
        if (!weight->regularizer) continue;
        total = liana__regularizer_add(weight->regularizer, graph, weight->name, weight->shape, total);
    }
    return total;
}

liana_status liana__penalty_build(liana_context *context, const liana__updated_variable *weights, size_t count,
                                  liana_graph **graph, liana__error *error)
{
    liana_status status = liana_graph_create(context, graph);
    if (status == LIANA_OK) {
        liana_graph_output(*graph, "penalty", add_up(weights, count, *graph));
        status = liana_graph_status(*graph);
        if (status != LIANA_OK) liana_graph_destroy(*graph);
    }
    if (status == LIANA_OK) return LIANA_OK;
    *graph = NULL;
    if (error && error != &context->error) *error = context->error;
    return status;
}
