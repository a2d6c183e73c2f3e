/* liana__model_call: a model as graph. */
#include "ir/graph.h"
#include "layers/model.h"

#include <liana/layers/core.h>
#include <stdio.h>

/* The results after an error: invalid tensors. */
static const liana__model_result no_results[LIANA_MAX_MODEL_OUTPUTS];

/* A call that is being built. */
typedef struct building {
    const liana_model *model;
    const liana__model_mode *mode;
    liana_graph *graph;
    liana_dtype dtype;    /* of the weights */
    bool has_other_sizes; /* than those that the model's nodes were made for */
    liana__model_results results;
    liana__model_result *nodes; /* of each node */
} building;

static void fail_input(const building *own, size_t index, liana_status status, const char *found, const char *expected)
{
    const liana_model *model = own->model;
    liana__model_port port = liana__model_input(model, index);
    liana_location here = own->mode->here;
    if (!here.file) here = model->nodes[model->inputs[index]].where;
    liana__graph_fail(own->graph, here, status, "the model '%s' got %s for its input '%s', expected %s",
                      liana__model_name(model), found, port.name, expected);
}

static bool dtype_fits(liana_dtype expected, liana_dtype found)
{
    return liana__dtype_is_float(expected) ? liana__dtype_is_float(found) : found == expected;
}

static bool check_shape(building *own, size_t index, const liana_tensor *inputs)
{
    const liana__model_port port = liana__model_input(own->model, index);
    liana_shape expected = port.shape, found = liana_tensor_shape(inputs[index]);
    char expected_text[320], found_text[320];
    if (found.rank) expected.dims[0] = liana_tensor_shape(inputs[0]).dims[0];
    for (int d = 1; found.rank == expected.rank && d < found.rank; d++) {
        if (!(port.free >> d & 1) || found.dims[d] < 1) continue;
        own->has_other_sizes |= expected.dims[d] != found.dims[d];
        expected.dims[d] = found.dims[d];
    }
    if (found.rank && liana_shape_equal(&expected, &found)) return true;
    for (int d = 1; d < expected.rank; d++) {
        if (port.free >> d & 1) expected.dims[d] = LIANA_ANY_SIZE;
    }
    bool other_batch = index > 0 && found.rank && found.dims[0] != expected.dims[0];
    if (!other_batch) expected.dims[0] = 1;
    snprintf(found_text, sizeof found_text, "a tensor of shape %s", liana__shape_print(&found).text);
    snprintf(expected_text, sizeof expected_text, "%s with %s", liana__shape_print(&expected).text,
             other_batch ? "the batch size of the first input" : "any batch size");
    fail_input(own, index, LIANA_INVALID_ARGUMENT, found_text, expected_text);
    return false;
}

/* Finds the weights' dtype as well: that of the first float input. */
static bool check_inputs(building *own, const liana_tensor *inputs)
{
    bool has_float = false;
    for (size_t i = 0; i < own->model->num_inputs; i++) {
        liana__model_port port = liana__model_input(own->model, i);
        liana_dtype found = liana_tensor_dtype(inputs[i]);
        if (inputs[i].graph != own->graph || inputs[i].id == 0) {
            fail_input(own, i, LIANA_INVALID_ARGUMENT, "no tensor of this graph", "one");
            return false;
        }
        if (!dtype_fits(port.dtype, found) || (has_float && liana__dtype_is_float(found) && found != own->dtype)) {
            fail_input(own, i, LIANA_INVALID_ARGUMENT, liana_dtype_name(found),
                       port.dtype != LIANA_F32        ? liana_dtype_name(port.dtype)
                       : liana__dtype_is_float(found) ? "the dtype of the inputs before it"
                                                      : "a float dtype, such as f32");
            return false;
        }
        if (!check_shape(own, i, inputs)) return false;
        if (!has_float && liana__dtype_is_float(found)) own->dtype = found;
        has_float = has_float || liana__dtype_is_float(found);
    }
    return true;
}

