/* The penalty of a model's weights. */
#include "train/objective/penalty.h"

bool liana__model_has_penalty(const liana_model *model)
{
    for (size_t i = 0; i < model->num_weights; i++) {
        if (liana__weight_is_regularized(model, i)) return true;
    }
    return false;
}

liana_status liana__penalty_build(liana_context *context, const liana_model *model, liana_graph **graph,
                                  liana__error *error)
{
    liana_status status = liana_graph_create(context, graph);
    if (status == LIANA_OK) {
        liana_graph_output(*graph, "penalty", liana__model_penalty(model, *graph));
        status = liana_graph_status(*graph);
        if (status != LIANA_OK) liana_graph_destroy(*graph);
    }
    if (status == LIANA_OK) return LIANA_OK;
    *graph = NULL;
    if (error && error != &context->error) *error = context->error;
    return status;
}
