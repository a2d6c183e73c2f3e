/* liana__model_to_keras: the architecture in the form of model.to_json() of Keras 3 or Keras 2. */
#include "layers/keras/keras_activation.h"
#include "layers/keras/keras_call.h"
#include "layers/keras/keras_classes.h"
#include "layers/keras/keras_form.h"
#include "layers/keras/keras_older.h"
#include "layers/keras/tfjs_form.h"
#include "layers/model.h"
#include "layers/operation/operation.h"

#include <liana/layers/core.h>
#include <liana/layers/normalization.h>
#include <liana/layers/operation.h>

#include <string.h>

typedef struct writer {
    const liana_model *model;
    liana__keras_form form;
    liana__arena *arena;
} writer;

static void set_text(const writer *w, liana__value *map, const char *key, const char *text)
{
    liana__value_set(w->arena, map, key, text ? liana__value_string(w->arena, text) : liana__value_null(w->arena));
}

/* {module, class_name, config, registered_name}; Keras 2 has class_name and config. `module` NULL: the class is a
 * program's own, which Keras finds by its registered name. */
static liana__value *write_object(const writer *w, const char *module, const char *class_name, const char *registered,
                                  liana__value *config)
{
    liana__value *map = liana__value_map(w->arena);
    if (!map) return NULL;
    if (w->form == LIANA__KERAS3) set_text(w, map, "module", module);
    set_text(w, map, "class_name", class_name);
    liana__value_set(w->arena, map, "config", config);
    if (w->form == LIANA__KERAS3) set_text(w, map, "registered_name", registered);
    return map;
}

/* ---- results ---- */

/* Keras 3 numbers the outputs of a nested model in the order of their names, if they have any. */
static size_t output_number(const writer *w, const liana__scope_result *result)
{
    if (w->form != LIANA__KERAS3 || !result->item.is_nested) return result->output;
    const liana__nested *nested = &w->model->nested[result->item.index];
    if (!liana__keras_names_outputs(w->model, result->item.index)) return result->output;
    size_t before = 0;
    for (size_t i = 0; i < nested->num_outputs; i++) {
        before += strcmp(nested->output_names[i], nested->output_names[result->output]) < 0;
    }
    return before;
}

static size_t scope_of(const writer *w, liana__scope_item item)
{
    return item.is_nested ? w->model->nested[item.index].within : w->model->layers[item.index].within;
}

/* [name, call, output]. For Keras 2 a nested model has a call 0 of its own, on its InputLayers. Keras 3 counts so only
 * in its list of outputs (`of_model`), and only for a Functional. */
static liana__value *write_reference(const writer *w, const liana__scope_result *result, bool of_model)
{
    const liana__scope_item item = result->item;
    bool shifted =
        item.is_nested && (w->form != LIANA__KERAS3 || (of_model && liana__keras_is_functional(w->model, item.index)));
    liana__value *list = liana__value_list(w->arena);
    if (!list) return NULL;
    const char *name = liana__keras_item_name(w->model, scope_of(w, item), item, w->form, w->arena);
    liana__value_add(w->arena, list, name ? liana__value_string(w->arena, name) : NULL);
    liana__value_add(w->arena, list, liana__value_int(w->arena, (int64_t)result->number + shifted));
    liana__value_add(w->arena, list, liana__value_int(w->arena, (int64_t)output_number(w, result)));
    return list;
}

static liana__value *list_results(const writer *w, const liana__scope_result *results, size_t count)
{
    liana__value *list = liana__value_list(w->arena);
    for (size_t i = 0; list && i < count; i++) liana__value_add(w->arena, list, write_reference(w, &results[i], true));
    return list;
}

/* In the order in which Keras 3 numbers the outputs of a nested model. */
static liana__value *sort_map(const writer *w, const liana__value *map)
{
    liana__value *sorted = liana__value_map(w->arena);
    const char *last = NULL;
    for (size_t i = 0; sorted && i < map->count; i++) {
        const size_t key = liana__keras_next_key(map, last);
        last = map->keys[key];
        liana__value_set(w->arena, sorted, last, map->items[key]);
    }
    return sorted;
}

