/* liana__model_from_keras: architecture files. */
#include "layers/keras_config.h"
#include "layers/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader {
    liana_model *model;
    liana__arena arena;
    liana__error error;
} reader;

static liana_location place_of(const liana__value *value)
{
    return (liana_location){value->place.file ? value->place.file : "architecture", value->place.line};
}

static liana_status refuse(reader *r, const liana__value *value, const char *where, const char *message)
{
    liana__fail_at(&r->error, value ? &value->place : NULL, where, "%s", message);
    r->error.status = LIANA_UNIMPLEMENTED;
    return LIANA_UNIMPLEMENTED;
}

static const char *text_of(const liana__value *map, const char *key)
{
    const liana__value *value = liana__value_get(map, key);
    return value && value->kind == LIANA__VALUE_STRING ? value->string : NULL;
}

static liana_status expect(reader *r, const liana__value *parent, const char *key, liana__value_kind kind,
                           const liana__value **value)
{
    char found[128];
    *value = liana__value_get(parent, key);
    if (!*value) return liana__fail_at(&r->error, parent ? &parent->place : NULL, NULL, "the key '%s' is missing", key);
    if ((*value)->kind == kind) return LIANA_OK;
    return liana__fail_at(&r->error, &(*value)->place, key, "found %s, expected %s",
                          liana__value_describe(*value, found, sizeof found), liana__value_kind_name(kind));
}

/* One layer in mixed precision makes it the model's: which of its ops compute in bfloat16 liana knows by itself. */
static liana_status read_dtype(reader *r, const liana__value *config, bool is_input, const char *where)
{
    static const char *const keys[] = {"dtype", "input_dtype" /* Keras 1 */};
    for (size_t i = 0; i < 2; i++) {
        liana_precision precision;
        LIANA_TRY(liana__keras_read_dtype(liana__value_get(config, keys[i]), is_input || i == 1, where, &precision,
                                          &r->error));
        if (precision != LIANA_FLOAT32) r->model->precision = precision;
    }
    return LIANA_OK;
}

/* Adds one layer; `inputs` NULL means the layer before. */
static liana_status add_layer(reader *r, const liana__value *layer, const size_t *inputs, size_t num_inputs)
{
    const liana__value *class_value, *config;
    LIANA_TRY(expect(r, layer, "class_name", LIANA__VALUE_STRING, &class_value));
    LIANA_TRY(expect(r, layer, "config", LIANA__VALUE_MAP, &config));
    const char *name = text_of(config, "name"), *nearest = NULL;
    if (!name) name = text_of(layer, "name");
    liana__layer_request request = {
        .here = place_of(layer),
        .type = liana__keras_find_layer(class_value->string, &nearest),
        .name = name,
        .inputs = inputs,
        .num_inputs = num_inputs,
    };
    char where[160];
    snprintf(where, sizeof where, "layer '%.100s'", name ? name : class_value->string);
    if (!request.type) {
        liana__fail_at(&r->error, &class_value->place, where, "liana has no layer class '%.60s'%s%s%s",
                       class_value->string, nearest ? "; the nearest is '" : "", nearest ? nearest : "",
                       nearest ? "'" : "");
        r->error.status = LIANA_UNIMPLEMENTED;
        return LIANA_UNIMPLEMENTED;
    }
    LIANA_TRY(read_dtype(r, config, request.type == &liana__layer_input_layer, where));
    size_t source = inputs && num_inputs ? inputs[0] : r->model->num_layers - 1;
    int rank = r->model->num_layers ? r->model->layers[source].shape.rank : 0;
    liana__value *options;
    LIANA_TRY(liana__keras_read_config(request.type, config, where, rank, &r->arena, &options, &r->error));
    const liana__value *trainable = liana__value_get(config, "trainable");
    request.frozen = trainable && trainable->kind == LIANA__VALUE_BOOL && !trainable->boolean;
    request.options = options;
    request.where = where;
    return liana__model_add(r->model, &request).id ? LIANA_OK : r->model->error.status;
}

/* ---- Sequential ---- */

