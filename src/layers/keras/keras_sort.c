/* Puts layers that were just added into Keras's order. */
#include "layers/model.h"

#include "base/scoped.h"

#include <string.h>

/* Where each thing of the part that is sorted goes; counted from the part's begin. */
typedef struct part {
    liana_model *model;
    size_t first_layer, first_node, first_weight;
    size_t count; /* of layers, and of nodes */
    size_t num_weights;
    size_t *places; /* of layers and of nodes */
    size_t *weight_places;
    liana__layer *layers;
    liana__layer_node *nodes;
    liana__weight *weights;
} part;

/* Whether each layer has one node, in the order of the layers. */
static bool is_plain(const part *own)
{
    const liana_model *model = own->model;
    if (model->num_nodes - own->first_node != own->count) return false;
    for (size_t i = 0; i < own->count; i++) {
        const liana__layer *layer = &model->layers[own->first_layer + i];
        const liana__layer_node *node = &model->nodes[own->first_node + i];
        const bool plain = layer->type->call && layer->within == LIANA__NONE && node->within == LIANA__NONE;
        if (!plain || node->layer != own->first_layer + i || layer->num_nodes != 1) return false;
    }
    return true;
}

static bool allocate(part *own, liana__arena *arena)
{
    const liana_model *model = own->model;
    own->places = liana__arena_allocate(arena, (own->count + 1) * sizeof *own->places);
    own->weight_places = liana__arena_allocate(arena, (own->num_weights + 1) * sizeof *own->weight_places);
    own->layers = liana__arena_copy(arena, model->layers + own->first_layer, own->count * sizeof *own->layers);
    own->nodes = liana__arena_copy(arena, model->nodes + own->first_node, own->count * sizeof *own->nodes);
    own->weights = own->num_weights ? liana__arena_copy(arena, model->weights + own->first_weight,
                                                        own->num_weights * sizeof *own->weights)
                                    : NULL;
    return !arena->failed;
}

/* Fills the places. False: Keras's order is the one that there is. */
static bool find_places(part *own, const liana__scope_item *items, size_t num_items)
{
    bool moves = false;
    size_t place = 0, weight = 0;
    for (size_t i = 0; i < num_items; i++) {
        if (items[i].is_nested || items[i].index < own->first_layer) continue;
        const size_t from = items[i].index - own->first_layer;
        const liana__layer *layer = &own->layers[from];
        moves = moves || from != place;
        own->places[from] = place++;
        for (size_t k = 0; k < layer->num_weights; k++) {
            own->weight_places[layer->first_weight + k - own->first_weight] = weight++;
        }
    }
    return moves;
}

static void move_weights(const part *own)
{
    for (size_t i = 0; i < own->num_weights; i++) {
        liana__weight moved = own->weights[i];
        moved.layer = own->first_layer + own->places[moved.layer - own->first_layer];
        if (moved.begins_as != LIANA__NO_WEIGHT) {
            moved.begins_as = own->first_weight + own->weight_places[moved.begins_as - own->first_weight];
        }
        own->model->weights[own->first_weight + own->weight_places[i]] = moved;
    }
}

static void move_layers(const part *own)
{
    for (size_t i = 0; i < own->count; i++) {
        liana__layer moved = own->layers[i];
        liana__layer_node node = own->nodes[i];
        if (moved.num_weights) {
            moved.first_weight = own->first_weight + own->weight_places[moved.first_weight - own->first_weight];
        }
        node.layer = own->first_layer + own->places[i];
        for (size_t k = 0; k < node.num_inputs; k++) {
            if (node.inputs[k] < own->first_node) continue;
            node.inputs[k] = own->first_node + own->places[node.inputs[k] - own->first_node];
        }
        own->model->layers[own->first_layer + own->places[i]] = moved;
        own->model->nodes[own->first_node + own->places[i]] = node;
    }
    /* A layer without weights stands where the next one's begin. */
    size_t next = own->model->num_weights;
    for (size_t i = own->model->num_layers; i-- > own->first_layer;) {
        liana__layer *layer = &own->model->layers[i];
        if (!layer->num_weights) layer->first_weight = next;
        next = layer->first_weight;
    }
}

liana_status liana__keras_sort(liana_model *model, size_t first_layer, size_t first_node, liana__error *error)
{
    if (first_layer >= model->num_layers) return LIANA_OK;
    LIANA__SCOPED(liana__arena) arena = {0};
    part own = {.model = model,
                .first_layer = first_layer,
                .first_node = first_node,
                .first_weight = model->layers[first_layer].first_weight,
                .count = model->num_layers - first_layer};
    own.num_weights = model->num_weights - own.first_weight;
    if (!is_plain(&own)) return LIANA_OK;
    liana__scope_item *items;
    size_t num_items;
    LIANA_TRY(liana__keras_order(model, LIANA__NONE, &arena, &items, &num_items, error));
    if (!allocate(&own, &arena)) return liana__fail_memory(error, "the order of layers");
    if (!find_places(&own, items, num_items)) return LIANA_OK;
    move_weights(&own);
    move_layers(&own);
    model->structure_version++;
    return LIANA_OK;
}
