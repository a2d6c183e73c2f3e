/* Adding layers to a model, and calling them again: weights, shapes. */
#include "layers/model.h"

#include "base/text.h"
#include "ir/graph.h"
#include "layers/preprocessing/texts.h"

#include <liana/layers/core.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A size that the data will give. */
enum { FIRST_FREE_SIZE = 128 };

/* ---- weights ---- */

/* A weight that the layer has already: it must fit these inputs. */
static void check_weight(liana_layer_build *build, const char *name, const liana_shape *shape)
{
    const liana__layer *layer = &build->model->layers[build->layer];
    const liana__weight *weight = &build->model->weights[layer->first_weight + build->checked];
    build->checked++;
    if (liana_shape_equal(&weight->shape, shape)) return;
    build->status = liana__fail(build->error, LIANA_INVALID_ARGUMENT,
                                "its weight '%s' is %s since its first call, but these inputs need %s", name,
                                liana__shape_print(&weight->shape).text, liana__shape_print(shape).text);
}

bool liana__weight_is_at(const liana__weight *weight, const char *place)
{
    return place && weight->place ? strcmp(weight->place, place) == 0 : weight->place == place;
}

/* Where a held layer stands, and the weight in that. */
static bool join_place(const liana_layer_build *build, const char **place)
{
    liana__arena *arena = &build->model->arena;
    *place = NULL;
    if (!build->place && !*build->group) return true;
    const char *slash = build->place && *build->group ? "/" : "";
    *place = liana__arena_format(arena, "%s%s%s", build->group, slash, build->place ? build->place : "");
    return *place != NULL;
}

/* Adds a weight; its name is in the model's arena. */
static liana_status new_weight(liana_layer_build *build, const char *name, const liana_shape *shape,
                               const char *initializer, bool trainable)
{
    liana_model *model = build->model;
    liana__layer *layer = &model->layers[build->layer];
    if (!liana__shape_valid(LIANA_F32, shape)) {
        return liana__fail(build->error, LIANA_OUT_OF_RANGE, "its weight '%s' would have the shape %s", name,
                           liana__shape_print(shape).text);
    }
    const char *full = liana__arena_format(&model->arena, "%s/%s%s", layer->name, build->names, name);
    const char *place = NULL;
    if (!full || !join_place(build, &place) ||
        !liana__grow(&model->weights, model->num_weights, &model->weight_capacity, sizeof *model->weights)) {
        return liana__fail_memory(build->error, "a model's weights");
    }
    liana__weight *weight = &model->weights[model->num_weights];
    *weight = (liana__weight){.name = full,
                              .short_name = full + strlen(layer->name) + 1,
                              .place = place,
                              .shape = *shape,
                              .layer = build->layer,
                              .trainable = trainable,
                              .frozen = build->held && build->held->frozen};
    for (size_t i = layer->first_weight; i < model->num_weights; i++) {
        weight->number += liana__weight_is_at(&model->weights[i], place);
    }
    LIANA_TRY(liana__initializer_parse(model->context, initializer, &weight->initializer, build->error));
    LIANA_TRY(liana__initializer_check_shape(&weight->initializer, initializer, name, shape, build->error));
    weight->initializer.fan_in = (double)build->fan_in;
    weight->initializer.fan_out = (double)build->fan_out;
    LIANA_TRY(liana__read_weight_rules(build, weight));
    model->num_weights++;
    layer->num_weights++;
    return LIANA_OK;
}

void liana_layer_add_weight(liana_layer_build *build, const char *name, liana_shape shape, const char *initializer,
                            bool trainable)
{
    if (!build || !build->model || build->status != LIANA_OK) return;
    const liana__layer *layer = &build->model->layers[build->layer];
    const size_t count = build->is_reuse ? build->checked : layer->num_weights;
    if (!name || !*name || strchr(name, '/') || !initializer) {
        build->status = liana__fail(build->error, LIANA_INVALID_ARGUMENT,
                                    "a weight is called '%.60s' and has the initialiser '%.60s', expected a name "
                                    "without '/' and an initialiser such as zeros",
                                    name ? name : "", initializer ? initializer : "");
    } else if (count >= (build->is_reuse ? layer->num_weights : (size_t)LIANA_MAX_LAYER_WEIGHTS)) {
        build->status = liana__fail(build->error, LIANA_INVALID_ARGUMENT, "it has more than %zu weights, %s", count,
                                    build->is_reuse ? "as at its first call" : "the most that a layer may have");
    } else if (build->is_reuse) {
        check_weight(build, name, &shape);
    } else {
        build->status = new_weight(build, name, &shape, initializer, trainable);
    }
}