/* Keras names outputs as their layers. Names of the user's own make a map of them. */
static liana__value *write_outputs(const writer *w, size_t scope)
{
    liana__scope_result results[LIANA_MAX_MODEL_OUTPUTS];
    size_t count = liana__scope_outputs(w->model, scope, results);
    liana__value *list = list_results(w, results, count), *map = liana__value_map(w->arena);
    if (!list || !map || !liana__keras_names_outputs(w->model, scope)) return list;
    for (size_t i = 0; i < list->count; i++) {
        liana__value_set(w->arena, map, liana__keras_output_name(w->model, scope, i), list->items[i]);
    }
    return w->form == LIANA__KERAS3 && scope != LIANA__NONE ? sort_map(w, map) : map;
}

/* ---- a layer's config ---- */

/* The object of an initialiser, regulariser or constraint; NULL: the option is of another kind, or out of memory. */
static liana__value *write_text(const writer *w, const char *key, const char *text)
{
    const liana_context *context = w->model->context;
    const liana__keras_kind *kind = liana__keras_kind_of(key);
    if (!kind || kind->kind == &liana__activation_kind) return NULL;
    liana__value *map = kind->kind == &liana__initializer_kind
                            ? liana__initializer_to_keras(context, w->arena, text)
                            : liana__call_text_to_keras(w->arena, text, kind->kind, context);
    if (!map) return NULL;
    const char *class_name = map->items[0]->string;
    bool own = liana__keras_is_own(kind->kind, text);
    return write_object(w, own ? NULL : kind->module, class_name, own ? class_name : NULL, map->items[1]);
}

/* No activation becomes "linear". One that the form has no word for was refused (keras_form.c), or stays as it is. */
static liana__value *write_activation(const writer *w, liana__value *item)
{
    const char *why;
    if (item->kind != LIANA__VALUE_STRING) return liana__value_string(w->arena, "linear");
    liana__value *made = liana__activation_to_keras(w->model->context, w->arena, item->string, w->form, &why);
    return made ? made : item;
}

/* Options that the tables keep as text become objects. */
static void write_texts(const writer *w, liana__value *config)
{
    for (size_t i = 0; i < config->count; i++) {
        liana__value *item = config->items[i];
        if (strcmp(config->keys[i], "activation") == 0 || strcmp(config->keys[i], "recurrent_activation") == 0) {
            liana__value_set(w->arena, config, config->keys[i], write_activation(w, item));
            continue;
        }
        liana__value *made = item->kind == LIANA__VALUE_STRING ? write_text(w, config->keys[i], item->string) : NULL;
        if (made) liana__value_set(w->arena, config, config->keys[i], made);
    }
}

static liana__value *write_dtype(const writer *w)
{
    static const char *const names[] = {[LIANA_FLOAT32] = "float32", [LIANA_MIXED_BFLOAT16] = "mixed_bfloat16"};
    bool known = w->model->precision == LIANA_MIXED_BFLOAT16;
    const char *name = names[known ? LIANA_MIXED_BFLOAT16 : LIANA_FLOAT32];
    if (w->form != LIANA__KERAS3) return liana__value_string(w->arena, "float32");
    liana__value *config = liana__value_map(w->arena);
    if (config) set_text(w, config, "name", name);
    return write_object(w, "keras", "DTypePolicy", NULL, config);
}

/* Keras 2's config of an InputLayer as Keras 3 has it. */
static void rename_input_shape(const writer *w, liana__value *config)
{
    const liana__value *shape = liana__value_get(config, "batch_input_shape");
    if (w->form != LIANA__KERAS3 || !shape) return;
    liana__value_set(w->arena, config, "batch_shape", liana__value_copy(w->arena, shape));
    liana__value_remove(config, "batch_input_shape");
    liana__value_remove(config, "ragged");
}

static liana__value *layer_config(const writer *w, const liana__layer *layer, const char *name);

