/* liana__model_to_keras: the architecture in the form of Keras 2's model.to_json(). */
#include "layers/activations.h"
#include "layers/model.h"

#include <string.h>

static liana__value *list_of(liana__arena *arena, liana__value *item)
{
    liana__value *list = liana__value_list(arena);
    if (list) liana__value_add(arena, list, item);
    return list;
}

/* [name, call, output]. */
static liana__value *write_reference(liana__arena *arena, const liana_model *model, const liana__scope_result *result)
{
    liana__value *list = list_of(arena, liana__value_string(arena, liana__scope_item_name(model, result->item)));
    if (!list) return NULL;
    liana__value_add(arena, list, liana__value_int(arena, (int64_t)result->number));
    liana__value_add(arena, list, liana__value_int(arena, (int64_t)result->output));
    return list;
}

/* The object of an initialiser, regulariser or constraint; NULL: the option is of another kind, or out of memory. */
static liana__value *write_text(const liana_context *context, liana__arena *arena, const char *key, const char *text)
{
    if (liana__ends_with(key, "_initializer")) return liana__initializer_to_keras(context, arena, text);
    if (liana__ends_with(key, "_regularizer"))
        return liana__call_text_to_keras(arena, text, &liana__regularizer_kind, context);
    return liana__ends_with(key, "_constraint")
               ? liana__call_text_to_keras(arena, text, &liana__constraint_kind, context)
               : NULL;
}

/* Whether a layer has the hard_sigmoid of this name. */
static bool has_activation(const liana__layer *layer, const char *name)
{
    const char *own = liana__layer_option_text(layer, "activation");
    return own && strcmp(own, name) == 0;
}

/* Whether names must have their meaning of Keras 3: only hard_sigmoid differs. */
static bool needs_keras3(const liana_model *model)
{
    for (size_t i = 0; i < model->num_layers; i++) {
        if (has_activation(&model->layers[i], "hard_sigmoid")) return true;
    }
    return false;
}

/* Options that the tables keep as text become objects; no activation becomes "linear". */
static void write_texts(const liana_context *context, liana__arena *arena, liana__value *config)
{
    for (size_t i = 0; i < config->count; i++) {
        liana__value *item = config->items[i];
        liana__value *made =
            item->kind == LIANA__VALUE_STRING ? write_text(context, arena, config->keys[i], item->string) : NULL;
        if (made) {
            liana__value_set(arena, config, config->keys[i], made);
        } else if (strcmp(config->keys[i], "activation") == 0 && item->kind == LIANA__VALUE_NULL) {
            liana__value_set(arena, config, config->keys[i], liana__value_string(arena, "linear"));
        }
    }
}

static liana__value *layer_config(liana__arena *arena, const liana_model *model, const liana__layer *layer,
                                  const char *name)
{
    liana__value *config = liana__value_map(arena);
    liana__value *options = liana__fields_write(&layer->type->part.options, arena, layer->options);
    if (!config || !options) return NULL;
    liana__value_set(arena, config, "name", liana__value_string(arena, name));
    liana__value_set(arena, config, "trainable", liana__value_bool(arena, layer->trainable));
    liana__value_set(arena, config, "dtype", liana__value_string(arena, "float32"));
    for (size_t i = 0; i < options->count; i++) {
        liana__value_set(arena, config, options->keys[i], options->items[i]); /* an InputLayer has a dtype of its own */
    }
    if (layer->type->has_data_format) {
        liana__value_set(arena, config, "data_format", liana__value_string(arena, "channels_last"));
    }
    write_texts(model->context, arena, config);
    if (has_activation(layer, LIANA__HARD_SIGMOID_KERAS2) && !needs_keras3(model)) {
        liana__value_set(arena, config, "activation", liana__value_string(arena, "hard_sigmoid"));
    }
    if (layer->type->to_keras) layer->type->to_keras(arena, layer->options, config);
    return config;
}

/* The arguments of a call without its inputs. */
static liana__value *call_arguments(liana__arena *arena, const liana_model *model, liana__scope_item item)
{
    liana__value *arguments = liana__value_map(arena);
    if (arguments && liana__scope_item_infers(model, item)) {
        liana__value_set(arena, arguments, "training", liana__value_bool(arena, false));
    }
    return arguments;
}

/* [[[name, 0, 0, {}], ...], ...]: for each call, its inputs; the first one has the call's arguments. */
static liana__value *inbound_nodes(liana__arena *arena, const liana_model *model, size_t scope, liana__scope_item item)
{
    liana__value *nodes = liana__value_list(arena);
    size_t calls = liana__scope_num_calls(model, scope, item);
    for (size_t call = 0; nodes && call < calls; call++) {
        liana__scope_result inputs[LIANA_MAX_LAYER_INPUTS];
        size_t count = liana__scope_inputs(model, scope, item, call, inputs);
        liana__value *node = liana__value_list(arena);
        if (!node) return NULL;
        for (size_t i = 0; i < count; i++) {
            liana__value *reference = write_reference(arena, model, &inputs[i]);
            if (!reference) return NULL;
            liana__value_add(arena, reference, i ? liana__value_map(arena) : call_arguments(arena, model, item));
            liana__value_add(arena, node, reference);
        }
        if (count) liana__value_add(arena, nodes, node);
    }
    return nodes;
}