static liana_status declare_weights(const liana_model *model, const liana__layer_node *node, const liana_shape *shapes,
                                    size_t num_inputs, bool is_reuse, liana__error *error)
{
    const liana__layer *layer = &model->layers[node->layer];
    if (!layer->type->weights) return LIANA_OK;
    liana_layer_build build = {
        .options = node->options,
        .inputs = shapes,
        .num_inputs = liana__layer_num_slots(layer->type, num_inputs),
        .model = (liana_model *)(uintptr_t)model,
        .layer = node->layer,
        .is_reuse = is_reuse,
        .error = error,
        .names = "",
        .group = "",
    };
    liana_status status = layer->type->weights(&build);
    if (status == LIANA_OK || build.status != LIANA_OK) return build.status;
    return liana__fail(error, status, "its function 'weights' returned %s", liana_status_name(status));
}

static liana_status check_count(const liana_layer_type *type, size_t count, liana__error *error)
{
    if (count >= type->min_inputs && count <= type->max_inputs) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_CONFIG, "found %zu inputs, expected %zu%s", count, type->min_inputs,
                       type->max_inputs > type->min_inputs ? " or more" : "");
}

static uint32_t first_slots(size_t count)
{
    return count < 32 ? ((uint32_t)1 << count) - 1 : UINT32_MAX;
}

static liana_status check_inputs(const liana_layer_type *type, uint32_t slots, size_t count, liana__error *error)
{
    return type->arguments ? liana__arguments_check(type, slots, error) : check_count(type, count, error);
}

liana_status liana__layer_check_inputs(const liana_model *model, size_t index, const liana_shape *shapes,
                                       size_t num_inputs, liana__error *error)
{
    const liana__layer_node *node = &model->nodes[index];
    uint32_t slots = 0;
    for (size_t i = 0; i < num_inputs; i++) slots |= (uint32_t)(shapes[i].rank > 0) << i;
    LIANA_TRY(check_inputs(model->layers[node->layer].type, slots, num_inputs, error));
    return declare_weights(model, node, shapes, num_inputs, true, error);
}

/* ---- nodes ---- */

/* Of the node that is added. */
static liana_status find_inputs(liana_model *model, const liana__layer_request *given, const liana_layer_type *type,
                                liana__layer_node *node, liana__error *error)
{
    bool is_nested_input = type->max_inputs == 0 && model->building_use != LIANA__NONE;
    size_t before = liana__model_last_node(model);
    node->num_inputs = given->inputs ? given->num_inputs : type->max_inputs > 0 ? 1 : 0;
    node->slots = given->inputs && given->slots ? given->slots : first_slots(node->num_inputs);
    if (type->max_inputs > 0 && model->num_nodes == 0) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "a model must begin with an InputLayer, which gives the shape of one example");
    }
    if (type->max_inputs == 0 && !is_nested_input && model->num_inputs == LIANA_MAX_LAYER_INPUTS) {
        return liana__fail(error, LIANA_OUT_OF_RANGE, "a model has at most %d inputs", LIANA_MAX_LAYER_INPUTS);
    }
    if (!is_nested_input) LIANA_TRY(check_inputs(type, node->slots, node->num_inputs, error));
    if (!given->inputs && node->num_inputs && model->nodes[before].num_outputs > 1) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "the layer before, '%s', has %zu results: name those that are read in its inputs, or leave "
                           "out the option of that layer that returns several, such as return_state",
                           model->layers[model->nodes[before].layer].name, model->nodes[before].num_outputs);
    }
    const size_t *inputs = given->inputs ? given->inputs : &before;
    node->inputs = liana__arena_copy(&model->arena, inputs, node->num_inputs * sizeof *inputs);
    return node->inputs ? LIANA_OK : liana__fail_memory(error, "a model");
}

static liana_status read_options(liana_model *model, const liana__layer_request *request, liana__layer *layer,
                                 liana__error *error)
{
    const char *where = request->where ? request->where : layer->name;
    LIANA_TRY(liana__layer_read_options(model, request->type, request->options, where, request->other_keys,
                                        &layer->options, error));
    return liana__read_activity_rule(model, layer, error);
}