static bool allocate_results(building *own, size_t num_outputs)
{
    liana__arena *arena = &own->graph->arena;
    const liana_model *model = own->model;
    liana__model_results *results = &own->results;
    own->nodes = liana__arena_allocate(arena, (model->num_nodes + 1) * sizeof *own->nodes);
    results->nodes = liana__arena_allocate(arena, (model->num_nodes + 1) * sizeof *results->nodes);
    results->weights = liana__arena_allocate(arena, (model->num_weights + 1) * sizeof *results->weights);
    results->updates =
        liana__arena_allocate(arena, LIANA_MAX_LAYER_UPDATES * (model->num_nodes + 1) * sizeof *results->updates);
    results->num_outputs = num_outputs;
    if (own->nodes && results->nodes && results->weights && results->updates) return true;
    liana__graph_fail(own->graph, LIANA_HERE, LIANA_OUT_OF_MEMORY, "out of memory for the graph");
    return false;
}

static liana_tensor add_weight(const building *own, size_t index)
{
    const liana__weight *weight = &own->model->weights[index];
    return liana_graph_variable_at(own->model->layers[weight->layer].where, own->graph, weight->name, own->dtype,
                                   weight->shape);
}

static void keep_updates(building *own, const liana__layer *layer, const liana_layer_call *call)
{
    liana__model_results *results = &own->results;
    for (size_t i = 0; i < call->num_updates; i++) {
        const liana_layer_update *given = &call->updates[i];
        liana__model_update update = {
            .weight = layer->first_weight + given->weight,
            .statistic = given->statistic,
            .momentum = given->momentum,
            .about = given->is_variance ? layer->first_weight + given->mean : LIANA__NO_WEIGHT,
        };
        size_t place = 0;
        while (place < results->num_updates && results->updates[place].weight != update.weight) place++;
        if (place < results->num_updates) {
            liana__model_update *joined = &results->updates[place];
            liana__join_averages(call->here, &joined->statistic, &joined->momentum, update.statistic, update.momentum);
        } else {
            results->updates[results->num_updates++] = update;
        }
    }
}

/* Each call of a layer has a penalty, as in Keras. */
static void keep_penalty(building *own, const liana__layer *layer, liana_tensor value)
{
    liana_tensor *total = &own->results.penalties;
    if (own->graph->status != LIANA_OK) return;
    liana_tensor penalties = liana__regularizer_by_example(&layer->activity_regularizer, value);
    *total = total->id ? liana_op_add_at(layer->where, *total, penalties) : penalties;
}

/* Calls the layer of a node on tensors; `weights` are its own. Returns the number of results. */
static size_t call_layer(building *own, const liana__layer_node *node, const liana_tensor *inputs,
                         const liana_tensor *masks, size_t num_inputs, const liana_tensor *weights,
                         liana__model_result *results)
{
    const liana__layer *layer = &own->model->layers[node->layer];
    const liana__model_mode *mode = own->mode;
    liana_layer_call call = {
        .here = layer->where,
        .options = node->options,
        .inputs = inputs,
        .masks = masks,
        .num_inputs = num_inputs,
        .dtype = own->dtype,
        .weights = weights,
        .training = mode->training && !liana__layer_infers(own->model, node->layer),
        .trainable = layer->trainable,
        .positions = mode->positions,
        .present = mode->present,
        .shards = mode->leaves,
        .seed = mode->seed,
        .salt = liana__layer_salt(node->layer, node->number),
        .declared = own->model->weights + layer->first_weight,
        .num_weights = layer->num_weights,
    };
    liana_tensor value = liana__layer_invoke(layer->type, &call);
    keep_updates(own, layer, &call);
    results[0] = (liana__model_result){value, call.logits, call.logits_kind, call.mask};
    for (size_t i = 0; i < call.num_more; i++) results[i + 1] = (liana__model_result){.value = call.more[i]};
    const size_t num_regularized = call.num_activities ? call.num_activities : call.num_more + 1;
    for (size_t i = 0; i < num_regularized && layer->activity_regularizer.type; i++) {
        keep_penalty(own, layer, call.num_activities ? call.activities[i] : results[i].value);
    }
    if (call.penalties.id) {
        liana_tensor *total = &own->results.penalties;
        *total = total->id ? liana_op_add_at(layer->where, *total, call.penalties) : call.penalties;
    }
    return call.num_more + 1;
}

