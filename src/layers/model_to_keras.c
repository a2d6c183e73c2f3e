/* liana__model_to_keras: the architecture in the form of Keras 2's model.to_json(). */
#include "layers/model.h"

#include <string.h>

static liana__value *list_of(liana__arena *arena, liana__value *item)
{
    liana__value *list = liana__value_list(arena);
    if (list) liana__value_add(arena, list, item);
    return list;
}

/* [name, 0, 0]: the first result of the first use of a layer. */
static liana__value *layer_reference(liana__arena *arena, const char *name)
{
    liana__value *list = list_of(arena, liana__value_string(arena, name));
    if (!list) return NULL;
    liana__value_add(arena, list, liana__value_int(arena, 0));
    liana__value_add(arena, list, liana__value_int(arena, 0));
    return list;
}

/* Options that the tables keep as text: initialisers become objects, no activation becomes "linear". */
static void write_texts(liana__arena *arena, liana__value *config)
{
    for (size_t i = 0; i < config->count; i++) {
        liana__value *item = config->items[i];
        if (liana__ends_with(config->keys[i], "_initializer") && item->kind == LIANA__VALUE_STRING) {
            liana__value_set(arena, config, config->keys[i], liana__initializer_to_keras(arena, item->string));
        } else if (strcmp(config->keys[i], "activation") == 0 && item->kind == LIANA__VALUE_NULL) {
            liana__value_set(arena, config, config->keys[i], liana__value_string(arena, "linear"));
        }
    }
}

static liana__value *layer_config(liana__arena *arena, const liana__layer *layer)
{
    liana__value *config = liana__value_map(arena);
    liana__value *options = liana__fields_write(layer->type->options, arena, layer->options);
    if (!config || !options) return NULL;
    liana__value_set(arena, config, "name", liana__value_string(arena, layer->name));
    liana__value_set(arena, config, "trainable", liana__value_bool(arena, layer->trainable));
    liana__value_set(arena, config, "dtype", liana__value_string(arena, "float32"));
    for (size_t i = 0; i < options->count; i++) {
        liana__value_append(arena, config, options->keys[i], NULL, options->items[i]);
    }
    if (layer->type->has_data_format) {
        liana__value_set(arena, config, "data_format", liana__value_string(arena, "channels_last"));
    }
    write_texts(arena, config);
    if (layer->type->to_keras) layer->type->to_keras(arena, layer->options, config);
    return config;
}

/* [[[name, 0, 0, {}], ...]]: one use, of all inputs. */
static liana__value *inbound_nodes(liana__arena *arena, const liana_model *model, const liana__layer *layer)
{
    liana__value *nodes = liana__value_list(arena), *node = liana__value_list(arena);
    if (!nodes || !node || layer->num_inputs == 0) return nodes;
    for (size_t i = 0; i < layer->num_inputs; i++) {
        liana__value *reference = layer_reference(arena, model->layers[layer->inputs[i]].name);
        if (!reference) return NULL;
        liana__value_add(arena, reference, liana__value_map(arena));
        liana__value_add(arena, node, reference);
    }
    liana__value_add(arena, nodes, node);
    return nodes;
}

static liana__value *write_layer(liana__arena *arena, const liana_model *model, const liana__layer *layer,
                                 bool functional)
{
    liana__value *map = liana__value_map(arena);
    if (!map) return NULL;
    liana__value_set(arena, map, "class_name", liana__value_string(arena, layer->type->name));
    liana__value_set(arena, map, "config", layer_config(arena, layer));
    if (!functional) return map;
    liana__value_set(arena, map, "name", liana__value_string(arena, layer->name));
    liana__value_set(arena, map, "inbound_nodes", inbound_nodes(arena, model, layer));
    return map;
}

liana__value *liana__model_to_keras(const liana_model *model, liana__arena *arena)
{
    bool functional = model->functional || !liana__model_is_sequential(model);
    liana__value *root = liana__value_map(arena), *config = liana__value_map(arena);
    liana__value *layers = liana__value_list(arena);
    if (!root || !config || !layers) return NULL;
    for (size_t i = 0; i < model->num_layers; i++) {
        liana__value_add(arena, layers, write_layer(arena, model, &model->layers[i], functional));
    }
    liana__value_set(arena, config, "name", liana__value_string(arena, liana__model_name(model)));
    liana__value_set(arena, config, "layers", layers);
    if (functional && model->num_layers) {
        const char *input = model->layers[0].name, *output = model->layers[model->num_layers - 1].name;
        liana__value_set(arena, config, "input_layers", list_of(arena, layer_reference(arena, input)));
        liana__value_set(arena, config, "output_layers", list_of(arena, layer_reference(arena, output)));
    }
    liana__value_set(arena, root, "class_name", liana__value_string(arena, functional ? "Functional" : "Sequential"));
    liana__value_set(arena, root, "config", config);
    /* The version whose form this is. */
    liana__value_set(arena, root, "keras_version", liana__value_string(arena, "2.15.0"));
    liana__value_set(arena, root, "backend", liana__value_string(arena, "tensorflow"));
    return arena->failed ? NULL : root;
}