/* The options of a further call. */
static liana_status read_call_options(liana_model *model, const liana__layer *layer, const liana__layer_request *given,
                                      liana__layer_node *node, liana__error *error)
{
    const char *where = given->where ? given->where : layer->name;
    LIANA_TRY(liana__arguments_read(layer->type, layer->options, given->options, where, &model->arena, &node->options,
                                    error));
    if (node->options == layer->options) return LIANA_OK;
    void *own = (void *)(uintptr_t)node->options;
    LIANA_TRY(liana__layer_keep_values(model, &layer->type->part.options, own, error));
    liana_check check = {
        .context = model->context, .options = own, .map = given->options, .where = where, .error = error};
    return layer->type->part.check ? layer->type->part.check(&check) : LIANA_OK;
}

/* The context's error without "file:line: ", which comes before the layer's name later. */
static void take_graph_error(const liana_model *model, const liana_location *where, liana__error *error)
{
    char place[512];
    int length = snprintf(place, sizeof place, "%s:%d: ", where->file, where->line);
    const char *message = model->context->error.message;
    liana__fail(error, model->context->error.status, "%s", message + (liana__starts_with(message, place) ? length : 0));
}

/* The results of a call: node[0] is the first. */
static liana_status take_results(liana_model *model, const liana_layer_call *call, liana_tensor first,
                                 liana__layer_node *node, liana__error *error)
{
    size_t *source = call->num_more ? liana__arena_allocate(&model->arena, sizeof *source) : NULL;
    if (call->num_more && !source) return liana__fail_memory(error, "a model");
    if (source) *source = (size_t)(node - model->nodes);
    for (size_t i = 0; i <= call->num_more; i++) {
        if (i) {
            node[i] = *node;
            node[i].inputs = source;
            node[i].num_inputs = node[i].slots = 1;
        }
        const liana_tensor result = i ? call->more[i - 1] : first;
        node[i].output = i;
        node[i].shape = liana_tensor_shape(result);
        node[i].dtype = liana_tensor_dtype(result);
    }
    node->num_outputs = call->num_more + 1;
    node->is_softmax = call->logits_kind == LIANA_LOGITS_SOFTMAX;
    node->is_identity = node->num_inputs == 1 && first.id == call->inputs[0].id;
    return LIANA_OK;
}

/* Builds the layer by itself, on a batch of 1. */
static liana_status infer_result(liana_model *model, const liana__layer *layer, liana__layer_node *node,
                                 liana__error *error)
{
    liana_graph *graph;
    liana_tensor inputs[LIANA_MAX_LAYER_INPUTS] = {{0}}, weights[LIANA_MAX_LAYER_WEIGHTS] = {{0}};
    if (liana_graph_create(model->context, &graph) != LIANA_OK) return liana__fail_memory(error, "a graph");
    for (size_t i = 0; i < LIANA_MAX_LAYER_INPUTS; i++) {
        char name[32];
        const size_t index = liana__node_input_at(node, i);
        if (index == LIANA__NONE) continue;
        snprintf(name, sizeof name, "input_%zu", i);
        const liana__layer_node *input = &model->nodes[index];
        inputs[i] = liana_graph_input_at(node->where, graph, name, input->dtype, input->shape);
    }
    for (size_t i = 0; i < layer->num_weights; i++) {
        const liana__weight *weight = &model->weights[layer->first_weight + i];
        weights[i] = liana_graph_variable_at(node->where, graph, weight->name, LIANA_F32, weight->shape);
    }
    liana_layer_call call = {
        .here = node->where,
        .options = node->options,
        .inputs = inputs,
        .num_inputs = liana__layer_num_slots(layer->type, node->num_inputs),
        .dtype = LIANA_F32,
        .weights = weights,
    };
    liana_tensor output = liana__layer_invoke(layer->type, &call);
    liana_status status = liana_graph_status(graph);
    if (status != LIANA_OK) {
        take_graph_error(model, &node->where, error);
    } else {
        status = take_results(model, &call, output, node, error);
    }
    liana_graph_destroy(graph);
    return status;
}

/* Sizes that the data give. The input of a nested model takes those of its own input. An input of the model has no data
 * yet: any size serves that all layers take, and powers of two are halved without a rest. */