/* An InputLayer of a nested model: ids are converted to floats, and floats to ids. */
static liana__model_result enter_nested(const building *own, const liana__layer_node *node, liana_tensor value,
                                        liana_tensor mask)
{
    liana_dtype wanted = liana__dtype_is_float(node->dtype) ? own->dtype : node->dtype;
    if (!dtype_fits(node->dtype, liana_tensor_dtype(value))) value = liana_op_cast_at(node->where, value, wanted);
    return (liana__model_result){.value = value, .mask = mask};
}

static bool check_layer(const building *own, size_t index, const liana_tensor *inputs, size_t num_inputs)
{
    const liana__layer *layer = &own->model->layers[own->model->nodes[index].layer];
    liana_location here = own->mode->here.file ? own->mode->here : layer->where;
    liana_shape shapes[LIANA_MAX_LAYER_INPUTS] = {{0}};
    liana__error error = {0};
    for (size_t i = 0; i < num_inputs; i++) {
        if (layer->type->arguments && !inputs[i].id) continue;
        shapes[i] = liana_tensor_shape(inputs[i]);
        if (inputs[i].graph != own->graph || inputs[i].id == 0 || shapes[i].rank == 0) {
            liana__graph_fail(own->graph, here, LIANA_INVALID_ARGUMENT,
                              "layer '%s' (%s): input %zu is not a tensor [batch, ...] of this graph", layer->name,
                              layer->type->part.name, i);
            return false;
        }
        shapes[i].dims[0] = 1;
    }
    liana_status status = liana__layer_check_inputs(own->model, index, shapes, num_inputs, &error);
    if (status == LIANA_OK) return true;
    if (status == LIANA_INVALID_CONFIG) status = LIANA_INVALID_ARGUMENT;
    liana__graph_fail(own->graph, here, status, "layer '%s' (%s): %s", layer->name, layer->type->part.name,
                      error.message);
    return false;
}

static void call_node(building *own, size_t index)
{
    const liana__layer_node *node = &own->model->nodes[index];
    const liana__layer *layer = &own->model->layers[node->layer];
    liana_tensor inputs[LIANA_MAX_LAYER_INPUTS] = {{0}}, masks[LIANA_MAX_LAYER_INPUTS] = {{0}};
    for (size_t i = 0; i < LIANA_MAX_LAYER_INPUTS; i++) {
        const size_t input = liana__node_input_at(node, i);
        if (input == LIANA__NONE) continue;
        inputs[i] = own->nodes[input].value;
        masks[i] = own->nodes[input].mask;
    }
    if (!layer->type->call) {
        /* Those of this model, and layers that the host computes, have their values. */
        if (node->num_inputs && !layer->type->texts) own->nodes[index] = enter_nested(own, node, inputs[0], masks[0]);
    } else if (!node->output && own->graph->status == LIANA_OK) {
        if (own->has_other_sizes &&
            !check_layer(own, index, inputs, liana__layer_num_slots(layer->type, node->num_inputs)))
            return;
        call_layer(own, node, inputs, masks, liana__layer_num_slots(layer->type, node->num_inputs),
                   own->results.weights + layer->first_weight, &own->nodes[index]);
    }
    own->results.nodes[index] = own->nodes[index].value;
}

static void build(building *own, const liana_tensor *inputs)
{
    const liana_model *model = own->model;
    liana__model_results *results = &own->results;
    for (size_t i = 0; i < model->num_weights; i++) results->weights[i] = add_weight(own, i);
    for (size_t i = 0; i < model->num_inputs; i++) {
        liana_tensor none = {0};
        const liana__layer_node *node = &model->nodes[model->inputs[i]];
        const size_t place = node->is_text ? node->reader : model->inputs[i];
        own->nodes[place] =
            (liana__model_result){.value = inputs[i], .mask = own->mode->masks ? own->mode->masks[i] : none};
    }
    for (size_t i = 0; i < model->num_nodes; i++) call_node(own, i);
    liana__model_result *outputs = liana__arena_allocate(&own->graph->arena, results->num_outputs * sizeof *outputs);
    if (!outputs) {
        liana__graph_fail(own->graph, LIANA_HERE, LIANA_OUT_OF_MEMORY, "out of memory for the graph");
        return;
    }
    for (size_t i = 0; i < results->num_outputs; i++) {
        const size_t node = liana__model_output_node(model, i);
        outputs[i] = own->nodes[node];
        /* What a model gives are floats. */
        liana_tensor *value = &outputs[i].value;
        if (own->graph->status == LIANA_OK && !liana__dtype_is_float(liana_tensor_dtype(*value))) {
            *value = liana_op_cast_at(model->nodes[node].where, *value, own->dtype);
        }
    }
    results->outputs = outputs;
}

