/* The inputs and outputs of models, and whether a model is whole. */
#include "layers/model.h"

#include "base/named.h"
#include "base/scoped.h"

#include <liana/layers/core.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- inputs ---- */

size_t liana__model_num_inputs(const liana_model *model)
{
    return model->num_inputs;
}

/* The number of ids that the layers which look up this node's values have room for; 0: none does. */
static int64_t count_ids(const liana_model *model, size_t node)
{
    int64_t least = 0;
    for (size_t i = 0; i < model->num_nodes; i++) {
        const liana__layer_node *user = &model->nodes[i];
        const liana__layer *layer = &model->layers[user->layer];
        if (user->num_inputs != 1 || user->inputs[0] != node) continue;
        int64_t count = layer->type->num_ids           ? layer->type->num_ids(user->options)
                        : layer->type->max_inputs == 0 ? count_ids(model, i) /* of a nested model */
                                                       : 0;
        if (count && (!least || count < least)) least = count;
    }
    return least;
}

liana__model_port liana__model_input(const liana_model *model, size_t index)
{
    if (index >= model->num_inputs) return (liana__model_port){0};
    const liana__layer_node *node = &model->nodes[model->inputs[index]], *result = node;
    liana__model_port port = {.name = model->layers[node->layer].name};
    if (node->is_text && node->reader != LIANA__NONE) {
        result = &model->nodes[node->reader];
        port.texts = model->layers[result->layer].type->texts;
        port.text_state = result->text_state;
        port.text_fingerprint = result->text_fingerprint;
        port.texts_shape.rank = node->shape.rank - 1;
        for (int i = 0; i < port.texts_shape.rank; i++) port.texts_shape.dims[i] = node->shape.dims[i + 1];
        for (size_t k = 0; k < result->num_inputs; k++) {
            size_t place = 0;
            while (model->inputs[place] != result->inputs[k]) place++;
            port.text_inputs[port.num_text_inputs++] = place;
        }
    }
    port.dtype = result->dtype;
    port.shape = result->shape;
    port.free = node->is_text ? 0 : node->free;
    port.num_ids = port.texts ? 0 : count_ids(model, model->inputs[index]);
    return port;
}

int64_t liana__model_batch_size(const liana_model *model)
{
    for (size_t i = 0; i < model->num_layers; i++) {
        const liana_input_options *input = model->layers[i].options;
        if (model->layers[i].type == &liana__layer_input_layer && input->batch_size) return input->batch_size;
    }
    return 0;
}

liana_shape liana__model_input_shape(const liana_model *model)
{
    return model->num_inputs ? model->nodes[model->inputs[0]].shape : LIANA_SCALAR;
}

/* ---- outputs ---- */

size_t liana__model_num_outputs(const liana_model *model)
{
    return model->num_outputs ? model->num_outputs : model->num_nodes > 0;
}

size_t liana__model_output_node(const liana_model *model, size_t index)
{
    if (index < model->num_outputs) return model->outputs[index].node;
    return index == 0 ? liana__model_last_node(model) : LIANA__NONE;
}

/* The name of the layer, or of the outermost nested model, that a node belongs to. */
static const char *owner_name(const liana_model *model, size_t node)
{
    size_t use = liana__model_outermost_use(model, node);
    return use == LIANA__NONE ? model->layers[model->nodes[node].layer].name
                              : model->nested[model->uses[use].nested].name;
}

liana__model_port liana__model_output(const liana_model *model, size_t index)
{
    size_t node = liana__model_output_node(model, index);
    if (node == LIANA__NONE) return (liana__model_port){0};
    return (liana__model_port){.name =
                                   index < model->num_outputs ? model->outputs[index].name : owner_name(model, node),
                               .dtype = model->nodes[node].dtype,
                               .shape = model->nodes[node].shape,
                               .free = model->nodes[node].free};
}