static void choose_free_sizes(const liana_model *model, liana__layer_node *node)
{
    const liana__layer_node *given = node->num_inputs == 1 ? &model->nodes[node->inputs[0]] : NULL;
    for (int d = 1; d < node->shape.rank; d++) {
        if (node->shape.dims[d] != LIANA_ANY_SIZE) continue;
        if (!given || given->free >> d & 1) node->free |= (uint32_t)1 << d;
        node->shape.dims[d] = given && given->shape.rank == node->shape.rank ? given->shape.dims[d] : FIRST_FREE_SIZE;
    }
}

static liana_status build_input(const liana_model *model, const liana__layer *layer, liana__layer_node *node,
                                liana__error *error)
{
    const liana_input_options *input = layer->options;
    node->num_outputs = 1;
    node->is_text = input->dtype == LIANA_STRING;
    node->reader = LIANA__NONE;
    node->dtype = node->is_text ? LIANA_S32 : (liana_dtype)input->dtype;
    if (node->is_text && model->building_use != LIANA__NONE) {
        return liana__fail(
            error, LIANA_INVALID_CONFIG,
            "a model that is a layer of another one cannot read texts; give the outer model the input of "
            "dtype string and the layer that reads it");
    }
    node->is_identity = node->num_inputs == 1 && model->nodes[node->inputs[0]].dtype == node->dtype;
    node->shape = (liana_shape){.rank = (int)input->shape.count + 1, .dims = {1}};
    memcpy(node->shape.dims + 1, input->shape.values, (size_t)input->shape.count * sizeof(int64_t));
    choose_free_sizes(model, node);
    if (liana__shape_valid(LIANA_F32, &node->shape)) return LIANA_OK;
    return liana__fail(error, LIANA_OUT_OF_RANGE, "examples of shape %s are too large",
                       liana__shape_print(&node->shape).text);
}

/* Texts are read by one layer that the host computes, and by nothing else. */
static liana_status check_readers(const liana_model *model, const liana__layer *layer, const liana__layer_node *node,
                                  liana__error *error)
{
    for (size_t i = 0; i < node->num_inputs; i++) {
        const liana__layer_node *input = &model->nodes[node->inputs[i]];
        const char *name = model->layers[input->layer].name;
        if (!input->is_text && !layer->type->texts) continue;
        if (!layer->type->texts) {
            return liana__fail(error, LIANA_INVALID_CONFIG,
                               "the input '%.60s' holds texts, which only a StringLookup, TextVectorization or Hashing "
                               "reads; put one of these between",
                               name);
        }
        bool is_read = input->is_text && input->reader != LIANA__NONE;
        for (size_t k = 0; !input->is_text && k < model->num_nodes && !is_read; k++) {
            for (size_t m = 0; m < model->nodes[k].num_inputs; m++)
                is_read |= model->nodes[k].inputs[m] == node->inputs[i];
        }
        const bool is_input = model->layers[input->layer].type->max_inputs == 0 && input->within == LIANA__NONE;
        const bool is_float = liana__dtype_is_float(input->dtype);
        if (is_input && !is_read && !is_float && node->within == LIANA__NONE) continue;
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "it is computed on the host, so it must read an input of the model of dtype string%s, which "
                           "nothing else reads; found '%.60s'%s",
                           " (or int32)", name,
                           !is_input  ? ", a layer's result"
                           : is_read  ? ", which another layer reads: give the model one more input of it"
                           : is_float ? " of float32"
                                      : " within another model");
    }
    return LIANA_OK;
}

static liana_status build_texts(liana_model *model, const liana__layer *layer, liana__layer_node *node,
                                liana__error *error)
{
    liana__layer_node *input = &model->nodes[node->inputs[0]];
    liana_shape texts = {.rank = input->shape.rank - 1};
    liana__text_result result = {0};
    memcpy(texts.dims, input->shape.dims + 1, (size_t)texts.rank * sizeof *texts.dims);
    LIANA_TRY(layer->type->texts->make(layer->options, &texts, &model->arena, &result, error));
    node->num_outputs = 1;
    node->dtype = result.dtype;
    node->shape = (liana_shape){.rank = result.shape.rank + 1, .dims = {1}};
    memcpy(node->shape.dims + 1, result.shape.dims, (size_t)result.shape.rank * sizeof *result.shape.dims);
    node->text_state = result.state;
    node->text_fingerprint = result.fingerprint;
    if (!liana__shape_valid(LIANA_F32, &node->shape)) {
        return liana__fail(error, LIANA_OUT_OF_RANGE, "its result would have the shape %s",
                           liana__shape_print(&node->shape).text);
    }
    input->is_text = true;
    input->reader = (size_t)(node - model->nodes);
    return LIANA_OK;
}

