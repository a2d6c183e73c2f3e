/* Scopes: the model itself and the models nested in it, as lists of layers and nested models. */
#include "layers/model.h"

#include <string.h>

bool liana__scope_next(const liana_model *model, size_t scope, size_t *next, liana__scope_item *item)
{
    size_t begin = scope == LIANA__NONE ? 0 : model->nested[scope].first_layer;
    size_t end = scope == LIANA__NONE ? model->num_layers : begin + model->nested[scope].num_layers;
    size_t layer = *next < begin ? begin : *next;
    if (layer >= end) return false;
    *item = (liana__scope_item){.index = layer};
    *next = layer + 1;
    for (size_t i = 0; model->layers[layer].within != scope && i < model->num_nested; i++) {
        if (model->nested[i].within != scope || model->nested[i].first_layer != layer) continue;
        *item = (liana__scope_item){true, i};
        *next = layer + model->nested[i].num_layers;
        break;
    }
    return true;
}

const char *liana__scope_item_name(const liana_model *model, liana__scope_item item)
{
    const char *name = item.is_nested ? model->nested[item.index].name : model->layers[item.index].name;
    size_t scope = item.is_nested ? model->nested[item.index].within : model->layers[item.index].within;
    return scope == LIANA__NONE ? name : name + strlen(model->nested[scope].name) + 1;
}

/* The use of a scope by which it is described: the first. */
static size_t first_use(const liana_model *model, size_t scope)
{
    for (size_t i = 0; scope != LIANA__NONE && i < model->num_uses; i++) {
        if (model->uses[i].nested == scope) return i;
    }
    return LIANA__NONE;
}

/* A node as seen in a use: a layer's own, or an output of a nested model. */
static liana__scope_result result_of(const liana_model *model, size_t use, size_t node)
{
    const liana__layer_node *own = &model->nodes[node];
    size_t within = own->within;
    if (within == use) return (liana__scope_result){{false, own->layer}, own->number, own->output};
    while (model->uses[within].within != use) within = model->uses[within].within;
    const liana__nested_use *inner = &model->uses[within];
    const liana__nested *nested = &model->nested[inner->nested];
    size_t output = 0;
    while (output + 1 < nested->num_outputs && inner->first_node + nested->outputs[output] != node) output++;
    return (liana__scope_result){{true, inner->nested}, inner->number, output};
}

size_t liana__scope_num_calls(const liana_model *model, size_t scope, liana__scope_item item)
{
    size_t use = first_use(model, scope), count = 0;
    for (size_t i = 0; item.is_nested && i < model->num_uses; i++) {
        count += model->uses[i].nested == item.index && model->uses[i].within == use;
    }
    /* Layers stand in the order of their first nodes, so that none of a layer's stands before its own number. */
    const size_t all = item.is_nested ? 0 : model->layers[item.index].num_nodes;
    for (size_t i = item.index, met = 0; met < all; i++) {
        const liana__layer_node *node = &model->nodes[i];
        if (node->layer != item.index || node->output != 0) continue;
        met++;
        count += node->within == use;
    }
    return count;
}

/* The node of a layer's call. The first use of a scope has the first calls. */
static const liana__layer_node *find_node(const liana_model *model, size_t layer, size_t number)
{
    size_t node = layer;
    while (model->nodes[node].layer != layer || model->nodes[node].number != number) node++;
    return &model->nodes[node];
}

/* The use of a nested model by number. */
static const liana__nested_use *find_use(const liana_model *model, size_t nested, size_t number)
{
    size_t use = 0;
    while (model->uses[use].nested != nested || model->uses[use].number != number) use++;
    return &model->uses[use];
}

const liana__layer_node *liana__scope_result_node(const liana_model *model, const liana__scope_result *result)
{
    const size_t index = result->item.index;
    if (!result->item.is_nested) return find_node(model, index, result->number) + result->output;
    return &model->nodes[find_use(model, index, result->number)->first_node +
                         model->nested[index].outputs[result->output]];
}

