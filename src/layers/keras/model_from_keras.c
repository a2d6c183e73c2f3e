/* liana__model_from_keras: architecture files. */
#include "base/scoped.h"
#include "base/value_read.h"
#include "layers/keras/keras_call.h"
#include "layers/keras/keras_classes.h"
#include "layers/keras/keras_config.h"
#include "layers/keras/keras_file.h"
#include "layers/keras/keras_form.h"
#include "layers/keras/keras_steps.h"
#include "layers/operation/operation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An entry of the list of layers. */
typedef struct entry {
    const liana__value *layer;
    const liana__value *calls; /* a list with an item for each call, or NULL */
    size_t num_calls;
    size_t num_added;
    liana_model *inner; /* of an entry that is a model, once it is read */
    bool is_new;        /* its calls are in the form of Keras 3 */
    bool inference;     /* its calls say training=False */
    bool is_operation;
    bool is_needed;       /* of an operation: a result depends on it. Others compute masks, as liana does by itself */
    const char *function; /* of an operation that was added: its text */
    struct entry *next_renamed; /* of an entry with two names */
    /* Of an entry that is a model. */
    struct entry *next_model;
    int64_t first_call; /* the number of its first call in references, before Keras 3 */
    bool is_referred;
} entry;

typedef struct reader {
    liana_model *model;
    entry *entries; /* of a Functional */
    size_t num_entries;
    entry *models, *renamed;           /* of these the models, and those with two names */
    const liana__layer_node *examples; /* the node that a nested model is called on; NULL: the file must say it */
    int depth;                         /* of nesting */
    bool keras3;                       /* names have the meaning of Keras 3 */
    bool is_new;                       /* calls are written as Keras 3 does */
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

/* The name in references. */
static const char *file_name(const liana__value *layer)
{
    const char *name = text_of(layer, "name");
    return name ? name : text_of(liana__value_get(layer, "config"), "name");
}

static const char *layer_name(const liana__value *layer)
{
    const char *own = text_of(layer, LIANA__KERAS_NAME);
    return own ? own : file_name(layer);
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

/* liana's own key. */
static bool says_inference(const liana__value *layer)
{
    const liana__value *training = liana__value_get(layer, LIANA__KERAS_TRAINING);
    return training && training->kind == LIANA__VALUE_BOOL && !training->boolean;
}

/* Keras 2 has other rules of masks than Keras 3, and liana writes where a file in the form of Keras 3 means them. */
static void find_mask(reader *r, const liana__value *layer, const liana_layer_type *type, liana__value *options)
{
    for (size_t i = 0; liana__keras2_masks[i]; i++) {
        const char *name = liana__keras2_masks[i], *key = liana__arena_format(&r->arena, LIANA__KERAS_MASK, name);
        const bool says_so = key && liana__value_true_of(layer, key);
        if (!liana__fields_find(&type->part.options, name) || (r->keras3 && !says_so)) continue;
        liana__value_set(&r->arena, options, name, liana__value_bool(&r->arena, true));
    }
}

/* Keras 2 has another moving variance than Keras 3, and liana writes where a file in the form of Keras 3 means that. */
static void find_variance(reader *r, const liana__value *layer, const liana_layer_type *type, liana__value *options)
{
    const liana__value *own = liana__value_get(layer, LIANA__KERAS_VARIANCE);
    const bool says_other = own && own->kind == LIANA__VALUE_BOOL && !own->boolean;
    if (type != &liana__layer_batch_normalization || (r->keras3 && !says_other)) return;
    liana__value_set(&r->arena, options, LIANA__POPULATION_VARIANCE, liana__value_bool(&r->arena, false));
}

/* A call that is added. */
typedef struct layer_call {
    const size_t *inputs; /* nodes; NULL: the node before */
    size_t num_inputs;
    uint32_t slots; /* 0: the first ones */
    bool inference;
    const liana__value *options; /* the call's own; NULL: none */
} layer_call;

/* Adds one layer with its first call. */
static liana_status add_layer(reader *r, const liana__value *layer, const layer_call *first)
{
    const liana__value *class_value, *config;
    LIANA_TRY(expect(r, layer, "class_name", LIANA__VALUE_STRING, &class_value));
    LIANA_TRY(expect(r, layer, "config", LIANA__VALUE_MAP, &config));
    const char *name = text_of(layer, LIANA__KERAS_NAME), *nearest = NULL;
    if (!name) name = text_of(config, "name");
    if (!name) name = text_of(layer, "name");
    liana__layer_request request = {
        .here = place_of(layer),
        .type = liana__keras_find_layer(r->model->context, class_value->string, &nearest),
        .name = name,
        .inputs = first->inputs,
        .num_inputs = first->num_inputs,
        .slots = first->slots,
    };
    char where[160];
    snprintf(where, sizeof where, "layer '%.100s'", name ? name : class_value->string);
    LIANA_TRY(liana__keras_check_class(r->model->context, layer, request.type, where, nearest, &r->error));
    const bool is_input = request.type == &liana__layer_input_layer || request.type->texts;
    LIANA_TRY(read_dtype(r, config, is_input, where));
    size_t source = first->inputs && first->num_inputs ? first->inputs[0] : liana__model_last_node(r->model);
    int rank = r->model->num_nodes ? r->model->nodes[source].shape.rank : 0;
    liana__value *options;
    LIANA_TRY(liana__keras_read_config(r->model->context, class_value->string, request.type, config, where, rank,
                                       r->keras3, &r->arena, &options, &r->error));
    find_variance(r, layer, request.type, options);
    find_mask(r, layer, request.type, options);
    for (size_t i = 0; first->options && i < first->options->count; i++) {
        liana__value_set(&r->arena, options, first->options->keys[i], first->options->items[i]);
    }
    const liana__value *trainable = liana__value_get(config, "trainable");
    request.frozen = trainable && trainable->kind == LIANA__VALUE_BOOL && !trainable->boolean;
    request.inference = first->inference || says_inference(layer);
    request.options = options;
    request.where = where;
    return liana__model_add(r->model, &request).id ? LIANA_OK : r->model->error.status;
}

/* ---- nested models ---- */

enum { MOST_NESTED = 8 };

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
                                   .inference = inference || says_inference(layer),
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

/* The shape of a batch that a first layer gives itself, or that the model was built with; NULL: none. */
static const liana__value *batch_shape(const liana__value *model, const liana__value *layer)
{
    const liana__value *config = liana__value_get(layer, "config");
    const liana__value *const places[] = {
        liana__value_get(config, "batch_input_shape"),
        liana__value_get(config, "batch_shape"),
        liana__value_get(model, "build_input_shape"),
        liana__value_get(liana__value_get(layer, "build_config"), "input_shape"),
    };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (places[i] && places[i]->kind == LIANA__VALUE_LIST) return places[i];
    }
    return NULL;
}

/* A first layer that is no InputLayer gets one before it. */
static liana_status add_input(reader *r, const liana__value *model, const liana__value *layer)
{
    const liana__value *config = liana__value_get(layer, "config"), *shape = batch_shape(model, layer);
    if (r->examples && !shape) {
        return add_input_of(r, place_of(config), list_dims(r, &r->examples->shape), NULL,
                            r->examples->dtype == LIANA_S32);
    }
    if (!shape) {
        return refuse(r, config, NULL,
                      "the first layer has no batch_input_shape, and the model no build_input_shape, so the shape of "
                      "examples is unknown; begin it with an InputLayer");
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
        const liana__value *layer = liana__keras_expand(layers->items[i], &r->arena);
        if (!layer) return liana__fail_memory(&r->error, "a model");
        const liana__value *inner = liana__value_get(layer, "config");
        const char *class_name = text_of(layer, "class_name");
        bool is_input = class_name && strcmp(class_name, "InputLayer") == 0;
        if (liana__keras_is_model_class(class_name)) {
            LIANA_TRY(add_nested_in_sequence(r, layer));
            continue;
        }
        if (!is_input && !r->model->num_nodes && inner) LIANA_TRY(add_input(r, config, layer));
        LIANA_TRY(add_layer(r, layer, &(layer_call){.inputs = NULL}));
    }
    return LIANA_OK;
}

/* ---- Functional ---- */

static entry *find_entry(const reader *r, const char *name)
{
    for (entry *own = r->models; own; own = own->next_model) {
        const char *known = file_name(own->layer);
        if (known && strcmp(known, name) == 0) return own;
    }
    return NULL;
}

/* liana's name of a layer that is called so in references. */
static const char *own_name(const reader *r, const char *name)
{
    for (const entry *own = r->renamed; own; own = own->next_renamed) {
        const char *known = file_name(own->layer);
        if (known && strcmp(known, name) == 0) return layer_name(own->layer);
    }
    return name;
}

/* The number of a call of a nested model, from 0. In its outputs Keras 3 counts a Functional's from 1 (`of_model`). */
static int64_t call_number(const reader *r, const liana__keras_reference *wanted, bool of_model)
{
    const entry *own = find_entry(r, wanted->name);
    if (!own) return wanted->number;
    const char *class_name = text_of(own->layer, "class_name");
    const bool shifted =
        own->is_new && of_model && wanted->number > 0 && class_name && strcmp(class_name, "Sequential") != 0;
    return wanted->number - own->first_call - shifted;
}

/* The node that a reference means. LIANA__NONE: it has not been added. */
static size_t find_result(const reader *r, const liana__keras_reference *wanted, bool of_model)
{
    const liana_model *model = r->model;
    const char *name = own_name(r, wanted->name);
    int layer = liana__model_find_layer(model, name), nested = liana__model_find_nested(model, name);
    for (size_t i = 0; layer >= 0 && i < model->num_nodes; i++) {
        const liana__layer_node *node = &model->nodes[i];
        bool same = node->layer == (size_t)layer && node->number == (size_t)wanted->number;
        if (same && wanted->output == (int64_t)node->output) return i;
    }
    const int64_t number = nested >= 0 ? call_number(r, wanted, of_model) : 0;
    for (size_t i = 0; nested >= 0 && i < model->num_uses; i++) {
        const liana__nested_use *use = &model->uses[i];
        const liana__nested *of = &model->nested[nested];
        bool same = use->nested == (size_t)nested && use->number == (size_t)number;
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
    while (call && call->kind == LIANA__VALUE_LIST && call->count && !liana__keras_is_reference(call))
        call = call->items[0];
    const bool has_arguments = call && liana__keras_is_reference(call) && call->count > 3;
    const liana__value *training = has_arguments ? liana__value_get(call->items[3], "training") : NULL;
    *inference = training && training->kind == LIANA__VALUE_BOOL && !training->boolean;
    if (!training || training->kind != LIANA__VALUE_BOOL || !training->boolean) return LIANA_OK;
    return refuse(r, training, name, "its call has training=True: it would compute as in training always");
}

static void open_entry(const liana__value *layer, entry *own)
{
    const liana__value *nodes = liana__value_get(layer, "inbound_nodes");
    *own = (entry){.layer = layer, .num_calls = 1, .is_operation = liana__keras_is_operation(layer)};
    if (!nodes || nodes->kind != LIANA__VALUE_LIST || nodes->count == 0) return;
    if (liana__keras_is_reference(nodes->items[0])) {
        own->calls = nodes; /* one call without a list of its own */
        return;
    }
    own->calls = nodes;
    own->num_calls = nodes->count;
    own->is_new = nodes->items[0]->kind == LIANA__VALUE_MAP;
}

static void references_of_call(const entry *own, size_t call, liana__keras_references *found)
{
    *found = (liana__keras_references){.count = 0};
    if (!own->calls) return;
    bool bare = liana__keras_is_reference(own->calls->items[0]);
    liana__keras_collect(bare ? own->calls : own->calls->items[call], found);
}

/* Before Keras 3 a model's call on its own InputLayers is number 0, and its first call in the file 1. liana once wrote
 * 0. Every call is referred to, so the least number is that of the first. */
static void count_from(const reader *r, const liana__keras_references *found)
{
    for (size_t i = 0; i < found->count; i++) {
        entry *own = find_entry(r, found->items[i].name);
        if (!own || own->is_new) continue;
        const int64_t number = found->items[i].number;
        if (!own->is_referred || number < own->first_call) own->first_call = number;
        own->is_referred = true;
    }
}

static void count_calls(const reader *r, const liana__value *config, const entry *entries, size_t count)
{
    liana__keras_references found = {.count = 0};
    for (size_t i = 0; r->models && i < count; i++) {
        for (size_t call = 0; entries[i].calls && call < entries[i].num_calls; call++) {
            references_of_call(&entries[i], call, &found);
            count_from(r, &found);
        }
    }
    found.count = 0;
    liana__keras_collect(liana__value_get(config, "output_layers"), &found);
    count_from(r, &found);
}

static liana_status call_again(reader *r, const entry *own, const layer_call *again)
{
    int layer = liana__model_find_layer(r->model, layer_name(own->layer) ? layer_name(own->layer) : "");
    if (layer < 0) return refuse(r, own->layer, NULL, "a layer that is called several times needs a name");
    const liana__layer_request request = {.here = place_of(own->layer),
                                          .inputs = again->inputs,
                                          .num_inputs = again->num_inputs,
                                          .slots = again->slots,
                                          .options = again->options};
    return liana__model_reuse(r->model, (size_t)layer, &request).id ? LIANA_OK : r->model->error.status;
}

/* All calls of an entry are in the same mode, which liana keeps by layer. */
static liana_status read_mode(reader *r, entry *own)
{
    bool inference = false;
    if (own->calls) {
        const bool bare = liana__keras_is_reference(own->calls->items[0]);
        const liana__value *call = bare ? own->calls : own->calls->items[own->num_added];
        LIANA_TRY(read_training(r, call, layer_name(own->layer), &inference));
    }
    if (own->num_added == 0) own->inference = inference;
    if (own->inference == inference) return LIANA_OK;
    return refuse(r, own->calls, layer_name(own->layer),
                  "some of its calls have training=False and others do not; give the calls layers of their own");
}

static liana_status add_operation(reader *r, entry *own, const layer_call *next);

static liana_status add_call(reader *r, entry *own, layer_call *next)
{
    if (own->is_operation) return add_operation(r, own, next);
    LIANA_TRY(read_mode(r, own));
    next->inference = own->inference;
    if (liana__keras_is_model_class(text_of(own->layer, "class_name"))) {
        const size_t given = next->num_inputs ? next->inputs[0] : LIANA__NONE;
        if (!own->inner) LIANA_TRY(read_inner(r, own->layer, given, &own->inner));
        return nest(r, own->layer, own->inner, next->inputs, next->num_inputs, own->inference);
    }
    return own->num_added ? call_again(r, own, next) : add_layer(r, own->layer, next);
}

static bool is_passed_over(const entry *own)
{
    return own->is_operation && !own->is_needed;
}

/* Whether a reference means an operation that is passed over. */
static bool is_mask_op(const reader *r, const char *wanted)
{
    for (size_t i = 0; i < r->num_entries; i++) {
        const char *name = file_name(r->entries[i].layer);
        if (is_passed_over(&r->entries[i]) && name && strcmp(name, wanted) == 0) return true;
    }
    return false;
}

/* The next call of an entry. Of a layer with arguments each input has its slot; a mask that Keras has computed from an
 * earlier layer's is not among them. */
static liana_status next_call(reader *r, const entry *own, liana__keras_references *found, layer_call *next)
{
    const char *class_name = text_of(own->layer, "class_name");
    const liana_layer_type *type = class_name ? liana__keras_find_layer(r->model->context, class_name, NULL) : NULL;
    if (!type || !type->arguments || !own->calls) {
        references_of_call(own, own->num_added, found);
        return found->too_many ? refuse(r, own->calls, layer_name(own->layer), "too many inputs") : LIANA_OK;
    }
    liana__keras_call read;
    const bool bare = liana__keras_is_reference(own->calls->items[0]);
    const liana__value *from = bare ? own->calls : own->calls->items[own->num_added];
    LIANA_TRY(liana__keras_read_call(type, from, layer_name(own->layer), &r->arena, &read, &r->error));
    next->options = read.options;
    found->count = 0;
    for (size_t slot = 0; slot < LIANA_MAX_LAYER_INPUTS; slot++) {
        if (!(read.slots >> slot & 1)) continue;
        const char *name = liana__argument_of_slot(type, slot);
        const bool is_found_mask = liana__argument_is_mask(name) && strcmp(name, "attention_mask") != 0;
        if (is_found_mask && is_mask_op(r, read.inputs[slot].name)) continue;
        found->items[found->count++] = read.inputs[slot];
        next->slots |= (uint32_t)1 << slot;
    }
    return LIANA_OK;
}

/* ---- operations ---- */

/* Operations that the references name are needed, and those that they need. */
static bool mark(const liana__keras_references *found, entry *entries, size_t count)
{
    bool is_new = false;
    for (size_t i = 0; i < found->count; i++) {
        for (size_t k = 0; k < count; k++) {
            const char *name = entries[k].is_operation && !entries[k].is_needed ? file_name(entries[k].layer) : NULL;
            if (!name || strcmp(name, found->items[i].name) != 0) continue;
            entries[k].is_needed = is_new = true;
        }
    }
    return is_new;
}

/* Operations whose results reach an output or a layer, other than as a mask. */
static liana_status mark_operations(reader *r, const liana__value *config, entry *entries, size_t count)
{
    liana__keras_references found = {.count = 0};
    bool has_any = false, is_new = true;
    for (size_t i = 0; i < count; i++) has_any = has_any || entries[i].is_operation;
    if (!has_any) return LIANA_OK;
    liana__keras_collect(liana__value_get(config, "output_layers"), &found);
    (void)mark(&found, entries, count);
    while (is_new) {
        is_new = false;
        for (size_t i = 0; i < count; i++) {
            entry own = entries[i];
            for (own.num_added = 0; !is_passed_over(&own) && own.num_added < own.num_calls; own.num_added++) {
                layer_call ignored = {.inputs = NULL};
                found.count = 0;
                LIANA_TRY(next_call(r, &own, &found, &ignored));
                is_new = mark(&found, entries, count) || is_new;
            }
        }
    }
    return LIANA_OK;
}

/* Calls of one operation have one text. */
static liana_status add_operation(reader *r, entry *own, const layer_call *next)
{
    const char *text, *name = layer_name(own->layer);
    char where[160];
    const bool bare = own->calls && liana__keras_is_reference(own->calls->items[0]);
    const liana__value *call = !own->calls ? NULL : bare ? own->calls : own->calls->items[own->num_added];
    LIANA_TRY(liana__operation_from_keras(own->layer, call, &r->arena, &text, &r->error));
    if (own->num_added && strcmp(own->function, text) == 0) return call_again(r, own, next);
    if (own->num_added) return refuse(r, own->layer, name, "its calls have different constants");
    own->function = text;
    liana__value *options = liana__value_map(&r->arena);
    if (!options) return liana__fail_memory(&r->error, "a layer's options");
    liana__value_set(&r->arena, options, "function", liana__value_string(&r->arena, text));
    if (r->arena.failed) return liana__fail_memory(&r->error, "a layer's options");
    snprintf(where, sizeof where, "layer '%.100s'", name ? name : "?");
    const liana__layer_request request = {.here = place_of(own->layer),
                                          .type = &liana__layer_operation,
                                          .name = name,
                                          .inputs = next->inputs,
                                          .num_inputs = next->num_inputs,
                                          .options = options,
                                          .where = where};
    return liana__model_add(r->model, &request).id ? LIANA_OK : r->model->error.status;
}

/* Adds the next calls of an entry, as long as all their inputs are there. */
static liana_status try_entry(reader *r, entry *own)
{
    while (own->num_added < own->num_calls && !is_passed_over(own)) {
        liana__keras_references found = {.count = 0};
        size_t nodes[LIANA_MAX_LAYER_INPUTS];
        layer_call next = {.inputs = nodes};
        LIANA_TRY(next_call(r, own, &found, &next));
        for (size_t i = 0; i < found.count; i++) {
            nodes[i] = find_result(r, &found.items[i], false);
            if (nodes[i] == LIANA__NONE) return LIANA_OK;
        }
        next.num_inputs = found.count;
        LIANA_TRY(add_call(r, own, &next));
        own->num_added++;
    }
    return LIANA_OK;
}

/* An entry could not be added: an input is not there. */
static liana_status fail_entry(reader *r, const entry *stuck)
{
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
            bool left = entries[i].num_added < entries[i].num_calls && !is_passed_over(&entries[i]);
            if (left && !stuck) stuck = &entries[i];
        }
        if (!stuck) return LIANA_OK;
        if (r->model->num_nodes == before) return fail_entry(r, stuck);
    }
}