/* Tries the call with larger free sizes, which stand in the nodes of its inputs meanwhile. No weight may depend on
 * them. The sizes of results that change with them are free, too. A layer may refuse those of the trial. */
static liana_status try_larger(liana_model *model, const liana__layer *layer, liana__layer_node *node,
                               const liana_shape *larger, liana__error *error)
{
    liana_shape before[LIANA_MAX_MORE_RESULTS + 1];
    const size_t count = node->num_outputs;
    for (size_t i = 0; i < count; i++) before[i] = node[i].shape;
    if (declare_weights(model, node, larger, node->num_inputs, true, error) != LIANA_OK) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "its weights would depend on a size that the data give; write that size in the shape of the "
                           "model's input, in place of null");
    }
    liana__error refused = {0};
    if (infer_result(model, layer, node, &refused) != LIANA_OK) return LIANA_OK;
    for (size_t i = 0; i < count; i++) {
        for (int d = 1; d < before[i].rank && before[i].rank == node[i].shape.rank; d++) {
            if (before[i].dims[d] != node[i].shape.dims[d]) node[i].free |= (uint32_t)1 << d;
        }
        node[i].shape = before[i];
    }
    return LIANA_OK;
}

static liana_status find_free_sizes(liana_model *model, const liana__layer *layer, liana__layer_node *node,
                                    const liana_shape *shapes, liana__error *error)
{
    enum { LARGER = 32 };
    liana_shape larger[LIANA_MAX_LAYER_INPUTS] = {{0}};
    bool has_free = false;
    for (size_t i = 0; i < node->num_outputs; i++) node[i].free = 0;
    for (size_t i = 0; i < LIANA_MAX_LAYER_INPUTS; i++) {
        const size_t input = liana__node_input_at(node, i);
        larger[i] = shapes[i];
        if (input == LIANA__NONE) continue;
        for (int d = 1; d < shapes[i].rank; d++) {
            const bool is_free = model->nodes[input].free >> d & 1;
            larger[i].dims[d] += is_free ? LARGER : 0;
            has_free |= is_free;
        }
        model->nodes[input].shape = larger[i];
    }
    const liana_status status = has_free ? try_larger(model, layer, node, larger, error) : LIANA_OK;
    for (size_t i = 0; i < LIANA_MAX_LAYER_INPUTS; i++) {
        const size_t input = liana__node_input_at(node, i);
        if (input != LIANA__NONE) model->nodes[input].shape = shapes[i];
    }
    return status;
}

/* Declares the weights of a call, or checks that they are those of before; then infers its results. */
static liana_status build_call(liana_model *model, const liana__layer *layer, liana__layer_node *node, bool is_reuse,
                               liana__error *error)
{
    liana_shape shapes[LIANA_MAX_LAYER_INPUTS] = {{0}};
    for (size_t i = 0; i < LIANA_MAX_LAYER_INPUTS; i++) {
        const size_t input = liana__node_input_at(node, i);
        if (input != LIANA__NONE) shapes[i] = model->nodes[input].shape;
    }
    LIANA_TRY(declare_weights(model, node, shapes, node->num_inputs, is_reuse, error));
    LIANA_TRY(infer_result(model, layer, node, error));
    return find_free_sizes(model, layer, node, shapes, error);
}

/* The node of a layer, whose number is the layer's number of nodes so far. */
static liana_status build_node(liana_model *model, size_t index, const liana__layer_request *given,
                               liana_location where, liana__error *error)
{
    liana__layer *layer = &model->layers[index];
    liana__layer_node *node = &model->nodes[model->num_nodes];
    *node = (liana__layer_node){.layer = index,
                                .number = layer->num_nodes,
                                .options = layer->options,
                                .within = model->building_use,
                                .where = where};
    LIANA_TRY(find_inputs(model, given, layer->type, node, error));
    LIANA_TRY(check_readers(model, layer, node, error));
    if (layer->type->texts) return build_texts(model, layer, node, error);
    if (!layer->type->call) return build_input(model, layer, node, error);
    if (node->number) LIANA_TRY(read_call_options(model, layer, given, node, error));
    return build_call(model, layer, node, node->number > 0, error);
}

