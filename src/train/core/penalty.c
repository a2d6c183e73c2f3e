/* The penalty of a model's weights. */
#include "train/core/penalty.h"

static bool has_penalty(const liana_model *model)
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

liana_status liana__penalty_create(liana__device *device, const liana_model *model, liana__variables *variables,
                                   liana__program **program, liana__error *error)
{
    *program = NULL;
    if (!has_penalty(model)) return LIANA_OK;
    liana_graph *graph;
    LIANA_TRY(liana__penalty_build(device->context, model, &graph, error));
    return liana__program_create(device, graph, "penalty", variables, program, error);
}

liana_status liana__penalty_add(liana__program *program, int64_t count, float *sum, liana__error *error)
{
    float penalty;
    LIANA_TRY(liana__program_run(program, error));
    LIANA_TRY(liana__program_fetch(program, 0, &penalty, error));
    *sum = liana__penalty_in(*sum, penalty, count);
    return LIANA_OK;
}
