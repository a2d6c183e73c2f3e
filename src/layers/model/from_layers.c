/* liana__model_from_layers: the `layers:` list of a configuration. */
#include "base/choice.h"
#include "base/scoped.h"
#include "layers/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Keys of every layer. Those of inputs by name follow them. */
static const char *const common_keys[] = {"name", "inputs", "trainable", "training"};
enum { NUM_COMMON_KEYS = sizeof common_keys / sizeof *common_keys };

enum { DOTTED_KEY = 256 };

static liana_location place_of(const liana__value *value)
{
    return (liana_location){value->place.file ? value->place.file : "model", value->place.line};
}

/* Makes an error with a place of its own the model's sticky one. */
static liana_status fail_model(liana_model *model, const liana__value *value, const liana__error *error)
{
    liana__model_fail(model, place_of(value), error->status, "%s", error->message);
    return model->error.status;
}

/* An entry of the list. */
typedef struct entry {
    liana_location here;
    const liana__place *place;
    const liana__model_entry *kind; /* NULL: a layer */
    const liana__value *map;        /* its options; NULL: none */
    char where[DOTTED_KEY];         /* its dotted key */
} entry;

/* A list that is being read. */
typedef struct reading {
    liana_model *model;
    liana__arena *arena;
    liana__error *error;
    /* The models of Sequential and Functional entries, which later entries use again. */
    liana_model **nested;
    size_t num_nested, nested_capacity;
} reading;

/* ---- inputs ---- */

/* Nodes that an entry reads. */
typedef struct joints {
    size_t nodes[LIANA_MAX_LAYER_INPUTS];
    size_t count;   /* 0: the node that was added last */
    uint32_t slots; /* 0: the first ones */
} joints;

static liana_status find_named(const reading *own, const liana__value *value, const char *where, size_t *index)
{
    char found[128];
    if (value->kind != LIANA__VALUE_STRING) {
        return liana__fail_at(own->error, &value->place, where, "found %s, expected the name of a layer",
                              liana__value_describe(value, found, sizeof found));
    }
    *index = liana__model_find_node(own->model, value->string);
    if (*index != LIANA__NONE) return LIANA_OK;
    return liana__fail_at(own->error, &value->place, where, "there is no layer '%.60s' before this one", value->string);
}

/* Those of one key. */
static liana_status read_names(const reading *own, const liana__value *value, const char *where, const char *key,
                               joints *inputs)
{
    char name[DOTTED_KEY];
    inputs->count = inputs->slots = 0;
    if (!value || value->kind == LIANA__VALUE_NULL) return LIANA_OK;
    snprintf(name, sizeof name, "%.180s.%.40s", where, key);
    inputs->count = value->kind == LIANA__VALUE_LIST ? value->count : 1;
    if (inputs->count == 0 || inputs->count > LIANA_MAX_LAYER_INPUTS) {
        return liana__fail_at(own->error, &value->place, name, "found %zu names, expected 1 to %d", inputs->count,
                              LIANA_MAX_LAYER_INPUTS);
    }
    for (size_t i = 0; i < inputs->count; i++) {
        const liana__value *item = value->kind == LIANA__VALUE_LIST ? value->items[i] : value;
        LIANA_TRY(find_named(own, item, name, &inputs->nodes[i]));
    }
    return LIANA_OK;
}

static liana_status read_inputs(const reading *own, const liana__value *value, const char *where, joints *inputs)
{
    return read_names(own, value, where, "inputs", inputs);
}