liana_status liana__model_infer_node(liana_model *model, size_t index, liana__error *error)
{
    liana__layer_node *node = &model->nodes[index];
    liana__layer *layer = &model->layers[node->layer];
    if (layer->type->texts) return build_texts(model, layer, node, error);
    return layer->type->call ? build_call(model, layer, node, true, error) : build_input(model, layer, node, error);
}

static liana_layer finish_node(liana_model *model, size_t index)
{
    bool is_input = model->layers[index].type->max_inputs == 0 && model->building_use == LIANA__NONE;
    if (is_input) model->inputs[model->num_inputs++] = model->num_nodes;
    model->layers[index].num_nodes++;
    const size_t first = model->num_nodes;
    model->num_nodes += model->nodes[first].num_outputs;
    model->structure_version++;
    return (liana_layer){model, (uint32_t)first + 1};
}

static liana_status make_room(liana_model *model, liana__error *error)
{
    if (model->num_layers >= LIANA__MOST_LAYERS) {
        return liana__fail(error, LIANA_OUT_OF_RANGE, "a model has at most %d layers", LIANA__MOST_LAYERS);
    }
    bool has_room = liana__grow(&model->layers, model->num_layers, &model->layer_capacity, sizeof *model->layers);
    while (has_room && model->node_capacity <= model->num_nodes + LIANA_MAX_MORE_RESULTS) {
        has_room = liana__grow(&model->nodes, model->node_capacity, &model->node_capacity, sizeof *model->nodes);
    }
    return has_room ? LIANA_OK : liana__fail_memory(error, "a model");
}

liana_layer liana__model_add(liana_model *model, const liana__layer_request *request)
{
    liana_layer none = {model, 0};
    if (model->error.status != LIANA_OK) return none;
    const liana_location here = model->blamed ? *model->blamed : request->here;
    liana__error error = {0};
    if (make_room(model, &error) != LIANA_OK) return liana__model_keep_error(model, &here, &error);
    liana__layer *layer = &model->layers[model->num_layers];
    *layer = (liana__layer){
        .type = request->type,
        .trainable = !request->frozen,
        .inference = request->inference && request->type->reads_training,
        .within = model->building_nested,
        .first_weight = model->num_weights,
        .where = here,
    };
    layer->where.file = liana__arena_string(&model->arena, here.file);
    liana_status status = layer->where.file ? LIANA_OK : liana__fail_memory(&error, "a model");
    if (status == LIANA_OK) status = liana__model_name_layer(model, request, layer, &error);
    if (status == LIANA_OK) status = read_options(model, request, layer, &error);
    if (status != LIANA_OK) return liana__model_keep_error(model, &here, &error);
    status = build_node(model, model->num_layers, request, layer->where, &error);
    if (status != LIANA_OK) {
        liana__fail_within(&error, "layer '%s' (%s)", layer->name, layer->type->part.name);
        return liana__model_keep_error(model, &here, &error);
    }
    model->num_layers++;
    return finish_node(model, model->num_layers - 1);
}

liana_layer liana__model_reuse(liana_model *model, size_t index, const liana__layer_request *request)
{
    liana_layer none = {model, 0};
    if (model->error.status != LIANA_OK) return none;
    const liana_location here = model->blamed ? *model->blamed : request->here;
    liana__error error = {0};
    liana_location where = {liana__arena_string(&model->arena, here.file), here.line};
    liana_status status = where.file ? make_room(model, &error) : liana__fail_memory(&error, "a model");
    const liana__layer *layer = &model->layers[index];
    if (status == LIANA_OK && layer->num_nodes >= LIANA__MOST_CALLS) {
        status = liana__fail(&error, LIANA_OUT_OF_RANGE, "a layer is called at most %d times", LIANA__MOST_CALLS);
    }
    if (status == LIANA_OK) status = build_node(model, index, request, where, &error);
    if (status == LIANA_OK) return finish_node(model, index);
    liana__fail_within(&error, "call %zu of layer '%s' (%s)", layer->num_nodes + 1, layer->name,
                       layer->type->part.name);
    return liana__model_keep_error(model, &here, &error);
}