/* {class_name, config} of a layer. */
static liana__value *layer_object(const writer *w, const liana__layer *layer, const char *name)
{
    const char *class_name = layer->type->part.name;
    const bool own = liana__keras_is_own(&liana__layer_kind, class_name);
    const char *module = own ? NULL : liana__keras_layer_module(layer->type);
    const bool has_key = own || strcmp(module, "keras.layers") != 0;
    return write_object(w, module, class_name, has_key ? class_name : NULL, layer_config(w, layer, name));
}

/* The layers that a layer holds take the places of their options. */
static void write_held(const writer *w, const liana__layer *layer, liana__value *config)
{
    const liana_held_layer *held;
    const liana_option *row;
    for (size_t next = 0; (held = liana__held_next(layer->type, layer->options, &next, &row)) != NULL;) {
        const liana__layer inner = {.type = held->type,
                                    .options = (void *)(uintptr_t)held->options,
                                    .trainable = !held->frozen};
        liana__value *object = layer_object(w, &inner, held->name);
        liana__value *list = (liana__value *)(uintptr_t)liana__value_get(config, row->name);
        const bool is_list = row->kind == LIANA_OPTION_LAYERS;
        if (is_list && held == ((const liana_held_layers *)((const char *)layer->options + row->offset))->items) {
            list = liana__value_list(w->arena);
            liana__value_set(w->arena, config, row->name, list);
        }
        if (is_list && list) liana__value_add(w->arena, list, object);
        if (!is_list) liana__value_set(w->arena, config, row->name, object);
    }
}

static liana__value *layer_config(const writer *w, const liana__layer *layer, const char *name)
{
    liana__value *config = liana__value_map(w->arena);
    liana__value *options = liana__fields_write(&layer->type->part.options, w->arena, layer->options);
    if (!config || !options) return NULL;
    set_text(w, config, "name", name);
    liana__value_set(w->arena, config, "trainable", liana__value_bool(w->arena, layer->trainable));
    liana__value_set(w->arena, config, "dtype", write_dtype(w));
    for (size_t i = 0; i < options->count; i++) {
        if (liana__argument_is_option(layer->type, options->keys[i])) continue;
        if (w->form != LIANA__KERAS3 && liana__keras_is_newer_option(layer->type, options->keys[i])) continue;
        liana__value_set(w->arena, config, options->keys[i], options->items[i]); /* an InputLayer has its own dtype */
    }
    const bool is_newer = w->form != LIANA__KERAS3 && liana__keras_is_newer_option(layer->type, "data_format");
    if (layer->type->has_data_format && !is_newer) set_text(w, config, "data_format", "channels_last");
    write_texts(w, config);
    write_held(w, layer, config);
    for (size_t i = 0; liana__keras2_masks[i]; i++) liana__value_remove(config, liana__keras2_masks[i]);
    if (layer->type->to_keras) layer->type->to_keras(w->arena, layer->options, config);
    if (layer->type == &liana__layer_input_layer) rename_input_shape(w, config);
    return config;
}

/* ---- calls ---- */

/* [null, 20, 32] */
static liana__value *write_shape(const writer *w, const liana_shape *shape)
{
    liana__value *list = liana__value_list(w->arena);
    if (list) liana__value_add(w->arena, list, liana__value_null(w->arena));
    for (int i = 1; list && i < shape->rank; i++) {
        liana__value_add(w->arena, list, liana__value_int(w->arena, shape->dims[i]));
    }
    return list;
}

/* Keras 2's MultiHeadAttention makes its weights from these, not from its inputs. */
static void write_input_shapes(const writer *w, size_t index, liana__value *map)
{
    static const char *const keys[] = {"query_shape", "value_shape", "key_shape"};
    liana__value *config = (liana__value *)(uintptr_t)liana__value_get(map, "config");
    size_t node = 0;
    while (w->model->nodes[node].layer != index) node++;
    for (size_t slot = 0; config && slot < sizeof keys / sizeof *keys; slot++) {
        size_t input = liana__node_input_at(&w->model->nodes[node], slot);
        if (input == LIANA__NONE) input = liana__node_input_at(&w->model->nodes[node], slot - 1);
        liana__value_set(w->arena, config, keys[slot], write_shape(w, &w->model->nodes[input].shape));
    }
}