/* A first layer that gives the shape of examples itself gets an InputLayer before it. */
static liana_status add_input(reader *r, const liana__value *config)
{
    const liana__value *shape = liana__value_get(config, "batch_input_shape");
    if (!shape) shape = liana__value_get(config, "batch_shape");
    if (!shape || shape->kind != LIANA__VALUE_LIST) {
        return refuse(r, config, NULL, "the first layer has no batch_input_shape, so the shape of examples is unknown");
    }
    liana__value *options = liana__value_map(&r->arena), *dims = liana__value_list(&r->arena);
    if (!options || !dims) return liana__fail_memory(&r->error, "a model");
    dims->place = shape->place;
    for (size_t i = 1; i < shape->count; i++) liana__value_add(&r->arena, dims, shape->items[i]);
    liana__value_set(&r->arena, options, "shape", dims);
    liana__layer_request request = {.here = place_of(config), .type = &liana__layer_input_layer, .options = options};
    return liana__model_add(r->model, &request).id ? LIANA_OK : r->model->error.status;
}

static liana_status read_sequential(reader *r, const liana__value *config, int depth)
{
    const liana__value *layers = config->kind == LIANA__VALUE_LIST ? config : NULL; /* Keras before 2.2.3 */
    if (!layers) LIANA_TRY(expect(r, config, "layers", LIANA__VALUE_LIST, &layers));
    LIANA_TRY(read_dtype(r, config, false, "the model"));
    for (size_t i = 0; i < layers->count; i++) {
        const liana__value *layer = layers->items[i], *inner = liana__value_get(layer, "config");
        const char *class_name = text_of(layer, "class_name");
        bool is_input = class_name && strcmp(class_name, "InputLayer") == 0;
        if (class_name && strcmp(class_name, "Sequential") == 0 && inner) {
            if (depth > 8) return refuse(r, layer, NULL, "models are nested more than 8 deep");
            LIANA_TRY(read_sequential(r, inner, depth + 1));
            continue;
        }
        if (is_input && r->model->num_layers) continue; /* a nested model's InputLayer: its input is the layer before */
        if (!is_input && !r->model->num_layers && inner) LIANA_TRY(add_input(r, inner));
        LIANA_TRY(add_layer(r, layer, NULL, 0));
    }
    return LIANA_OK;
}

/* ---- Functional ---- */

typedef struct inputs {
    const char *names[LIANA_MAX_LAYER_INPUTS];
    size_t count;
    bool too_many;
    bool shared; /* refers to a second use, or to a second result */
} inputs;

static bool is_reference(const liana__value *value)
{
    return value->kind == LIANA__VALUE_LIST && value->count >= 3 && value->items[0]->kind == LIANA__VALUE_STRING &&
           value->items[1]->kind == LIANA__VALUE_INT;
}

/* Finds [name, use, result, ...] in Keras 1 and 2's nested lists, and in Keras 3's objects with "keras_history". */
static void collect_inputs(const liana__value *value, inputs *found, int depth)
{
    if (!value || depth > 8) return;
    if (is_reference(value)) {
        if (value->items[1]->integer != 0 || value->items[2]->integer != 0) found->shared = true;
        if (found->count < LIANA_MAX_LAYER_INPUTS) {
            found->names[found->count++] = value->items[0]->string;
        } else {
            found->too_many = true;
        }
    } else if (value->kind == LIANA__VALUE_LIST) {
        for (size_t i = 0; i < value->count; i++) collect_inputs(value->items[i], found, depth + 1);
    } else if (value->kind == LIANA__VALUE_MAP) {
        collect_inputs(liana__value_get(value, "args"), found, depth + 1);
        collect_inputs(liana__value_get(value, "config"), found, depth + 1);
        collect_inputs(liana__value_get(value, "keras_history"), found, depth + 1);
    }
}

static const char *layer_name(const liana__value *layer)
{
    const char *name = text_of(layer, "name");
    return name ? name : text_of(liana__value_get(layer, "config"), "name");
}