static liana__value *list_results(liana__arena *arena, const liana_model *model, const liana__scope_result *results,
                                  size_t count)
{
    liana__value *list = liana__value_list(arena);
    for (size_t i = 0; list && i < count; i++) {
        liana__value_add(arena, list, write_reference(arena, model, &results[i]));
    }
    return list;
}

/* Keras names outputs as their layers. Names of the user's own make a map of them. */
static liana__value *write_outputs(liana__arena *arena, const liana_model *model, size_t scope)
{
    liana__scope_result results[LIANA_MAX_MODEL_OUTPUTS];
    size_t count = liana__scope_outputs(model, scope, results);
    liana__value *list = list_results(arena, model, results, count), *map = liana__value_map(arena);
    bool has_names = false;
    for (size_t i = 0; map && list && i < count; i++) {
        const char *name =
            scope == LIANA__NONE ? liana__model_output(model, i).name : model->nested[scope].output_names[i];
        const char *layer = liana__scope_item_name(model, results[i].item);
        size_t length = strlen(layer);
        /* "dense", or "dense_1" where a layer has several outputs. */
        bool usual = strncmp(name, layer, length) == 0 &&
                     (!name[length] ||
                      (name[length] == '_' && strspn(name + length + 1, "0123456789") == strlen(name + length + 1)));
        has_names = has_names || !usual;
        liana__value_set(arena, map, name, list->items[i]);
    }
    return has_names ? map : list;
}

static liana__value *write_scope(liana__arena *arena, const liana_model *model, size_t scope, const char *name);

static bool scope_is_functional(const liana_model *model, size_t scope)
{
    bool said = scope == LIANA__NONE ? model->functional : model->nested[scope].functional;
    return said || !liana__scope_is_sequential(model, scope);
}

static liana__value *write_item(liana__arena *arena, const liana_model *model, size_t scope, liana__scope_item item,
                                bool functional)
{
    liana__value *map = liana__value_map(arena);
    if (!map) return NULL;
    const char *name = liana__scope_item_name(model, item), *class_name;
    liana__value *config;
    if (item.is_nested) {
        class_name = scope_is_functional(model, item.index) ? "Functional" : "Sequential";
        config = write_scope(arena, model, item.index, name);
    } else {
        class_name = model->layers[item.index].type->part.name;
        config = layer_config(arena, model, &model->layers[item.index], name);
    }
    liana__value_set(arena, map, "class_name", liana__value_string(arena, class_name));
    liana__value_set(arena, map, "config", config);
    if (!functional) return map;
    liana__value_set(arena, map, "name", liana__value_string(arena, name));
    liana__value_set(arena, map, "inbound_nodes", inbound_nodes(arena, model, scope, item));
    return map;
}

/* The config of a Sequential or Functional model. */
static liana__value *write_scope(liana__arena *arena, const liana_model *model, size_t scope, const char *name)
{
    bool functional = scope_is_functional(model, scope);
    liana__value *config = liana__value_map(arena), *layers = liana__value_list(arena);
    if (!config || !layers) return NULL;
    liana__scope_item item;
    for (size_t next = 0; liana__scope_next(model, scope, &next, &item);) {
        liana__value_add(arena, layers, write_item(arena, model, scope, item, functional));
    }
    liana__value_set(arena, config, "name", liana__value_string(arena, name));
    liana__value_set(arena, config, "layers", layers);
    if (functional && model->num_nodes) {
        liana__scope_result inputs[LIANA_MAX_LAYER_INPUTS];
        size_t count = liana__scope_own_inputs(model, scope, inputs);
        liana__value_set(arena, config, "input_layers", list_results(arena, model, inputs, count));
        liana__value_set(arena, config, "output_layers", write_outputs(arena, model, scope));
    }
    return config;
}

liana__value *liana__model_to_keras(const liana_model *model, liana__arena *arena)
{
    bool functional = scope_is_functional(model, LIANA__NONE);
    liana__value *root = liana__value_map(arena);
    if (!root) return NULL;
    liana__value_set(arena, root, "class_name", liana__value_string(arena, functional ? "Functional" : "Sequential"));
    liana__value_set(arena, root, "config", write_scope(arena, model, LIANA__NONE, liana__model_name(model)));
    /* The version whose form this is, or whose names: Keras 3 reads the form of Keras 2 too. Where both kinds of
     * hard_sigmoid are there, that of Keras 2 keeps liana's name for it, which Keras refuses. */
    const char *version = needs_keras3(model) ? "3.0.0" : "2.15.0";
    liana__value_set(arena, root, "keras_version", liana__value_string(arena, version));
    liana__value_set(arena, root, "backend", liana__value_string(arena, "tensorflow"));
    return arena->failed ? NULL : root;
}