/* An input of whole numbers may be read as texts too. */
static bool holds_strings(const writer *w, const liana__layer_node *node)
{
    const liana__layer *layer = &w->model->layers[node->layer];
    return node->is_text && ((const liana_input_options *)layer->options)->dtype == LIANA_STRING;
}

/* {"class_name": "__keras_tensor__", "config": {shape, dtype, keras_history}}. */
static liana__value *write_tensor(const writer *w, const liana__scope_result *result)
{
    const liana__layer_node *node = liana__scope_result_node(w->model, result);
    liana__value *map = liana__value_map(w->arena), *config = liana__value_map(w->arena);
    liana__value *shape = write_shape(w, &node->shape);
    if (!map || !config || !shape) return NULL;
    bool mixed = w->model->precision == LIANA_MIXED_BFLOAT16 && node->num_inputs;
    const bool is_bool = node->dtype == LIANA_BOOL;
    const char *dtype = holds_strings(w, node)     ? "string"
                        : node->dtype == LIANA_S32 ? "int32"
                        : is_bool                  ? "bool"
                        : mixed                    ? "bfloat16"
                                                   : "float32";
    liana__value_set(w->arena, config, "shape", shape);
    set_text(w, config, "dtype", dtype);
    liana__value_set(w->arena, config, "keras_history", write_reference(w, result, false));
    set_text(w, map, "class_name", "__keras_tensor__");
    liana__value_set(w->arena, map, "config", config);
    return map;
}

/* {"args": [tensor], "kwargs": {...}} of a layer with arguments; before Keras 3 [[name, 0, 0, {...}]]. */
static liana__value *write_arguments(const writer *w, liana__scope_item item, size_t number,
                                     const liana__scope_result *inputs)
{
    const liana_layer_type *type = w->model->layers[item.index].type;
    const liana__layer_node *node = liana__scope_result_node(w->model, &(liana__scope_result){item, number, 0});
    const bool is_new = w->form == LIANA__KERAS3;
    liana__value *tensors[LIANA_MAX_LAYER_INPUTS] = {NULL}, *first, *named = liana__value_map(w->arena);
    for (size_t slot = 0, i = 0; slot < LIANA_MAX_LAYER_INPUTS; slot++) {
        if (!(node->slots >> slot & 1)) continue;
        tensors[slot] = is_new ? write_tensor(w, &inputs[i++]) : write_reference(w, &inputs[i++], false);
    }
    if (!named) return NULL;
    liana__keras_write_call(type, node->options, tensors, w->arena, &first, named);
    if (!first) return NULL;
    liana__value *call = is_new ? liana__value_map(w->arena) : liana__value_list(w->arena);
    if (!call) return NULL;
    if (is_new) {
        liana__value *arguments = liana__value_list(w->arena);
        if (!arguments) return NULL;
        liana__value_add(w->arena, arguments, first);
        liana__value_set(w->arena, call, "args", arguments);
        liana__value_set(w->arena, call, "kwargs", named);
        return call;
    }
    if (liana__scope_item_infers(w->model, item)) {
        liana__value_set(w->arena, named, "training", liana__value_bool(w->arena, false));
    }
    const bool is_list = !liana__keras_is_reference(first);
    for (size_t i = 0; i < (is_list ? first->count : 1); i++) {
        liana__value *tensor = is_list ? first->items[i] : first;
        liana__value_add(w->arena, tensor, liana__value_copy(w->arena, named)); /* the last one counts */
        liana__value_add(w->arena, call, tensor);
    }
    return call;
}

/* {"args": [tensor], "kwargs": {}}; a layer of several inputs is called on a list of them. */
static liana__value *write_call(const writer *w, const liana__scope_result *inputs, size_t count, bool joins)
{
    liana__value *call = liana__value_map(w->arena), *arguments = liana__value_list(w->arena);
    liana__value *tensors = joins ? liana__value_list(w->arena) : arguments;
    if (!call || !arguments || !tensors) return NULL;
    for (size_t i = 0; i < count; i++) liana__value_add(w->arena, tensors, write_tensor(w, &inputs[i]));
    if (joins) liana__value_add(w->arena, arguments, tensors);
    liana__value_set(w->arena, call, "args", arguments);
    liana__value_set(w->arena, call, "kwargs", liana__value_map(w->arena));
    return call;
}

