/* Removes what leads to no output: files of other programs may compute more than they give. */
#include "layers/model.h"

#include "base/scoped.h"

#include <string.h>

/* Where things went; LIANA__NONE: nowhere. */
typedef struct moves {
    size_t *nodes, *layers, *weights;
} moves;

/* Marks what the nodes need: nodes[i] is 0 for it, LIANA__NONE for others. Inputs of the model stay. */
static void mark_needed(const liana_model *model, const size_t *outputs, size_t count, size_t *nodes)
{
    for (size_t i = 0; i < model->num_nodes; i++) nodes[i] = model->nodes[i].num_inputs ? LIANA__NONE : 0;
    for (size_t i = 0; i < count; i++) nodes[outputs[i]] = 0;
    for (size_t i = model->num_nodes; i-- > 0;) {
        for (size_t k = 0; nodes[i] == 0 && k < model->nodes[i].num_inputs; k++) nodes[model->nodes[i].inputs[k]] = 0;
    }
    /* The results of a call stay together. */
    for (size_t i = 0; i < model->num_nodes; i++) {
        if (model->nodes[i].output) nodes[i] = nodes[i - model->nodes[i].output];
    }
}

/* Layers stand in the order of their first nodes, weights in that of the layers. */
static void number_all(const liana_model *model, moves *to)
{
    size_t node = 0, layer = 0, weight = 0;
    for (size_t i = 0; i < model->num_layers; i++) to->layers[i] = LIANA__NONE;
    for (size_t i = 0; i < model->num_weights; i++) to->weights[i] = LIANA__NO_WEIGHT;
    for (size_t i = 0; i < model->num_nodes; i++) {
        if (to->nodes[i] == LIANA__NONE) continue;
        const liana__layer *own = &model->layers[model->nodes[i].layer];
        to->nodes[i] = node++;
        if (to->layers[model->nodes[i].layer] != LIANA__NONE) continue;
        to->layers[model->nodes[i].layer] = layer++;
        for (size_t k = 0; k < own->num_weights; k++) to->weights[own->first_weight + k] = weight++;
    }
}

/* Nodes move towards the beginning, so each goes to where nothing is left. */
static void move_nodes(liana_model *model, const moves *to)
{
    size_t count = 0;
    for (size_t i = 0; i < model->num_nodes; i++) {
        if (to->nodes[i] == LIANA__NONE) continue;
        liana__layer_node *node = &model->nodes[count++];
        *node = model->nodes[i];
        node->layer = to->layers[node->layer];
        for (size_t k = 0; k < node->num_inputs; k++) node->inputs[k] = to->nodes[node->inputs[k]];
    }
    model->num_nodes = count;
    for (size_t i = 0; i < model->num_inputs; i++) model->inputs[i] = to->nodes[model->inputs[i]];
}

static void move_layers(liana_model *model, const moves *to, liana__layer *room)
{
    size_t count = 0;
    for (size_t i = 0; i < model->num_layers; i++) {
        if (to->layers[i] == LIANA__NONE) continue;
        liana__layer *layer = &room[to->layers[i]];
        *layer = model->layers[i];
        layer->num_nodes = 0;
        if (layer->num_weights) layer->first_weight = to->weights[layer->first_weight];
        count++;
    }
    if (count) memcpy(model->layers, room, count * sizeof *room);
    model->num_layers = count;
    for (size_t i = 0; i < model->num_nodes; i++) {
        liana__layer_node *node = &model->nodes[i];
        liana__layer *layer = &model->layers[node->layer];
        node->number = node->output ? node[-1].number : layer->num_nodes++;
    }
}

static void move_weights(liana_model *model, const moves *to, liana__weight *room)
{
    size_t count = 0;
    for (size_t i = 0; i < model->num_weights; i++) {
        if (to->weights[i] == LIANA__NO_WEIGHT) continue;
        liana__weight *weight = &room[to->weights[i]];
        *weight = model->weights[i];
        weight->layer = to->layers[weight->layer];
        if (weight->begins_as != LIANA__NO_WEIGHT) weight->begins_as = to->weights[weight->begins_as];
        count++;
    }
    if (count) memcpy(model->weights, room, count * sizeof *room);
    model->num_weights = count;
}

liana_status liana__model_drop_unread(liana_model *model, size_t *outputs, size_t count, size_t *layers,
                                      liana__error *error)
{
    LIANA__SCOPED_MEMORY size_t *nodes = malloc((model->num_nodes + 1) * sizeof *nodes);
    LIANA__SCOPED_MEMORY size_t *weights = malloc((model->num_weights + 1) * sizeof *weights);
    LIANA__SCOPED_MEMORY liana__layer *layer_room = malloc((model->num_layers + 1) * sizeof *layer_room);
    LIANA__SCOPED_MEMORY liana__weight *weight_room = malloc((model->num_weights + 1) * sizeof *weight_room);
    if (!nodes || !weights || !layer_room || !weight_room) return liana__fail_memory(error, "a model");
    moves to = {nodes, layers, weights};
    mark_needed(model, outputs, count, nodes);
    number_all(model, &to);
    for (size_t i = 0; i < count; i++) outputs[i] = nodes[outputs[i]];
    move_nodes(model, &to);
    move_layers(model, &to, layer_room);
    move_weights(model, &to, weight_room);
    model->structure_version++;
    return LIANA_OK;
}
