/* For programs that read and call models: inputs, outputs, weights, and calls on tensors of a graph. */
#include "ir/given.h"
#include "ir/graph.h"
#include "layers/model.h"

#include <liana/layers/core.h>
#include <stdio.h>

/* ---- questions ---- */

static liana_port open_batch(liana__model_port port)
{
    for (int d = 0; d < port.shape.rank; d++) {
        if (d == 0 || port.free >> d & 1) port.shape.dims[d] = LIANA_ANY_SIZE;
    }
    return (liana_port){port.name, port.dtype, port.shape};
}

/* An input of texts is asked for as it is fed. */
liana_port liana_model_input(const liana_model *model, size_t index)
{
    if (!model) return (liana_port){0};
    liana__model_port port = liana__model_input(model, index);
    if (port.texts) {
        port.dtype = (liana_dtype)LIANA_STRING;
        port.shape = (liana_shape){.rank = port.texts_shape.rank + 1};
        for (int i = 1; i < port.shape.rank; i++) port.shape.dims[i] = port.texts_shape.dims[i - 1];
    }
    return open_batch(port);
}

liana_port liana_model_output(const liana_model *model, size_t index)
{
    return model ? open_batch(liana__model_output(model, index)) : (liana_port){0};
}

liana_model_facts liana_model_info(const liana_model *model)
{
    if (!model) return (liana_model_facts){0};
    return (liana_model_facts){.num_inputs = liana__model_num_inputs(model),
                               .num_outputs = liana__model_num_outputs(model),
                               .num_weights = model->num_weights,
                               .num_parameters = liana__model_num_parameters(model, false),
                               .num_trainable_parameters = liana__model_num_parameters(model, true)};
}

liana_weight liana_model_weight(const liana_model *model, size_t index)
{
    if (!model || index >= model->num_weights) return (liana_weight){0};
    const liana__weight *weight = &model->weights[index];
    return (liana_weight){weight->name, weight->shape, liana__weight_trainable(model, index)};
}

/* ---- calls ---- */

static liana__model_mode internal_mode(liana_location here, const liana_call_mode *mode)
{
    if (!mode) return (liana__model_mode){.here = here};
    return (liana__model_mode){.training = mode->training,
                               .positions = mode->positions,
                               .present = mode->present,
                               .seed = mode->seed,
                               .dtype = mode->dtype,
                               .masks = mode->masks,
                               .here = here};
}

/* The graph that errors are for: that of the first input. NULL: there is none, so nothing can be said. */
static liana_graph *graph_of(const liana_tensor *inputs, size_t num_inputs)
{
    return inputs && num_inputs && inputs[0].graph && inputs[0].graph->status == LIANA_OK ? inputs[0].graph : NULL;
}

/* The common checks of both calls. */
static bool check_mode(liana_location here, liana_graph *graph, const liana__model_mode *mode, size_t num_inputs)
{
    if (!liana__dtype_is_float(mode->dtype)) {
        liana__graph_fail(graph, here, LIANA_INVALID_ARGUMENT, "the mode's dtype is %s, expected a float dtype",
                          liana_dtype_name(mode->dtype));
        return false;
    }
    for (size_t i = 0; mode->masks && i < num_inputs; i++) {
        if (!mode->masks[i].id) continue;
        bool right = mode->masks[i].graph == graph && liana_tensor_dtype(mode->masks[i]) == LIANA_BOOL;
        if (right) continue;
        liana__graph_fail(graph, here, LIANA_INVALID_ARGUMENT,
                          "the mask of input %zu is not a bool tensor of this graph", i);
        return false;
    }
    return true;
}

/* `results` has the variables of the weights from `first` on. */
static liana_call_effects find_effects(liana_location here, const liana__model_results *results, size_t first,
                                       liana_graph *graph)
{
    liana_variable_update *updates = liana__arena_allocate(&graph->arena, (results->num_updates + 1) * sizeof *updates);
    liana_tensor *masks = liana__arena_allocate(&graph->arena, (results->num_outputs + 1) * sizeof *masks);
    liana_tensor *values = liana__arena_allocate(&graph->arena, (results->num_outputs + 1) * sizeof *values);
    if (!updates || !masks || !values) {
        liana__graph_fail(graph, here, LIANA_OUT_OF_MEMORY, "out of memory for the graph");
        return (liana_call_effects){0};
    }
    for (size_t i = 0; i < results->num_outputs; i++) {
        masks[i] = results->outputs[i].mask;
        values[i] = results->outputs[i].value;
    }
    for (size_t i = 0; i < results->num_updates; i++) {
        updates[i] = (liana_variable_update){
            .variable = results->weights[results->updates[i].weight - first],
            .value = liana__model_average(results, first, i),
            .statistic = results->updates[i].statistic,
            .momentum = results->updates[i].momentum,
        };
        if (results->updates[i].about != LIANA__NO_WEIGHT) {
            updates[i].about = results->weights[results->updates[i].about - first];
        }
    }
    return (liana_call_effects){.updates = updates,
                                .num_updates = results->num_updates,
                                .masks = masks,
                                .penalties = results->penalties,
                                .results = values,
                                .num_results = results->num_outputs};
}

/* The optimizers of the graph apply the constraints of layers, as Keras's do. */
static void tell_constraints(liana_location here, const liana_model *model, const liana__model_results *results,
                             size_t first, size_t count)
{
    liana_graph *graph = results->outputs[0].value.graph;
    for (size_t i = 0; i < count; i++) {
        const liana__constraint *constraint = &model->weights[first + i].constraint;
        if (!constraint->type) continue;
        liana__graph_constrain(graph, here, liana__tensor_node(results->weights[i]), constraint->text);
    }
}