/* Keras 2: [[name, 0, 0, {}], ...]; the first input has the call's arguments. */
static liana__value *write_old_call(const writer *w, const liana__scope_result *inputs, size_t count, bool infers)
{
    liana__value *call = liana__value_list(w->arena);
    for (size_t i = 0; call && i < count; i++) {
        liana__value *reference = write_reference(w, &inputs[i], false), *arguments = liana__value_map(w->arena);
        if (!reference || !arguments) return NULL;
        if (infers && i == 0) liana__value_set(w->arena, arguments, "training", liana__value_bool(w->arena, false));
        liana__value_add(w->arena, reference, arguments);
        liana__value_add(w->arena, call, reference);
    }
    return call;
}

static const char *operation_text(const writer *w, size_t index)
{
    return ((const liana_operation_options *)w->model->layers[index].options)->function;
}

/* The call of an operation has its constants between the tensors. */
static liana__value *write_operation_call(const writer *w, size_t index, const liana__scope_result *inputs,
                                          size_t count)
{
    liana__function_call operation;
    liana__value *tensors[LIANA_MAX_LAYER_INPUTS], *call = liana__value_map(w->arena);
    if (!call || liana__operation_read(operation_text(w, index), w->arena, &operation, NULL) != LIANA_OK) return NULL;
    for (size_t i = 0; i < count; i++) tensors[i] = write_tensor(w, &inputs[i]);
    liana__value_set(w->arena, call, "args", liana__operation_args(w->arena, &operation, tensors, count));
    liana__value_set(w->arena, call, "kwargs", liana__value_map(w->arena));
    return call;
}

/* For each call, its inputs. */
static liana__value *inbound_nodes(const writer *w, size_t scope, liana__scope_item item)
{
    liana__value *nodes = liana__value_list(w->arena);
    const bool infers = liana__scope_item_infers(w->model, item);
    const size_t calls = liana__scope_num_calls(w->model, scope, item);
    for (size_t call = 0; nodes && call < calls; call++) {
        liana__scope_result inputs[LIANA_MAX_LAYER_INPUTS];
        size_t count = liana__scope_inputs(w->model, scope, item, call, inputs);
        if (!count) continue;
        const liana_layer_type *type = item.is_nested ? NULL : w->model->layers[item.index].type;
        bool joins = type ? type->max_inputs > 1 : count > 1;
        if (type == &liana__layer_operation) {
            liana__value_add(w->arena, nodes, write_operation_call(w, item.index, inputs, count));
            continue;
        }
        if (type && type->arguments) {
            liana__value_add(w->arena, nodes, write_arguments(w, item, call, inputs));
            continue;
        }
        liana__value_add(w->arena, nodes,
                         w->form == LIANA__KERAS3 ? write_call(w, inputs, count, joins)
                                                  : write_old_call(w, inputs, count, infers));
    }
    return nodes;
}

/* ---- models ---- */

static liana__value *write_scope(const writer *w, size_t scope, const char *name);

static liana__value *write_model(const writer *w, size_t scope, const char *name)
{
    liana__value *config = write_scope(w, scope, name);
    return liana__keras_is_functional(w->model, scope)
               ? write_object(w, "keras.src.models.functional", "Functional", "Functional", config)
               : write_object(w, "keras", "Sequential", NULL, config);
}

static liana__value *write_operation(const writer *w, size_t index, const char *name)
{
    liana__function_call operation;
    if (liana__operation_read(operation_text(w, index), w->arena, &operation, NULL) != LIANA_OK) return NULL;
    liana__value *config = liana__operation_config(w->arena, &operation);
    if (config) set_text(w, config, "name", name);
    return write_object(w, liana__operation_module(w->arena, &operation), operation.row->class_name,
                        operation.row->class_name, config);
}