size_t liana__scope_inputs(const liana_model *model, size_t scope, liana__scope_item item, size_t number,
                           liana__scope_result inputs[LIANA_MAX_LAYER_INPUTS])
{
    size_t use = first_use(model, scope);
    if (!item.is_nested) {
        const liana__layer_node *node = find_node(model, item.index, number);
        bool is_scope_input = model->layers[item.index].type->max_inputs == 0;
        for (size_t i = 0; !is_scope_input && i < node->num_inputs; i++) {
            inputs[i] = result_of(model, use, node->inputs[i]);
        }
        return is_scope_input ? 0 : node->num_inputs;
    }
    const liana__nested *nested = &model->nested[item.index];
    const size_t first_node = find_use(model, item.index, number)->first_node;
    for (size_t i = 0; i < nested->num_inputs; i++) {
        const liana__layer_node *input = &model->nodes[first_node + nested->inputs[i]];
        inputs[i] = result_of(model, use, input->inputs[0]);
    }
    return nested->num_inputs;
}

size_t liana__scope_outputs(const liana_model *model, size_t scope,
                            liana__scope_result outputs[LIANA_MAX_MODEL_OUTPUTS])
{
    size_t use = first_use(model, scope);
    size_t count = scope == LIANA__NONE ? liana__model_num_outputs(model) : model->nested[scope].num_outputs;
    for (size_t i = 0; i < count; i++) {
        size_t node = scope == LIANA__NONE ? liana__model_output_node(model, i)
                                           : model->uses[use].first_node + model->nested[scope].outputs[i];
        outputs[i] = result_of(model, use, node);
    }
    return count;
}

size_t liana__scope_own_inputs(const liana_model *model, size_t scope,
                               liana__scope_result inputs[LIANA_MAX_LAYER_INPUTS])
{
    size_t use = first_use(model, scope);
    size_t count = scope == LIANA__NONE ? model->num_inputs : model->nested[scope].num_inputs;
    for (size_t i = 0; i < count; i++) {
        size_t node =
            scope == LIANA__NONE ? model->inputs[i] : model->uses[use].first_node + model->nested[scope].inputs[i];
        inputs[i] = result_of(model, use, node);
    }
    return count;
}

bool liana__scope_item_infers(const liana_model *model, liana__scope_item item)
{
    return item.is_nested ? model->nested[item.index].inference : model->layers[item.index].inference;
}

static bool same_item(liana__scope_item a, liana__scope_item b)
{
    return a.is_nested == b.is_nested && a.index == b.index;
}

static bool has_several_results(const liana_model *model, liana__scope_item item)
{
    size_t node = 0;
    if (item.is_nested) return false;
    while (model->nodes[node].layer != item.index) node++;
    return model->nodes[node].num_outputs > 1;
}

bool liana__scope_is_sequential(const liana_model *model, size_t scope)
{
    liana__scope_result results[LIANA_MAX_LAYER_INPUTS];
    liana__scope_item item, before = {.index = LIANA__NONE};
    for (size_t next = 0, position = 0; liana__scope_next(model, scope, &next, &item); position++) {
        size_t count = liana__scope_num_calls(model, scope, item);
        /* These are said of calls, which it does not list. */
        if (count != 1 || liana__scope_item_infers(model, item) || has_several_results(model, item)) return false;
        if (!item.is_nested && liana__layer_calls_have_options(model->layers[item.index].type)) return false;
        size_t num_inputs = liana__scope_inputs(model, scope, item, 0, results);
        if (num_inputs != (position > 0)) return false;
        if (position && (!same_item(results[0].item, before) || results[0].output != 0)) return false;
        before = item;
    }
    liana__scope_result outputs[LIANA_MAX_MODEL_OUTPUTS];
    if (before.index == LIANA__NONE) return true;
    if (liana__scope_outputs(model, scope, outputs) != 1) return false;
    return same_item(outputs[0].item, before) && outputs[0].output == 0;
}

bool liana__model_is_sequential(const liana_model *model)
{
    return liana__scope_is_sequential(model, LIANA__NONE);
}

const char *liana__model_name(const liana_model *model)
{
    return model->name ? model->name : liana__model_is_sequential(model) ? "sequential" : "model";
}