/* Gives them to the caller, and to the listener of the mode. */
static void tell_effects(liana_location here, const liana_model *model, const liana_call_mode *mode,
                         const liana__model_results *results, size_t first, liana_call_effects *effects)
{
    liana_call_record *record = mode ? mode->record : NULL;
    liana_graph *graph = results->outputs[0].value.graph;
    if (!effects && !record) return;
    liana_call_effects found = find_effects(here, results, first, graph);
    if (effects) *effects = found;
    if (record) record->add(record, model, &found, results->penalties);
}

void liana_model_call_at(liana_location here, const liana_model *model, const liana_tensor *inputs, size_t num_inputs,
                         const liana_call_mode *mode, liana_tensor *outputs, liana_call_effects *effects)
{
    liana_graph *graph = graph_of(inputs, num_inputs);
    if (effects) *effects = (liana_call_effects){0};
    for (size_t i = 0; outputs && model && i < liana__model_num_outputs(model); i++) {
        outputs[i] = (liana_tensor){inputs && num_inputs ? inputs[0].graph : NULL, 0};
    }
    if (!graph && model && !(inputs && outputs)) {
        liana__fail_null(&model->context->error, __func__, inputs ? "outputs" : "inputs");
    }
    if (!graph) return;
    if (!model || !outputs) {
        liana__graph_fail(graph, here, LIANA_INVALID_ARGUMENT, "model call: the %s NULL",
                          model ? "array of outputs is" : "model is");
        return;
    }
    if (num_inputs != model->num_inputs) {
        liana__graph_fail(graph, here, LIANA_INVALID_ARGUMENT, "the model '%s' got %zu inputs, expected %zu",
                          liana__model_name(model), num_inputs, model->num_inputs);
        return;
    }
    liana__model_mode internal = internal_mode(here, mode);
    if (!check_mode(here, graph, &internal, num_inputs)) return;
    liana__model_results results = liana__model_call(model, inputs, &internal);
    if (graph->status != LIANA_OK) return;
    for (size_t i = 0; i < results.num_outputs; i++) outputs[i] = results.outputs[i].value;
    tell_constraints(here, model, &results, 0, model->num_weights);
    tell_effects(here, model, mode, &results, 0, effects);
}

/* The fault of the handle; NULL: it has none. */
static const char *refuse_layer(liana_layer layer)
{
    const liana_model *model = layer.model;
    if (!model || layer.id == 0 || layer.id > model->num_nodes) return "it is not a layer of a model";
    if (model->error.status != LIANA_OK) return "its model has an error";
    return model->layers[model->nodes[layer.id - 1].layer].type->call ? NULL : "it is an input, which is not called";
}

liana_tensor liana_layer_call_at(liana_location here, liana_layer layer, const liana_tensor *inputs, size_t num_inputs,
                                 const liana_call_mode *mode, liana_call_effects *effects)
{
    liana_graph *graph = graph_of(inputs, num_inputs);
    liana_tensor invalid = {inputs && num_inputs ? inputs[0].graph : NULL, 0};
    if (effects) *effects = (liana_call_effects){0};
    if (!inputs && layer.model) liana__fail_null(&layer.model->context->error, __func__, "inputs");
    if (!graph) return invalid;
    const char *wrong = refuse_layer(layer);
    if (!wrong && num_inputs > LIANA_MAX_LAYER_INPUTS) wrong = "too many inputs";
    if (wrong) return liana__graph_fail(graph, here, LIANA_INVALID_ARGUMENT, "layer call: %s", wrong);
    liana__model_mode internal = internal_mode(here, mode);
    if (!check_mode(here, graph, &internal, num_inputs)) return invalid;
    const size_t index = layer.id - 1 - layer.model->nodes[layer.id - 1].output;
    const liana__layer_node *node = &layer.model->nodes[index];
    liana__model_results results = liana__model_call_layer(layer.model, index, inputs, num_inputs, &internal);
    if (graph->status != LIANA_OK) return invalid;
    const liana__layer *called = &layer.model->layers[node->layer];
    tell_constraints(here, layer.model, &results, called->first_weight, called->num_weights);
    tell_effects(here, layer.model, mode, &results, called->first_weight, effects);
    return results.outputs[0].value;
}

size_t liana_model_variables(const liana_model *model, const liana_graph *graph, liana_tensor *variables)
{
    size_t count = 0;
    for (size_t i = 0; model && graph && variables && i < model->num_weights; i++) {
        if (!liana__weight_trainable(model, i)) continue;
        int found = liana__graph_find_variable(graph, model->weights[i].name);
        if (found >= 0) variables[count++] = liana__node_tensor(graph, graph->variables[found]);
    }
    return count;
}

void liana_effects_assign_at(liana_location here, const liana_call_effects *effects)
{
    for (size_t i = 0; effects && i < effects->num_updates; i++) {
        liana_graph_assign_at(here, effects->updates[i].variable, effects->updates[i].value);
    }
}

liana_tensor liana_model_penalty_at(liana_location here, const liana_model *model, liana_graph *graph)
{
    if (!graph && model) liana__fail_null(&model->context->error, __func__, "graph");
    if (!graph || graph->status != LIANA_OK) return (liana_tensor){graph, 0};
    if (!LIANA__GRAPH_REQUIRE(graph, here, model)) return (liana_tensor){graph, 0};
    liana_tensor total = {0};
    for (size_t i = 0; i < model->num_weights; i++) {
        const liana__weight *weight = &model->weights[i];
        if (!liana__weight_is_regularized(model, i)) continue;
        total = liana__regularizer_add(&weight->regularizer, graph, weight->name, weight->shape, total);
    }
    return total.id || graph->status != LIANA_OK ? total : liana_graph_scalar_at(here, graph, LIANA_F32, 0);
}