/* Adds the inputs that an argument names. Nodes stand in the order of their slots. */
static liana_status add_argument(const reading *own, const entry *at, const liana_layer_type *type, const char *name,
                                 size_t *at_slots)
{
    const liana__value *value = liana__value_get(at->map, name);
    size_t first = 0, count = liana__argument_slots(type, name, &first);
    joints named;
    /* Keras calls the list of several layers 'inputs' too. */
    if (!count || strcmp(name, "inputs") == 0 || liana__fields_find(&type->part.options, name)) return LIANA_OK;
    LIANA_TRY(read_names(own, value, at->where, name, &named));
    if (named.count > count) {
        return liana__fail_at(own->error, &value->place, at->where, "%s: found %zu names, expected at most %zu", name,
                              named.count, count);
    }
    for (size_t i = 0; i < named.count; i++) {
        if (at_slots[first + i] != LIANA__NONE) {
            return liana__fail_at(own->error, &value->place, at->where,
                                  "%s: this input stands in the list 'inputs' already, as number %zu", name, first + i);
        }
        at_slots[first + i] = named.nodes[i];
    }
    return LIANA_OK;
}

/* The inputs of a call: the list 'inputs' fills the first arguments, and others are given by their names. */
static liana_status read_arguments(const reading *own, const entry *at, const liana_layer_type *type, joints *inputs)
{
    size_t at_slots[LIANA_MAX_LAYER_INPUTS];
    LIANA_TRY(read_inputs(own, liana__value_get(at->map, "inputs"), at->where, inputs));
    if (!type->arguments) return LIANA_OK;
    for (size_t i = 0; i < LIANA_MAX_LAYER_INPUTS; i++)
        at_slots[i] = i < inputs->count ? inputs->nodes[i] : LIANA__NONE;
    bool is_named = false;
    const char *name;
    for (size_t i = 0; (name = liana__argument_at(type, i)) != NULL; i++) {
        LIANA_TRY(add_argument(own, at, type, name, at_slots));
    }
    for (size_t i = inputs->count; i < LIANA_MAX_LAYER_INPUTS; i++) is_named = is_named || at_slots[i] != LIANA__NONE;
    if (!is_named) return LIANA_OK;
    if (at_slots[0] == LIANA__NONE) at_slots[0] = liana__model_last_node(own->model);
    inputs->count = 0;
    for (size_t i = 0; i < LIANA_MAX_LAYER_INPUTS; i++) {
        if (at_slots[i] == LIANA__NONE) continue;
        inputs->nodes[inputs->count++] = at_slots[i];
        inputs->slots |= (uint32_t)1 << i;
    }
    return LIANA_OK;
}

/* Keys that are no options: the common ones and those of inputs. `keys` has room for them, and ends with NULL. */
enum { MOST_KEYS = NUM_COMMON_KEYS + LIANA_MAX_LAYER_INPUTS + 1 };
static void list_other_keys(const liana_layer_type *type, const char *keys[MOST_KEYS])
{
    size_t count = NUM_COMMON_KEYS;
    memcpy(keys, common_keys, sizeof common_keys);
    for (size_t slot = 0; slot < LIANA_MAX_LAYER_INPUTS; slot++) {
        const char *name = liana__argument_of_slot(type, slot);
        if (name) keys[count++] = name;
    }
    keys[count] = NULL;
}

/* ---- a model within the model ---- */

typedef struct nested_options {
    const char *name;
    bool trainable, training;
    const liana__value *layers, *outputs, *inputs;
} nested_options;

static const liana_option nested_rows[] = {
    LIANA_OPTION_ROW(nested_options, name, STRING, .doc = "its name, with which the names of its layers begin"),
    LIANA_OPTION_ROW(nested_options, trainable, BOOL, .default_text = "true",
                     .doc = "whether training changes its layers' weights"),
    LIANA_OPTION_ROW(nested_options, training, BOOL, .default_text = "true",
                     .doc = "false: its layers compute as in inference also in training (Keras's call with "
                            "training=False)"),
    LIANA_OPTION_ROW(nested_options, layers, VALUE, .required = true,
                     .doc = "its layers, as in model.layers; without InputLayer it has one input, of the shape that it "
                            "reads"),
    LIANA_OPTION_ROW(nested_options, outputs, VALUE,
                     .doc = "the name of its layer that is the output, or a list of names; default: the last layer"),
    LIANA_OPTION_ROW(nested_options, inputs, VALUE,
                     .doc = "the name of the layer that it reads, or a list of names; default: the layer before"),
};
static const liana_options sequential_table = LIANA__FIELD_TABLE("Sequential", nested_options, nested_rows);
static const liana_options functional_table = LIANA__FIELD_TABLE("Functional", nested_options, nested_rows);