liana__model_results liana__model_call(const liana_model *model, const liana_tensor *inputs,
                                       const liana__model_mode *mode)
{
    building own = {.model = model, .mode = mode, .graph = inputs[0].graph, .dtype = mode->dtype};
    own.results.outputs = no_results;
    if (!own.graph || own.graph->status != LIANA_OK) return own.results;
    liana__error error = {0};
    liana_status status = liana__model_check(model, &error);
    if (status != LIANA_OK) {
        liana__graph_fail(own.graph, mode->here.file ? mode->here : LIANA_HERE, status, "%s", error.message);
        return own.results;
    }
    if (check_inputs(&own, inputs) && allocate_results(&own, liana__model_num_outputs(model))) build(&own, inputs);
    return own.results;
}

liana_tensor liana__model_average(const liana__model_results *results, size_t first, size_t index)
{
    const liana__model_update *update = &results->updates[index];
    liana_location here = LIANA_HERE;
    liana_tensor average = results->weights[update->weight - first], statistic = update->statistic;
    liana_dtype dtype = liana_tensor_dtype(average);
    for (size_t i = 0; update->about != LIANA__NO_WEIGHT && i < results->num_updates; i++) {
        if (results->updates[i].weight != update->about) continue;
        liana_tensor mean = results->weights[update->about - first];
        liana_tensor change = liana_op_subtract_at(here, results->updates[i].statistic, mean);
        statistic = liana_op_subtract_at(here, statistic, liana_op_square_at(here, change));
    }
    liana_tensor kept = liana_graph_scalar_at(here, average.graph, dtype, update->momentum);
    liana_tensor taken = liana_graph_scalar_at(here, average.graph, dtype, 1 - update->momentum);
    return liana_op_add_at(here, liana_op_multiply_at(here, average, kept),
                           liana_op_multiply_at(here, statistic, taken));
}

/* ---- one layer ---- */

liana__model_results liana__model_call_layer(const liana_model *model, size_t index, const liana_tensor *inputs,
                                             size_t num_inputs, const liana__model_mode *mode)
{
    const liana__layer_node *node = &model->nodes[index];
    building own = {.model = model, .mode = mode, .graph = inputs[0].graph, .dtype = mode->dtype};
    own.results.outputs = no_results;
    if (!own.graph || own.graph->status != LIANA_OK) return own.results;
    if (!check_layer(&own, index, inputs, num_inputs) || !allocate_results(&own, 1)) return own.results;
    liana_tensor given[LIANA_MAX_LAYER_INPUTS] = {{0}}, masks[LIANA_MAX_LAYER_INPUTS] = {{0}};
    for (size_t i = num_inputs; i-- > 0;) {
        given[i] = inputs[i];
        if (mode->masks) masks[i] = mode->masks[i];
        liana_dtype dtype = inputs[i].id ? liana_tensor_dtype(inputs[i]) : LIANA_S32;
        if (liana__dtype_is_float(dtype)) own.dtype = dtype;
    }
    const liana__layer *layer = &model->layers[node->layer];
    for (size_t i = 0; i < layer->num_weights; i++) {
        own.results.weights[i] = add_weight(&own, layer->first_weight + i);
    }
    liana__model_result *output =
        liana__arena_allocate(&own.graph->arena, (LIANA_MAX_MORE_RESULTS + 1) * sizeof *output);
    if (!output) {
        liana__graph_fail(own.graph, LIANA_HERE, LIANA_OUT_OF_MEMORY, "out of memory for the graph");
        return own.results;
    }
    own.results.num_outputs = call_layer(&own, node, given, masks, liana__layer_num_slots(layer->type, num_inputs),
                                         own.results.weights, output);
    own.results.outputs = output;
    return own.results;
}