/* The inputs in the order of the file; of a map, in that of the keys, as calls have them. */
static liana_status order_inputs(reader *r, const liana__value *config)
{
    const liana__value *inputs = liana__value_get(config, "input_layers");
    liana__keras_references found = {.count = 0};
    liana__keras_collect(inputs, &found);
    if (found.count == 0) return LIANA_OK;
    liana_model *model = r->model;
    size_t nodes[LIANA_MAX_LAYER_INPUTS];
    for (size_t i = 0; i < found.count; i++) {
        nodes[i] = find_result(r, &found.items[i], true);
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

/* Keras numbers the outputs of a nested model by their names, if they have any; a whole model's stay in the file's
 * order. */
static void collect_outputs(const reader *r, const liana__value *outputs, liana__keras_references *found,
                            const char *names[LIANA_MAX_LAYER_INPUTS])
{
    const bool is_map = outputs && outputs->kind == LIANA__VALUE_MAP && !liana__value_get(outputs, "keras_history");
    const bool is_sorted = r->depth && r->is_new;
    if (!is_map) {
        liana__keras_collect(outputs, found);
        return;
    }
    const char *last = NULL;
    for (size_t i = 0; i < outputs->count; i++) {
        const size_t key = is_sorted ? liana__keras_next_key(outputs, last) : i;
        const size_t before = found->count;
        last = outputs->keys[key];
        liana__keras_collect(outputs->items[key], found);
        if (found->count == before + 1) names[before] = last;
    }
}

/* The outputs; a single one that is the last node anyway is not fixed, so that layers can be added after it. */
static liana_status choose_outputs(reader *r, const liana__value *config)
{
    const liana__value *outputs = liana__value_get(config, "output_layers");
    liana__keras_references found = {.count = 0};
    const char *names[LIANA_MAX_LAYER_INPUTS] = {NULL};
    collect_outputs(r, outputs, &found, names);
    if (found.count == 0 || found.too_many) {
        return refuse(r, outputs ? outputs : config, "output_layers",
                      found.too_many ? "more than 16 outputs" : "no output is named");
    }
    size_t nodes[LIANA_MAX_LAYER_INPUTS];
    for (size_t i = 0; i < found.count; i++) {
        nodes[i] = find_result(r, &found.items[i], true);
        if (nodes[i] != LIANA__NONE) continue;
        return liana__fail_at(&r->error, &outputs->place, "output_layers",
                              "'%.60s' (call %lld, output %lld) is not there", found.items[i].name,
                              (long long)found.items[i].number, (long long)found.items[i].output);
    }
    if (found.count == 1 && !names[0] && nodes[0] == liana__model_last_node(r->model)) return LIANA_OK;
    return liana__model_set_outputs(r->model, place_of(outputs), nodes, names, found.count);
}

static liana_status read_functional(reader *r, const liana__value *config)
{
    const liana__value *layers;
    LIANA_TRY(expect(r, config, "layers", LIANA__VALUE_LIST, &layers));
    LIANA_TRY(read_dtype(r, config, false, "the model"));
    LIANA__SCOPED_MEMORY entry *entries = calloc(layers->count + 1, sizeof *entries);
    if (!entries) return liana__fail_memory(&r->error, "a model");
    r->models = r->renamed = NULL;
    r->entries = entries;
    r->num_entries = layers->count;
    for (size_t i = 0; i < layers->count; i++) {
        const liana__value *layer = liana__keras_expand(layers->items[i], &r->arena);
        if (!layer) return liana__fail_memory(&r->error, "a model");
        open_entry(layer, &entries[i]);
        if (text_of(layer, LIANA__KERAS_NAME)) {
            entries[i].next_renamed = r->renamed;
            r->renamed = &entries[i];
        }
        r->is_new = r->is_new || entries[i].is_new;
        if (!liana__keras_is_model_class(text_of(layer, "class_name"))) continue;
        entries[i].next_model = r->models;
        r->models = &entries[i];
    }
    count_calls(r, config, entries, layers->count);
    liana_status status = mark_operations(r, config, entries, layers->count);
    if (status == LIANA_OK) status = add_in_order(r, entries, layers->count);
    for (size_t i = 0; i < layers->count; i++) liana_model_destroy(entries[i].inner);
    if (status == LIANA_OK) status = order_inputs(r, config);
    if (status == LIANA_OK) status = choose_outputs(r, config);
    r->models = r->renamed = r->entries = NULL;
    r->num_entries = 0;
    return status;
}

static liana_status read_model(reader *r, const char *class_name, const liana__value *config)
{
    const bool functional = strcmp(class_name, "Sequential") != 0;
    if (functional) r->model->functional = true;
    LIANA_TRY(functional ? read_functional(r, config) : read_sequential(r, config));
    const liana__value *trainable = liana__value_get(config, "trainable");
    if (trainable && trainable->kind == LIANA__VALUE_BOOL && !trainable->boolean) {
        liana__model_set_trainable(r->model, 0, r->model->num_layers, false);
    }
    return LIANA_OK;
}

/* ---- the file ---- */

static liana_status read_architecture(reader *r, const liana__value *root)
{
    /* tfjs's model.json and the attributes of an HDF5 file wrap the architecture. */
    const liana__value *inner = liana__value_get(root, "modelTopology");
    if (inner) root = inner;
    const liana__value *wrapper = root;
    inner = liana__value_get(root, "model_config");
    if (inner) root = inner;
    LIANA_TRY(liana__keras_find_generation(wrapper, root, &r->keras3, &r->error));
    LIANA_TRY(liana__keras_check_classes(r->model->context, root, &r->error));
    LIANA_TRY(liana__keras_check_sharing(root, &r->error));
    const liana__value *class_value, *config = liana__value_get(root, "config");
    LIANA_TRY(expect(r, root, "class_name", LIANA__VALUE_STRING, &class_value));
    if (!config) return liana__fail_at(&r->error, &root->place, NULL, "the key 'config' is missing");
    const char *name = text_of(config, "name");
    if (name && !r->model->name) {
        r->model->name = liana__arena_string(&r->model->arena, name);
        if (!r->model->name) return liana__fail_memory(&r->error, "a model");
    }
    if (!liana__keras_is_model_class(class_value->string)) {
        liana__fail_at(&r->error, &class_value->place, NULL,
                       "found a model of the class '%.60s', expected Sequential or Functional; a class of its own is "
                       "Python code, which an architecture file does not hold",
                       class_value->string);
        r->error.status = LIANA_UNIMPLEMENTED;
        return LIANA_UNIMPLEMENTED;
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