liana_shape liana__model_output_shape(const liana_model *model)
{
    size_t node = liana__model_output_node(model, 0);
    return node == LIANA__NONE ? LIANA_SCALAR : model->nodes[node].shape;
}

static bool is_output_name(const liana_model *model, const char *name)
{
    const liana__named outputs = LIANA__NAMED(liana__model_end, model->outputs, model->num_outputs);
    return liana__named_find(outputs, name, NULL) < outputs.count;
}

/* dense, dense_1, ...: as Keras names outputs of one layer. */
static const char *name_output(liana_model *model, size_t node)
{
    const char *owner = owner_name(model, node), *name = owner;
    for (int number = 1; name && is_output_name(model, name); number++) {
        name = liana__arena_format(&model->arena, "%s_%d", owner, number);
    }
    return name;
}

static liana_status add_output(liana_model *model, size_t node, const char *name, liana__error *error)
{
    if (name && is_output_name(model, name)) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "two outputs have the name '%.60s'", name);
    }
    name = name ? liana__arena_string(&model->arena, name) : name_output(model, node);
    if (!name) return liana__fail_memory(error, "a model");
    model->outputs[model->num_outputs++] = (liana__model_end){name, node};
    return LIANA_OK;
}

liana_status liana__model_set_outputs(liana_model *model, liana_location here, const size_t *nodes,
                                      const char *const *names, size_t count)
{
    if (model->error.status != LIANA_OK) return model->error.status;
    if (count > LIANA_MAX_MODEL_OUTPUTS) {
        liana__model_fail(model, here, LIANA_OUT_OF_RANGE, "found %zu outputs, expected 1 to %d", count,
                          LIANA_MAX_MODEL_OUTPUTS);
        return model->error.status;
    }
    liana__error error = {0};
    liana_status status = LIANA_OK;
    model->num_outputs = 0;
    model->gives_inner = false;
    for (size_t i = 0; i < count && status == LIANA_OK; i++) {
        status = add_output(model, nodes[i], names ? names[i] : NULL, &error);
    }
    if (status != LIANA_OK) liana__model_fail(model, here, status, "outputs: %s", error.message);
    model->structure_version++;
    model->objective = NULL; /* that of other outputs */
    return status;
}

/* ---- names in configurations ---- */

liana_status liana__model_name_call(liana_model *model, size_t node, const char *name, liana__error *error)
{
    LIANA_TRY(liana__model_check_name(model, name, error));
    const char *own = liana__arena_string(&model->arena, name);
    bool has_room = liana__grow(&model->calls, model->num_calls, &model->call_capacity, sizeof *model->calls);
    if (!own || !has_room) return liana__fail_memory(error, "a model");
    model->calls[model->num_calls++] = (liana__model_end){own, node};
    return LIANA_OK;
}

static bool has_own_name(const liana_model *model, size_t node)
{
    for (size_t i = 0; i < model->num_calls; i++) {
        if (model->calls[i].node == node) return true;
    }
    return false;
}

/* The first output of the last use of a nested model that has no name of its own. */
static size_t last_of_nested(const liana_model *model, const char *name)
{
    for (size_t i = model->num_uses; i-- > 0;) {
        const liana__nested_use *use = &model->uses[i];
        const liana__nested *nested = &model->nested[use->nested];
        size_t node = use->first_node + nested->outputs[0];
        bool is_it = use->within == LIANA__NONE && strcmp(nested->name, name) == 0;
        if (is_it && !has_own_name(model, node)) return node;
    }
    return LIANA__NONE;
}

/* The node for a name without an output of a nested model. */
static size_t find_whole(const liana_model *model, const char *name)
{
    const size_t call = liana__named_find(LIANA__NAMED(liana__model_end, model->calls, model->num_calls), name, NULL);
    if (call < model->num_calls) return model->calls[call].node;
    int layer = liana__model_find_layer(model, name);
    for (size_t i = model->num_nodes; layer >= 0 && i-- > 0;) {
        const liana__layer_node *node = &model->nodes[i];
        bool is_call = node->layer == (size_t)layer && node->within == LIANA__NONE && node->output == 0;
        if (is_call && !has_own_name(model, i)) return i;
    }
    return last_of_nested(model, name);
}