/* Reads the entry's own list, which also needs the shape and dtype of its input. */
static liana_status read_inner(reading *own, const nested_options *options, const char *where, size_t node,
                               liana_model *inner)
{
    char key[DOTTED_KEY];
    const liana__layer_node *read = &own->model->nodes[node];
    liana_shape example = {.rank = read->shape.rank - 1};
    for (int i = 0; i < example.rank; i++) example.dims[i] = read->shape.dims[i + 1];
    snprintf(key, sizeof key, "%.220s.layers", where);
    liana_status status = liana__model_from_layers_of(inner, options->layers, key, &example, read->dtype);
    snprintf(key, sizeof key, "%.220s.outputs", where);
    if (status == LIANA_OK) status = liana__model_outputs_from(inner, options->outputs, key);
    if (status != LIANA_OK) *own->error = inner->error;
    return status;
}

static liana_status nest(reading *own, const liana__nest_request *request)
{
    return liana__model_nest(own->model, request).id ? LIANA_OK : own->model->error.status;
}

static liana_status add_nested(reading *own, const entry *at)
{
    nested_options options;
    joints inputs;
    LIANA_TRY(liana__fields_read(at->kind->options, at->map, at->where, NULL, own->arena, &options, own->error));
    LIANA_TRY(read_inputs(own, options.inputs, at->where, &inputs));
    size_t before = inputs.count ? inputs.nodes[0] : liana__model_last_node(own->model);
    if (before == LIANA__NONE) {
        return liana__fail_at(own->error, at->place, at->where,
                              "a model that begins with another needs an InputLayer before it");
    }
    if (!liana__grow(&own->nested, own->num_nested, &own->nested_capacity, sizeof(liana_model *))) {
        return liana__fail_memory(own->error, "a model");
    }
    liana_model **inner = &own->nested[own->num_nested];
    LIANA_TRY(liana_model_create(own->model->context, options.name, inner));
    own->num_nested++;
    (*inner)->functional = strcmp(at->kind->name, "Functional") == 0;
    LIANA_TRY(read_inner(own, &options, at->where, before, *inner));
    return nest(own, &(liana__nest_request){.here = at->here,
                                            .inner = *inner,
                                            .name = options.name,
                                            .frozen = !options.trainable,
                                            .inference = !options.training,
                                            .inputs = inputs.count ? inputs.nodes : NULL,
                                            .num_inputs = inputs.count});
}

/* ---- a further call ---- */

typedef struct reuse_options {
    const char *layer, *name;
    const liana__value *inputs;
} reuse_options;

static const liana_option reuse_rows[] = {
    LIANA_OPTION_ROW(reuse_options, layer, STRING, .required = true,
                     .doc = "the name of the layer or nested model that is called again, with the same weights"),
    LIANA_OPTION_ROW(reuse_options, name, STRING,
                     .doc =
                         "what inputs and outputs call the result; default: as the layer, which then means this call"),
    LIANA_OPTION_ROW(reuse_options, inputs, VALUE,
                     .doc = "the name of the layer that it reads, or a list of names; default: the layer before"),
};
static const liana_options reuse_table = LIANA__FIELD_TABLE("Reuse", reuse_options, reuse_rows);

/* The model of an earlier entry that was nested under this name, or NULL. */
static const liana_model *find_inner(const reading *own, const char *name)
{
    int nested = liana__model_find_nested(own->model, name);
    for (size_t i = 0; nested >= 0 && i < own->num_nested; i++) {
        if (own->nested[i]->identity == own->model->nested[nested].identity) return own->nested[i];
    }
    return NULL;
}