/* Adds the layer if all its inputs are there; *ready says whether they were. */
static liana_status try_layer(reader *r, const liana__value *layer, bool *ready)
{
    const liana__value *nodes = liana__value_get(layer, "inbound_nodes");
    const char *name = layer_name(layer);
    inputs found = {.count = 0};
    collect_inputs(nodes, &found, 0);
    bool used_twice = nodes && nodes->kind == LIANA__VALUE_LIST && nodes->count > 1 && !is_reference(nodes->items[0]);
    if (used_twice || found.shared) {
        return refuse(r, nodes, name, "this layer, or one of its inputs, is used more than once");
    }
    if (found.too_many) return refuse(r, nodes, name, "too many inputs");
    size_t indices[LIANA_MAX_LAYER_INPUTS];
    *ready = true;
    for (size_t i = 0; i < found.count; i++) {
        int index = liana__model_find_layer(r->model, found.names[i]);
        if (index < 0) *ready = false;
        indices[i] = (size_t)index;
    }
    return *ready ? add_layer(r, layer, indices, found.count) : LIANA_OK;
}

/* The files list layers in any order: those whose inputs are there are added until none is left. */
static liana_status add_in_order(reader *r, const liana__value *layers, bool *added)
{
    size_t left = layers->count;
    while (left) {
        size_t before = left;
        for (size_t i = 0; i < layers->count; i++) {
            if (added[i]) continue;
            LIANA_TRY(try_layer(r, layers->items[i], &added[i]));
            if (added[i]) left--;
        }
        if (left < before) continue;
        size_t first = 0;
        while (added[first]) first++;
        const char *name = layer_name(layers->items[first]);
        return liana__fail_at(&r->error, &layers->items[first]->place, name,
                              "its inputs are not in the file, or depend on itself");
    }
    return LIANA_OK;
}

/* That the one output is the layer added last. */
static liana_status check_output(reader *r, const liana__value *config)
{
    const liana__value *outputs = liana__value_get(config, "output_layers");
    inputs found = {.count = 0};
    collect_inputs(outputs, &found, 0);
    if (found.count != 1) return refuse(r, outputs ? outputs : config, "output_layers", "expected one output");
    const char *last = r->model->num_layers ? r->model->layers[r->model->num_layers - 1].name : "";
    if (strcmp(found.names[0], last) == 0) return LIANA_OK;
    return refuse(r, outputs, "output_layers", "the output is not the last layer; the layers after it are not used");
}

static liana_status read_functional(reader *r, const liana__value *config)
{
    const liana__value *layers;
    LIANA_TRY(expect(r, config, "layers", LIANA__VALUE_LIST, &layers));
    LIANA_TRY(read_dtype(r, config, false, "the model"));
    bool *added = calloc(layers->count + 1, sizeof *added);
    if (!added) return liana__fail_memory(&r->error, "a model");
    liana_status status = add_in_order(r, layers, added);
    free(added);
    return status == LIANA_OK ? check_output(r, config) : status;
}

/* ---- the file ---- */

static liana_status read_architecture(reader *r, const liana__value *root)
{
    /* tfjs's model.json and the attributes of an HDF5 file wrap the architecture. */
    const liana__value *inner = liana__value_get(root, "modelTopology");
    if (inner) root = inner;
    inner = liana__value_get(root, "model_config");
    if (inner) root = inner;
    const liana__value *class_value, *config = liana__value_get(root, "config");
    LIANA_TRY(expect(r, root, "class_name", LIANA__VALUE_STRING, &class_value));
    if (!config) return liana__fail_at(&r->error, &root->place, NULL, "the key 'config' is missing");
    const char *name = text_of(config, "name");
    if (name && !r->model->name) {
        r->model->name = liana__arena_string(&r->model->arena, name);
        if (!r->model->name) return liana__fail_memory(&r->error, "a model");
    }
    if (strcmp(class_value->string, "Sequential") == 0) return read_sequential(r, config, 0);
    bool functional = strcmp(class_value->string, "Functional") == 0 || strcmp(class_value->string, "Model") == 0;
    if (!functional) return refuse(r, class_value, NULL, "expected a Sequential or a Functional model");
    r->model->functional = true;
    return read_functional(r, config);
}

liana_status liana__model_from_keras(liana_model *model, const liana__value *architecture)
{
    if (model->error.status != LIANA_OK) return model->error.status;
    reader r = {.model = model};
    liana_status status = read_architecture(&r, architecture);
    if (status != LIANA_OK) liana__model_fail(model, place_of(architecture), status, "%s", r.error.message);
    liana__arena_free(&r.arena);
    return model->error.status;
}