/* Rules of Keras 2 that the layer has. */
static void write_mask_rules(const writer *w, const liana__layer *layer, liana__value *map)
{
    for (size_t i = 0; liana__keras2_masks[i]; i++) {
        const char *name = liana__keras2_masks[i];
        const liana_option *row = liana__fields_find(&layer->type->part.options, name);
        if (!row || !*(const bool *)((const char *)layer->options + row->offset)) continue;
        const char *key = liana__arena_format(w->arena, LIANA__KERAS_MASK, name);
        if (key) liana__value_set(w->arena, map, key, liana__value_bool(w->arena, true));
    }
}

static liana__value *write_layer(const writer *w, size_t index, const char *name)
{
    const liana__layer *layer = &w->model->layers[index];
    if (layer->type == &liana__layer_operation) return write_operation(w, index, name);
    liana__value *map = layer_object(w, layer, name);
    if (map && w->form == LIANA__KERAS3) write_mask_rules(w, layer, map);
    const bool is_norm = w->form == LIANA__KERAS3 && layer->type == &liana__layer_batch_normalization;
    if (map && is_norm && !((const liana_batch_normalization_options *)layer->options)->population_variance) {
        liana__value_set(w->arena, map, LIANA__KERAS_VARIANCE, liana__value_bool(w->arena, false));
    }
    const bool has_shapes = w->form == LIANA__KERAS2 && layer->type == &liana__layer_multi_head_attention;
    if (map && has_shapes) write_input_shapes(w, index, map);
    if (map && w->form == LIANA__TFJS) liana__tfjs_rewrite(w->arena, w->model, index, map);
    return map;
}

static liana__value *write_item(const writer *w, size_t scope, liana__scope_item item)
{
    const char *own = liana__scope_item_name(w->model, item);
    const char *name = liana__keras_item_name(w->model, scope, item, w->form, w->arena);
    if (!name) return NULL;
    liana__value *map = item.is_nested ? write_model(w, item.index, name) : write_layer(w, item.index, name);
    if (map && strcmp(own, name) != 0 && w->form == LIANA__KERAS3) set_text(w, map, LIANA__KERAS_NAME, own);
    if (!map || !liana__keras_is_functional(w->model, scope)) return map;
    set_text(w, map, "name", name);
    liana__value_set(w->arena, map, "inbound_nodes", inbound_nodes(w, scope, item));
    /* Keras 3 has no such thing, and passes over it: a fit calls every layer as in training. */
    if (w->form == LIANA__KERAS3 && liana__scope_item_infers(w->model, item)) {
        liana__value_set(w->arena, map, LIANA__KERAS_TRAINING, liana__value_bool(w->arena, false));
    }
    return map;
}

/* The config of a Sequential or Functional model. */
static liana__value *write_scope(const writer *w, size_t scope, const char *name)
{
    liana__value *config = liana__value_map(w->arena), *layers = liana__value_list(w->arena);
    if (!config || !layers) return NULL;
    liana__scope_item item;
    for (size_t next = 0; liana__scope_next(w->model, scope, &next, &item);) {
        liana__value_add(w->arena, layers, write_item(w, scope, item));
    }
    set_text(w, config, "name", name);
    if (w->form == LIANA__KERAS3) liana__value_set(w->arena, config, "trainable", liana__value_bool(w->arena, true));
    liana__value_set(w->arena, config, "layers", layers);
    if (liana__keras_is_functional(w->model, scope) && w->model->num_nodes) {
        liana__scope_result inputs[LIANA_MAX_LAYER_INPUTS];
        size_t count = liana__scope_own_inputs(w->model, scope, inputs);
        liana__value_set(w->arena, config, "input_layers", list_results(w, inputs, count));
        liana__value_set(w->arena, config, "output_layers", write_outputs(w, scope));
    }
    return config;
}

liana__value *liana__model_to_keras(const liana_model *model, liana__keras_form form, liana__arena *arena)
{
    const writer w = {model, form, arena};
    liana__value *root = write_model(&w, LIANA__NONE, liana__model_name(model));
    if (root && form != LIANA__KERAS3) {
        set_text(&w, root, "keras_version", "2.15.0");
        set_text(&w, root, "backend", "tensorflow");
    }
    return arena->failed ? NULL : root;
}