static liana_status call_again(reading *own, const entry *at, const char *name, const joints *inputs)
{
    liana_model *model = own->model;
    const liana_model *inner = find_inner(own, name);
    if (inner) {
        const int nested = liana__model_find_nested(model, name);
        return nest(own, &(liana__nest_request){.here = at->here,
                                                .inner = inner,
                                                .name = name,
                                                .inference = model->nested[nested].inference,
                                                .inputs = inputs->nodes,
                                                .num_inputs = inputs->count});
    }
    int layer = liana__model_find_layer(model, name);
    if (layer < 0 || model->layers[layer].within != LIANA__NONE) {
        return liana__fail_at(own->error, at->place, at->where, "there is no layer '%.60s' before this one", name);
    }
    if (!model->layers[layer].type->call) {
        return liana__fail_at(own->error, at->place, at->where, "layer '%.60s' is an input, which is not called", name);
    }
    liana_layer made = liana__model_reuse(model, (size_t)layer,
                                          &(liana__layer_request){.here = at->here,
                                                                  .where = at->where,
                                                                  .inputs = inputs->nodes,
                                                                  .num_inputs = inputs->count,
                                                                  .slots = inputs->slots,
                                                                  .options = at->map});
    return made.id ? LIANA_OK : model->error.status;
}

/* The type of the layer that is called again; NULL: it is a nested model, or not there. */
static const liana_layer_type *reused_type(const reading *own, const entry *at)
{
    const liana__value *name = liana__value_get(at->map, "layer");
    const bool is_name = name && name->kind == LIANA__VALUE_STRING;
    const int layer = is_name ? liana__model_find_layer(own->model, name->string) : -1;
    return layer < 0 ? NULL : own->model->layers[layer].type;
}

static liana_status add_reuse(reading *own, const entry *at)
{
    reuse_options options;
    joints inputs;
    const liana_layer_type *type = reused_type(own, at);
    LIANA_TRY(liana__fields_read(&reuse_table, at->map, at->where, type ? type->arguments : NULL, own->arena, &options,
                                 own->error));
    LIANA_TRY(type ? read_arguments(own, at, type, &inputs) : read_inputs(own, options.inputs, at->where, &inputs));
    if (!inputs.count && own->model->num_nodes) inputs = (joints){{liana__model_last_node(own->model)}, 1, 0};
    LIANA_TRY(call_again(own, at, options.layer, &inputs));
    if (!options.name) return LIANA_OK;
    liana_status status =
        liana__model_name_call(own->model, liana__model_last_node(own->model), options.name, own->error);
    if (status == LIANA_INVALID_CONFIG) {
        char text[sizeof own->error->message];
        snprintf(text, sizeof text, "%s", own->error->message);
        status = liana__fail_at(own->error, at->place, at->where, "%s", text);
    }
    return status;
}

/* ---- a layer ---- */

static liana_status add_layer(reading *own, const entry *at, const liana_layer_type *type)
{
    liana__layer_common_options common;
    joints inputs;
    const char *other_keys[MOST_KEYS];
    list_other_keys(type, other_keys);
    LIANA_TRY(liana__layer_read_common(at->map, at->where, own->arena, &common, own->error));
    LIANA_TRY(read_arguments(own, at, type, &inputs));
    liana_layer made =
        liana__model_add(own->model, &(liana__layer_request){.here = at->here,
                                                             .where = at->where,
                                                             .type = type,
                                                             .name = common.name,
                                                             .frozen = !common.trainable,
                                                             .inference = !common.training,
                                                             .inputs = inputs.count ? inputs.nodes : NULL,
                                                             .num_inputs = inputs.count,
                                                             .slots = inputs.slots,
                                                             .options = at->map,
                                                             .other_keys = other_keys});
    return made.id ? LIANA_OK : own->model->error.status;
}

/* ---- entries ---- */