/* Another result of a layer's call, by its number. */
static size_t find_result(const liana_model *model, size_t call, const char *number)
{
    char *end;
    const unsigned long result = strtoul(number, &end, 10);
    const bool is_number = *number >= '0' && *number <= '9' && !*end;
    return is_number && result < model->nodes[call].num_outputs ? call + result : LIANA__NONE;
}

size_t liana__model_find_node(const liana_model *model, const char *name)
{
    size_t whole = find_whole(model, name);
    if (whole != LIANA__NONE) return whole;
    for (const char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/')) {
        char owner[256];
        snprintf(owner, sizeof owner, "%.*s", (int)(slash - name), name);
        size_t node = find_whole(model, owner),
               use = node == LIANA__NONE ? node : liana__model_outermost_use(model, node);
        const size_t result =
            node != LIANA__NONE && use == LIANA__NONE ? find_result(model, node, slash + 1) : LIANA__NONE;
        if (result != LIANA__NONE) return result;
        const liana__nested *nested = use == LIANA__NONE ? NULL : &model->nested[model->uses[use].nested];
        for (size_t i = 0; nested && i < nested->num_outputs; i++) {
            if (strcmp(nested->output_names[i], slash + 1) == 0)
                return model->uses[use].first_node + nested->outputs[i];
        }
    }
    return LIANA__NONE;
}

liana_status liana__model_outputs_from(liana_model *model, const liana__value *names, const char *where)
{
    if (!names || names->kind == LIANA__VALUE_NULL || model->error.status != LIANA_OK) return model->error.status;
    const liana_location here = {names->place.file ? names->place.file : "model", names->place.line};
    size_t count = names->kind == LIANA__VALUE_LIST ? names->count : 1, nodes[LIANA_MAX_MODEL_OUTPUTS];
    const char *given[LIANA_MAX_MODEL_OUTPUTS];
    liana__error error = {0};
    if (count == 0 || count > LIANA_MAX_MODEL_OUTPUTS) {
        liana__fail_at(&error, &names->place, where, "found %zu names, expected 1 to %d", count,
                       LIANA_MAX_MODEL_OUTPUTS);
    }
    for (size_t i = 0; i < count && error.status == LIANA_OK; i++) {
        const liana__value *item = names->kind == LIANA__VALUE_LIST ? names->items[i] : names;
        char found[128];
        bool is_name = item->kind == LIANA__VALUE_STRING;
        nodes[i] = is_name ? liana__model_find_node(model, item->string) : LIANA__NONE;
        given[i] = is_name ? item->string : NULL;
        if (nodes[i] != LIANA__NONE) continue;
        liana__fail_at(&error, &item->place, where, "found %s, expected the name of a layer of the model",
                       liana__value_describe(item, found, sizeof found));
    }
    if (error.status == LIANA_OK) return liana__model_set_outputs(model, here, nodes, given, count);
    liana__model_keep_error(model, &here, &error);
    return model->error.status;
}

/* ---- the whole ---- */

static liana_status fail_unused(const liana_model *model, size_t unused, liana__error *error)
{
    const liana__layer_node *node = &model->nodes[unused];
    const liana__layer *layer = &model->layers[node->layer];
    LIANA__SCOPED(liana__text) outputs = {0};
    size_t count = liana__model_num_outputs(model);
    for (size_t i = 0; i < count; i++) {
        liana__text_add(&outputs, "%s'%s'", i ? ", " : "", liana__model_output(model, i).name);
    }
    return liana__fail(error, LIANA_INVALID_CONFIG, "%s:%d: layer '%s' (%s) does not lead to the model's output%s, %s",
                       node->where.file, node->where.line, layer->name, layer->type->part.name,
                       count > 1            ? "s"
                       : model->num_outputs ? ""
                                            : ", which is the last layer",
                       outputs.data ? outputs.data : "");
}

