/* liana__model_call: a model as graph. */
#include "ir/graph.h"
#include "layers/model.h"

#include <string.h>

static bool allocate_results(const liana_model *model, liana_graph *graph, liana__model_results *results)
{
    liana__arena *arena = &graph->arena;
    results->layers = liana__arena_allocate(arena, (model->num_layers + 1) * sizeof *results->layers);
    results->weights = liana__arena_allocate(arena, (model->num_weights + 1) * sizeof *results->weights);
    results->updates = liana__arena_allocate(arena, (model->num_weights + 1) * sizeof *results->updates);
    return results->layers && results->weights && results->updates;
}

static bool input_fits(const liana_model *model, liana_tensor input)
{
    liana_shape expected = liana__model_input_shape(model), found = liana_tensor_shape(input);
    if (!found.rank) return false;
    expected.dims[0] = found.dims[0];
    return liana_shape_equal(&expected, &found);
}

static void call_layer(const liana_model *model, size_t index, const liana__model_mode *mode,
                       liana__model_results *results)
{
    const liana__layer *layer = &model->layers[index];
    liana_tensor inputs[LIANA_MAX_LAYER_INPUTS];
    for (size_t i = 0; i < layer->num_inputs; i++) inputs[i] = results->layers[layer->inputs[i]];
    liana__layer_call call = {
        .here = layer->where,
        .options = layer->options,
        .inputs = inputs,
        .num_inputs = layer->num_inputs,
        .weights = results->weights + layer->first_weight,
        .training = mode->training,
        .trainable = layer->trainable,
        .positions = mode->positions,
        .present = mode->present,
        .seed = mode->seed,
        .salt = (uint32_t)index,
    };
    results->layers[index] = layer->type->call(&call);
    results->logits = call.logits;
    for (size_t i = 0; i < call.num_updates; i++) {
        results->updates[results->num_updates++] = (liana__model_update){
            .weight = layer->first_weight + call.updates[i].weight,
            .statistic = call.updates[i].statistic,
            .momentum = call.updates[i].momentum,
            .about = call.updates[i].about == LIANA__NO_WEIGHT ? LIANA__NO_WEIGHT
                                                               : layer->first_weight + call.updates[i].about,
        };
    }
}

liana__model_results liana__model_call(const liana_model *model, liana_tensor input, const liana__model_mode *mode)
{
    liana__model_results results = {.output = {input.graph, 0}};
    if (!input.graph || input.graph->status != LIANA_OK) return results;
    liana__error error = {0};
    liana_status status = liana__model_check(model, &error);
    if (status != LIANA_OK) {
        liana__graph_fail(input.graph, LIANA_HERE, status, "%s", error.message);
        return results;
    }
    if (!input_fits(model, input)) {
        liana_shape expected = liana__model_input_shape(model), found = liana_tensor_shape(input);
        liana__graph_fail(input.graph, model->layers[0].where, LIANA_INVALID_ARGUMENT,
                          "the model '%s' got an input of shape %s, expected %s with any batch size",
                          liana__model_name(model), liana__shape_print(&found).text,
                          liana__shape_print(&expected).text);
        return results;
    }
    if (!allocate_results(model, input.graph, &results)) {
        liana__graph_fail(input.graph, LIANA_HERE, LIANA_OUT_OF_MEMORY, "out of memory for the graph");
        return results;
    }
    for (size_t i = 0; i < model->num_weights; i++) {
        const liana__weight *weight = &model->weights[i];
        results.weights[i] = liana_graph_variable_at(model->layers[weight->layer].where, input.graph, weight->name,
                                                     liana_tensor_dtype(input), weight->shape);
    }
    results.layers[0] = input;
    for (size_t i = 1; i < model->num_layers; i++) call_layer(model, i, mode, &results);
    results.output = results.layers[model->num_layers - 1];
    return results;
}