const liana__model_entry liana__model_entries[] = {
    {"Sequential", "layers one after the other, as a layer of the model (Keras's Sequential)", &sequential_table},
    {"Functional", "a model with several inputs or outputs, as a layer of the model", &functional_table},
    {"Reuse", "a further call of a layer or nested model, with the same weights", &reuse_table},
    {0},
};

static const liana__model_entry *find_entry(const char *name)
{
    for (const liana__model_entry *kind = liana__model_entries; kind->name; kind++) {
        if (strcmp(kind->name, name) == 0) return kind;
    }
    return NULL;
}

static liana_status add_entry(reading *own, const liana__value *value, const char *where)
{
    const char *name = NULL, *nearest = NULL;
    entry at = {.here = place_of(value)};
    LIANA_TRY(liana__choice_entry(value, where, "one layer: 'Flatten' or 'Conv2D: {filters: 32, kernel_size: 3}'",
                                  &name, &at.place, &at.map, own->error));
    snprintf(at.where, sizeof at.where, "%.150s.%.60s", where, name);
    at.kind = find_entry(name);
    if (at.kind) return at.kind->options == &reuse_table ? add_reuse(own, &at) : add_nested(own, &at);
    const liana_layer_type *type = liana__part_find(own->model->context, &liana__layer_kind, name, &nearest);
    if (type) return add_layer(own, &at, type);
    return liana__fail_at(own->error, at.place, where, "there is no layer class '%.60s'%s", name,
                          liana__hint(nearest).text);
}

static bool begins_with_input(const liana__value *list)
{
    const liana__value *first = list->count ? list->items[0] : NULL;
    if (!first) return false;
    const char *name = first->kind == LIANA__VALUE_STRING                     ? first->string
                       : first->kind == LIANA__VALUE_MAP && first->count == 1 ? first->keys[0]
                                                                              : "";
    return strcmp(name, liana__layer_input_layer.part.name) == 0;
}

/* An InputLayer for examples of a shape. */
static void add_input(const reading *own, liana_location here, const liana_shape *shape, liana_dtype dtype)
{
    liana__value *map = liana__value_map(own->arena), *dims = liana__value_list(own->arena);
    if (!map || !dims) return;
    for (int i = 0; i < shape->rank; i++) {
        liana__value_add(own->arena, dims, liana__value_int(own->arena, shape->dims[i]));
    }
    liana__value_set(own->arena, map, "shape", dims);
    if (dtype == LIANA_S32) liana__value_set(own->arena, map, "dtype", liana__value_string(own->arena, "int32"));
    liana__model_add(own->model,
                     &(liana__layer_request){.here = here, .type = &liana__layer_input_layer, .options = map});
}

liana_status liana__model_from_layers_of(liana_model *model, const liana__value *list, const char *where,
                                         const liana_shape *input_shape, liana_dtype input_dtype)
{
    liana__error error = {0};
    if (list->kind != LIANA__VALUE_LIST || list->count == 0) {
        char found[128];
        liana__fail_at(&error, &list->place, where, "found %s, expected a list of layers",
                       liana__value_describe(list, found, sizeof found));
        return fail_model(model, list, &error);
    }
    LIANA__SCOPED(liana__arena) arena = {0};
    reading own = {.model = model, .arena = &arena, .error = &error};
    if (model->num_nodes == 0 && !begins_with_input(list)) add_input(&own, place_of(list), input_shape, input_dtype);
    for (size_t i = 0; i < list->count && model->error.status == LIANA_OK; i++) {
        char item[DOTTED_KEY];
        snprintf(item, sizeof item, "%.200s[%zu]", where, i);
        if (add_entry(&own, list->items[i], item) != LIANA_OK) fail_model(model, list->items[i], &error);
    }
    for (size_t i = 0; i < own.num_nested; i++) liana_model_destroy(own.nested[i]);
    free(own.nested);
    return model->error.status;
}

liana_status liana__model_from_layers(liana_model *model, const liana__value *list, const char *where,
                                      const liana_shape *input_shape)
{
    return liana__model_from_layers_of(model, list, where, input_shape, LIANA_F32);
}
