/* liana__model_from_keras: architecture files. */
#include "base/scoped.h"
#include "layers/keras/keras_config.h"
#include "layers/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader {
    liana_model *model;
    const liana__layer_node *examples; /* the node that a nested model is called on; NULL: the file must say it */
    int depth;                         /* of nesting */
    bool keras3;                       /* the file is of Keras 3 */
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

static const char *layer_name(const liana__value *layer)
{
    const char *name = text_of(layer, "name");
    return name ? name : text_of(liana__value_get(layer, "config"), "name");
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

/* Adds one layer; `inputs` NULL means the node before. */
static liana_status add_layer(reader *r, const liana__value *layer, const size_t *inputs, size_t num_inputs,
                              bool inference)
{
    const liana__value *class_value, *config;
    LIANA_TRY(expect(r, layer, "class_name", LIANA__VALUE_STRING, &class_value));
    LIANA_TRY(expect(r, layer, "config", LIANA__VALUE_MAP, &config));
    const char *name = text_of(config, "name"), *nearest = NULL;
    if (!name) name = text_of(layer, "name");
    liana__layer_request request = {
        .here = place_of(layer),
        .type = liana__keras_find_layer(r->model->context, class_value->string, &nearest),
        .name = name,
        .inputs = inputs,
        .num_inputs = num_inputs,
    };
    char where[160];
    snprintf(where, sizeof where, "layer '%.100s'", name ? name : class_value->string);
    if (!request.type) {
        liana__fail_at(
            &r->error, &class_value->place, where,
            "liana has no layer class '%.60s'%s%s%s; if it is one of your own, register it first, or load its plugin",
            class_value->string, nearest ? "; the nearest is '" : "", nearest ? nearest : "", nearest ? "'" : "");
        r->error.status = LIANA_UNIMPLEMENTED;
        return LIANA_UNIMPLEMENTED;
    }
    LIANA_TRY(read_dtype(r, config, request.type == &liana__layer_input_layer, where));
    size_t source = inputs && num_inputs ? inputs[0] : liana__model_last_node(r->model);
    int rank = r->model->num_nodes ? r->model->nodes[source].shape.rank : 0;
    liana__value *options;
    LIANA_TRY(liana__keras_read_config(r->model->context, request.type, config, where, rank, r->keras3, &r->arena,
                                       &options, &r->error));
    const liana__value *trainable = liana__value_get(config, "trainable");
    request.frozen = trainable && trainable->kind == LIANA__VALUE_BOOL && !trainable->boolean;
    request.inference = inference;
    request.options = options;
    request.where = where;
    return liana__model_add(r->model, &request).id ? LIANA_OK : r->model->error.status;
}

/* ---- nested models ---- */

enum { MOST_NESTED = 8 };

static bool is_model_class(const char *name)
{
    static const char *const names[] = {"Sequential", "Functional", "Model"};
    for (size_t i = 0; name && i < sizeof names / sizeof *names; i++) {
        if (strcmp(name, names[i]) == 0) return true;
    }
    return false;
}

static liana_status read_model(reader *r, const char *class_name, const liana__value *config);

/* Reads the model that a layer is. `given` is the node that it is called on, if it has no shape of examples itself;
 * LIANA__NONE: there is none. */
static liana_status read_inner(reader *r, const liana__value *layer, size_t given, liana_model **inner)
{
    const liana__value *class_value, *config = liana__value_get(layer, "config");
    LIANA_TRY(expect(r, layer, "class_name", LIANA__VALUE_STRING, &class_value));
    if (!config) return liana__fail_at(&r->error, &layer->place, NULL, "the key 'config' is missing");
    if (r->depth >= MOST_NESTED) return refuse(r, layer, NULL, "models are nested more than 8 deep");
    const char *name = layer_name(layer);
    if (liana_model_create(r->model->context, name, inner) != LIANA_OK) return liana__fail_memory(&r->error, "a model");
    reader own = {.model = *inner, .depth = r->depth + 1, .keras3 = r->keras3};
    if (given != LIANA__NONE) own.examples = &r->model->nodes[given];
    liana_status status = read_model(&own, class_value->string, config);
    if (status == LIANA_OK) status = liana__model_check(*inner, &own.error);
    if ((*inner)->precision != LIANA_FLOAT32) r->model->precision = (*inner)->precision;
    if (status != LIANA_OK) r->error = (*inner)->error.status != LIANA_OK ? (*inner)->error : own.error;
    liana__arena_free(&own.arena);
    if (status != LIANA_OK) r->error.status = status;
    return status;
}

static liana_status nest(reader *r, const liana__value *layer, const liana_model *inner, const size_t *inputs,
                         size_t num_inputs, bool inference)
{
    liana__nest_request request = {.here = place_of(layer),
                                   .inner = inner,
                                   .name = layer_name(layer),
                                   .inference = inference,
                                   .inputs = inputs,
                                   .num_inputs = num_inputs};
    return liana__model_nest(r->model, &request).id ? LIANA_OK : r->model->error.status;
}

/* ---- Sequential ---- */

static liana_status add_input_of(reader *r, liana_location here, const liana__value *dims, const liana__place *place,
                                 bool has_ids)
{
    liana__value *options = liana__value_map(&r->arena);
    if (!options || !dims) return liana__fail_memory(&r->error, "a model");
    liana__value_set(&r->arena, options, "shape", (liana__value *)(uintptr_t)dims);
    if (has_ids) liana__value_set(&r->arena, options, "dtype", liana__value_string(&r->arena, "int32"));
    if (place) options->place = *place;
    liana__layer_request request = {.here = here, .type = &liana__layer_input_layer, .options = options};
    return liana__model_add(r->model, &request).id ? LIANA_OK : r->model->error.status;
}

static liana__value *list_dims(reader *r, const liana_shape *shape)
{
    liana__value *dims = liana__value_list(&r->arena);
    for (int i = 1; dims && i < shape->rank; i++) {
        liana__value_add(&r->arena, dims, liana__value_int(&r->arena, shape->dims[i]));
    }
    return dims;
}

/* A first layer that gives the shape of examples itself gets an InputLayer before it. */
static liana_status add_input(reader *r, const liana__value *layer, const liana__value *config)
{
    const liana__value *shape = liana__value_get(config, "batch_input_shape");
    if (!shape) shape = liana__value_get(config, "batch_shape");
    if (r->examples && (!shape || shape->kind != LIANA__VALUE_LIST)) {
        return add_input_of(r, place_of(config), list_dims(r, &r->examples->shape), NULL,
                            r->examples->dtype == LIANA_S32);
    }
    if (!shape || shape->kind != LIANA__VALUE_LIST) {
        return refuse(r, config, NULL, "the first layer has no batch_input_shape, so the shape of examples is unknown");
    }
    const char *class_name = text_of(layer, "class_name");
    const liana_layer_type *type = class_name ? liana__keras_find_layer(r->model->context, class_name, NULL) : NULL;
    liana__value *dims = liana__value_list(&r->arena);
    if (!dims) return liana__fail_memory(&r->error, "a model");
    dims->place = shape->place;
    for (size_t i = 1; i < shape->count; i++) liana__value_add(&r->arena, dims, shape->items[i]);
    return add_input_of(r, place_of(config), dims, NULL, type && type->num_ids);
}

/* A model that is the first layer gives the shape of examples. */
static liana_status add_input_like(reader *r, const liana__value *layer, const liana_model *inner)
{
    liana__model_port port = liana__model_input(inner, 0);
    return add_input_of(r, place_of(layer), list_dims(r, &port.shape), &layer->place, port.dtype == LIANA_S32);
}

static liana_status add_nested_in_sequence(reader *r, const liana__value *layer)
{
    liana_model *inner = NULL;
    size_t before = liana__model_last_node(r->model);
    liana_status status = read_inner(r, layer, before, &inner);
    if (status == LIANA_OK && before == LIANA__NONE) status = add_input_like(r, layer, inner);
    if (status == LIANA_OK) status = nest(r, layer, inner, NULL, 0, false);
    liana_model_destroy(inner);
    return status;
}

static liana_status read_sequential(reader *r, const liana__value *config)
{
    const liana__value *layers = config->kind == LIANA__VALUE_LIST ? config : NULL; /* Keras before 2.2.3 */
    if (!layers) LIANA_TRY(expect(r, config, "layers", LIANA__VALUE_LIST, &layers));
    LIANA_TRY(read_dtype(r, config, false, "the model"));
    for (size_t i = 0; i < layers->count; i++) {
        const liana__value *layer = layers->items[i], *inner = liana__value_get(layer, "config");
        const char *class_name = text_of(layer, "class_name");
        bool is_input = class_name && strcmp(class_name, "InputLayer") == 0;
        if (is_model_class(class_name)) {
            LIANA_TRY(add_nested_in_sequence(r, layer));
            continue;
        }
        if (!is_input && !r->model->num_nodes && inner) LIANA_TRY(add_input(r, layer, inner));
        LIANA_TRY(add_layer(r, layer, NULL, 0, false));
    }
    return LIANA_OK;
}

/* ---- Functional ---- */

/* A layer's call of the file: [name, call, output, ...]. */
typedef struct reference {
    const char *name;
    int64_t number;
    int64_t output;
} reference;

typedef struct references {
    reference items[LIANA_MAX_LAYER_INPUTS];
    size_t count;
    bool too_many;
} references;

static bool is_reference(const liana__value *value)
{
    return value->kind == LIANA__VALUE_LIST && value->count >= 3 && value->items[0]->kind == LIANA__VALUE_STRING &&
           value->items[1]->kind == LIANA__VALUE_INT && value->items[2]->kind == LIANA__VALUE_INT;
}

/* Finds references in Keras 1 and 2's nested lists, and in Keras 3's objects with "keras_history". */
static void collect_references(const liana__value *value, references *found, int depth)
{
    if (!value || depth > 8) return;
    if (is_reference(value)) {
        if (found->count < LIANA_MAX_LAYER_INPUTS) {
            found->items[found->count++] =
                (reference){value->items[0]->string, value->items[1]->integer, value->items[2]->integer};
        } else {
            found->too_many = true;
        }
    } else if (value->kind == LIANA__VALUE_LIST) {
        for (size_t i = 0; i < value->count; i++) collect_references(value->items[i], found, depth + 1);
    } else if (value->kind == LIANA__VALUE_MAP) {
        collect_references(liana__value_get(value, "args"), found, depth + 1);
        collect_references(liana__value_get(value, "config"), found, depth + 1);
        collect_references(liana__value_get(value, "keras_history"), found, depth + 1);
    }
}

/* The node that a reference means. LIANA__NONE: it has not been added. */
static size_t find_result(const liana_model *model, const reference *wanted)
{
    int layer = liana__model_find_layer(model, wanted->name), nested = liana__model_find_nested(model, wanted->name);
    for (size_t i = 0; layer >= 0 && i < model->num_nodes; i++) {
        bool same = model->nodes[i].layer == (size_t)layer && model->nodes[i].number == (size_t)wanted->number;
        if (same && wanted->output == 0) return i;
    }
    for (size_t i = 0; nested >= 0 && i < model->num_uses; i++) {
        const liana__nested_use *use = &model->uses[i];
        const liana__nested *of = &model->nested[nested];
        bool same = use->nested == (size_t)nested && use->number == (size_t)wanted->number;
        bool known = wanted->output >= 0 && (size_t)wanted->output < of->num_outputs;
        if (same && known) return use->first_node + of->outputs[wanted->output];
    }
    return LIANA__NONE;
}

/* Whether a call says training=False, which Keras 2 writes behind the call's first input: [name, 0, 0, {...}]. Keras 3
 * has other forms. It writes the arguments of a call, also defaults, and then computes as the model is called; so there
 * the word says nothing. Errors: UNIMPLEMENTED for a call that says training=True. */
static liana_status read_training(reader *r, const liana__value *call, const char *name, bool *inference)
{
    while (call && call->kind == LIANA__VALUE_LIST && call->count && !is_reference(call)) call = call->items[0];
    const bool has_arguments = call && is_reference(call) && call->count > 3;
    const liana__value *training = has_arguments ? liana__value_get(call->items[3], "training") : NULL;
    *inference = training && training->kind == LIANA__VALUE_BOOL && !training->boolean;
    if (!training || training->kind != LIANA__VALUE_BOOL || !training->boolean) return LIANA_OK;
    return refuse(r, training, name, "its call has training=True: it would compute as in training always");
}

/* An entry of the list of layers. */
typedef struct entry {
    const liana__value *layer;
    const liana__value *calls; /* a list with an item for each call, or NULL */
    size_t num_calls;
    size_t num_added;
    liana_model *inner; /* of an entry that is a model, once it is read */
    bool inference;     /* its calls say training=False */
    bool is_mask_op;    /* Keras 3 writes the computation of masks as ops; liana computes them by itself */
} entry;

static void open_entry(const liana__value *layer, entry *own)
{
    const liana__value *nodes = liana__value_get(layer, "inbound_nodes");
    const char *module = text_of(layer, "module");
    *own = (entry){.layer = layer, .num_calls = 1};
    own->is_mask_op = module && strstr(module, ".ops");
    if (!nodes || nodes->kind != LIANA__VALUE_LIST || nodes->count == 0) return;
    if (is_reference(nodes->items[0])) {
        own->calls = nodes; /* one call without a list of its own */
        return;
    }
    own->calls = nodes;
    own->num_calls = nodes->count;
}

static void references_of_call(const entry *own, size_t call, references *found)
{
    *found = (references){.count = 0};
    if (!own->calls) return;
    bool bare = is_reference(own->calls->items[0]);
    collect_references(bare ? own->calls : own->calls->items[call], found, 0);
}

static liana_status call_again(reader *r, const entry *own, const size_t *nodes, size_t count)
{
    int layer = liana__model_find_layer(r->model, layer_name(own->layer) ? layer_name(own->layer) : "");
    if (layer < 0) return refuse(r, own->layer, NULL, "a layer that is called several times needs a name");
    return liana__model_reuse(r->model, place_of(own->layer), (size_t)layer, nodes, count).id ? LIANA_OK
                                                                                              : r->model->error.status;
}

/* All calls of an entry are in the same mode, which liana keeps by layer. */
static liana_status read_mode(reader *r, entry *own)
{
    bool inference = false;
    if (own->calls) {
        const bool bare = is_reference(own->calls->items[0]);
        const liana__value *call = bare ? own->calls : own->calls->items[own->num_added];
        LIANA_TRY(read_training(r, call, layer_name(own->layer), &inference));
    }
    if (own->num_added == 0) own->inference = inference;
    if (own->inference == inference) return LIANA_OK;
    return refuse(r, own->calls, layer_name(own->layer),
                  "some of its calls have training=False and others do not; give the calls layers of their own");
}

static liana_status add_call(reader *r, entry *own, const size_t *nodes, size_t count)
{
    LIANA_TRY(read_mode(r, own));
    if (is_model_class(text_of(own->layer, "class_name"))) {
        if (!own->inner) LIANA_TRY(read_inner(r, own->layer, count ? nodes[0] : LIANA__NONE, &own->inner));
        return nest(r, own->layer, own->inner, nodes, count, own->inference);
    }
    return own->num_added ? call_again(r, own, nodes, count) : add_layer(r, own->layer, nodes, count, own->inference);
}

/* Adds the next calls of an entry, as long as all their inputs are there. */
static liana_status try_entry(reader *r, entry *own)
{
    while (own->num_added < own->num_calls && !own->is_mask_op) {
        references found;
        references_of_call(own, own->num_added, &found);
        if (found.too_many) return refuse(r, own->calls, layer_name(own->layer), "too many inputs");
        size_t nodes[LIANA_MAX_LAYER_INPUTS];
        for (size_t i = 0; i < found.count; i++) {
            nodes[i] = find_result(r->model, &found.items[i]);
            if (nodes[i] == LIANA__NONE) return LIANA_OK;
        }
        LIANA_TRY(add_call(r, own, nodes, found.count));
        own->num_added++;
    }
    return LIANA_OK;
}

/* Why an entry could not be added: an input that is an op, or that is not there. */
static liana_status fail_entry(reader *r, const entry *entries, size_t count, const entry *stuck)
{
    references found;
    references_of_call(stuck, stuck->num_added, &found);
    for (size_t i = 0; i < found.count; i++) {
        for (size_t k = 0; k < count; k++) {
            const char *name = layer_name(entries[k].layer), *class_name = text_of(entries[k].layer, "class_name");
            if (!entries[k].is_mask_op || !name || strcmp(name, found.items[i].name) != 0) continue;
            char message[160];
            snprintf(message, sizeof message, "liana has no layer class '%.60s'", class_name ? class_name : "?");
            return refuse(r, entries[k].layer, name, message);
        }
    }
    return liana__fail_at(&r->error, &stuck->layer->place, layer_name(stuck->layer),
                          "its inputs are not in the file, or depend on itself");
}

/* The files list layers in any order: calls whose inputs are there are added until none is left. */
static liana_status add_in_order(reader *r, entry *entries, size_t count)
{
    for (;;) {
        const entry *stuck = NULL;
        size_t before = r->model->num_nodes;
        for (size_t i = 0; i < count; i++) {
            LIANA_TRY(try_entry(r, &entries[i]));
            bool left = entries[i].num_added < entries[i].num_calls && !entries[i].is_mask_op;
            if (left && !stuck) stuck = &entries[i];
        }
        if (!stuck) return LIANA_OK;
        if (r->model->num_nodes == before) return fail_entry(r, entries, count, stuck);
    }
}

/* The inputs in the order of the file. */
static liana_status order_inputs(reader *r, const liana__value *config)
{
    const liana__value *inputs = liana__value_get(config, "input_layers");
    references found = {.count = 0};
    if (inputs && inputs->kind == LIANA__VALUE_MAP) {
        for (size_t i = 0; i < inputs->count; i++) collect_references(inputs->items[i], &found, 0);
    } else {
        collect_references(inputs, &found, 0);
    }
    if (found.count == 0) return LIANA_OK;
    liana_model *model = r->model;
    size_t nodes[LIANA_MAX_LAYER_INPUTS];
    for (size_t i = 0; i < found.count; i++) {
        nodes[i] = find_result(model, &found.items[i]);
        bool is_input = nodes[i] != LIANA__NONE && model->nodes[nodes[i]].num_inputs == 0;
        bool again = false;
        for (size_t k = 0; k < i; k++) again = again || nodes[k] == nodes[i];
        if (is_input && !again) continue;
        return liana__fail_at(&r->error, &inputs->place, "input_layers", "'%.60s' is %s", found.items[i].name,
                              again ? "named twice" : "no InputLayer of this model");
    }
    if (found.count != model->num_inputs) {
        return liana__fail_at(&r->error, &inputs->place, "input_layers", "found %zu names, the model has %zu inputs",
                              found.count, model->num_inputs);
    }
    memcpy(model->inputs, nodes, found.count * sizeof *nodes);
    return LIANA_OK;
}

/* The outputs; a single one that is the last node anyway is not fixed, so that layers can be added after it. */
static liana_status choose_outputs(reader *r, const liana__value *config)
{
    const liana__value *outputs = liana__value_get(config, "output_layers");
    bool is_map = outputs && outputs->kind == LIANA__VALUE_MAP;
    references found = {.count = 0};
    const char *names[LIANA_MAX_LAYER_INPUTS] = {NULL};
    if (is_map && !liana__value_get(outputs, "keras_history")) {
        for (size_t i = 0; i < outputs->count; i++) {
            size_t before = found.count;
            collect_references(outputs->items[i], &found, 0);
            if (found.count == before + 1) names[before] = outputs->keys[i];
        }
    } else {
        collect_references(outputs, &found, 0);
    }
    if (found.count == 0 || found.too_many) {
        return refuse(r, outputs ? outputs : config, "output_layers",
                      found.too_many ? "more than 16 outputs" : "no output is named");
    }
    size_t nodes[LIANA_MAX_LAYER_INPUTS];
    for (size_t i = 0; i < found.count; i++) {
        nodes[i] = find_result(r->model, &found.items[i]);
        if (nodes[i] != LIANA__NONE) continue;
        return liana__fail_at(&r->error, &outputs->place, "output_layers",
                              "'%.60s' (call %lld, output %lld) is not there", found.items[i].name,
                              (long long)found.items[i].number, (long long)found.items[i].output);
    }
    if (found.count == 1 && !names[0] && nodes[0] + 1 == r->model->num_nodes) return LIANA_OK;
    return liana__model_set_outputs(r->model, place_of(outputs), nodes, names, found.count);
}

static liana_status read_functional(reader *r, const liana__value *config)
{
    const liana__value *layers;
    LIANA_TRY(expect(r, config, "layers", LIANA__VALUE_LIST, &layers));
    LIANA_TRY(read_dtype(r, config, false, "the model"));
    LIANA__SCOPED_MEMORY entry *entries = calloc(layers->count + 1, sizeof *entries);
    if (!entries) return liana__fail_memory(&r->error, "a model");
    for (size_t i = 0; i < layers->count; i++) open_entry(layers->items[i], &entries[i]);
    liana_status status = add_in_order(r, entries, layers->count);
    for (size_t i = 0; i < layers->count; i++) liana_model_destroy(entries[i].inner);
    if (status == LIANA_OK) status = order_inputs(r, config);
    return status == LIANA_OK ? choose_outputs(r, config) : status;
}

static liana_status read_model(reader *r, const char *class_name, const liana__value *config)
{
    if (strcmp(class_name, "Sequential") == 0) return read_sequential(r, config);
    r->model->functional = true;
    return read_functional(r, config);
}

/* ---- the file ---- */

/* Whether an architecture is Keras 3's. Keras 2 says its version. Keras 3 says none, but the module of each class. */
static bool is_of_keras3(const liana__value *wrapper, const liana__value *root)
{
    const char *version = text_of(root, "keras_version");
    if (!version) version = text_of(wrapper, "keras_version");
    if (version) return atoi(version) >= 3;
    return liana__value_get(root, "module") || liana__value_get(root, "registered_name");
}

static liana_status read_architecture(reader *r, const liana__value *root)
{
    /* tfjs's model.json and the attributes of an HDF5 file wrap the architecture. */
    const liana__value *inner = liana__value_get(root, "modelTopology");
    if (inner) root = inner;
    const liana__value *wrapper = root;
    inner = liana__value_get(root, "model_config");
    if (inner) root = inner;
    r->keras3 = is_of_keras3(wrapper, root);
    const liana__value *class_value, *config = liana__value_get(root, "config");
    LIANA_TRY(expect(r, root, "class_name", LIANA__VALUE_STRING, &class_value));
    if (!config) return liana__fail_at(&r->error, &root->place, NULL, "the key 'config' is missing");
    const char *name = text_of(config, "name");
    if (name && !r->model->name) {
        r->model->name = liana__arena_string(&r->model->arena, name);
        if (!r->model->name) return liana__fail_memory(&r->error, "a model");
    }
    if (!is_model_class(class_value->string)) {
        return refuse(r, class_value, NULL, "expected a Sequential or a Functional model");
    }
    return read_model(r, class_value->string, config);
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