/* Whether a node is an output of the model, or read by a node that does not belong to this use. */
static bool is_read_outside(const liana_model *model, size_t node, size_t use)
{
    const liana__nested_use *own = &model->uses[use];
    size_t begin = own->first_node, end = begin + model->nested[own->nested].num_nodes;
    for (size_t i = 0; i < liana__model_num_outputs(model); i++) {
        if (liana__model_output_node(model, i) == node) return true;
    }
    for (size_t i = end; i < model->num_nodes; i++) {
        const liana__layer_node *reader = &model->nodes[i];
        for (size_t k = 0; k < reader->num_inputs; k++) {
            if (reader->inputs[k] == node) return true;
        }
    }
    return false;
}

/* Refuses a nested model of which nothing is read. */
static liana_status check_uses(const liana_model *model, liana__error *error)
{
    for (size_t i = 0; i < model->num_uses; i++) {
        const liana__nested_use *use = &model->uses[i];
        const liana__nested *nested = &model->nested[use->nested];
        bool is_read = use->within != LIANA__NONE;
        for (size_t k = 0; k < nested->num_outputs && !is_read; k++) {
            is_read = is_read_outside(model, use->first_node + nested->outputs[k], i);
        }
        if (is_read) continue;
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "nested model '%s' does not lead to an output of the model (use %zu)", nested->name,
                           use->number + 1);
    }
    return LIANA_OK;
}

/* Some outputs of a nested model or of a layer may stay unused: the user cannot remove what leads only to them. */
static liana_status check_nodes(const liana_model *model, bool *used, liana__error *error)
{
    for (size_t i = 0; i < liana__model_num_outputs(model); i++) used[liana__model_output_node(model, i)] = true;
    for (size_t i = model->num_nodes; i-- > 0;) {
        const liana__layer_node *node = &model->nodes[i];
        bool is_part = node->within != LIANA__NONE || node->output;
        if (!used[i] && is_part) continue;
        if (!used[i]) return fail_unused(model, i, error);
        for (size_t k = 0; k < node->num_inputs; k++) used[node->inputs[k]] = true;
    }
    return check_uses(model, error);
}

liana_status liana__model_check_used(const liana_model *model, liana__error *error)
{
    LIANA__SCOPED_MEMORY bool *used = calloc(model->num_nodes, sizeof *used);
    return used ? check_nodes(model, used, error) : liana__fail_memory(error, "a model");
}

/* Whether options that are found in data are there. */
static liana_status check_adapted(const liana_model *model, liana__error *error)
{
    for (size_t i = 0; i < model->num_layers; i++) {
        const liana__layer *layer = &model->layers[i];
        const char *option = layer->type->to_adapt ? layer->type->to_adapt(layer->options) : NULL;
        if (!option) continue;
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "layer '%s' (%s): %s is not known yet; give it, or have it found in data: "
                           "liana_layer_adapt, which `liana train` does by itself for layers that read an input",
                           layer->name, layer->type->part.name, option);
    }
    return LIANA_OK;
}

liana_status liana__model_check(const liana_model *model, liana__error *error)
{
    if (model->error.status != LIANA_OK) {
        if (error) *error = model->error;
        return model->error.status;
    }
    bool only_inputs = model->num_nodes == model->num_inputs;
    if (only_inputs) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "the model has %s; expected an InputLayer and at least one layer after it",
                           !model->num_nodes        ? "no layers"
                           : model->num_inputs == 1 ? "only an InputLayer"
                                                    : "only InputLayers");
    }
    LIANA_TRY(check_adapted(model, error));
    /* A model that has values was whole before it got other outputs. */
    const bool was_whole = model->num_outputs && model->num_values && model->num_values == model->num_weights;
    return was_whole || model->gives_inner ? LIANA_OK : liana__model_check_used(model, error);
}
