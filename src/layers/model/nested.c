/* A model as a layer of another: its layers are copied once, its nodes once for each use. */
#include "layers/model.h"

#include "base/scoped.h"
#include "ir/shape.h"

#include <string.h>

/* ---- names ---- */

static liana_layer refuse(liana_model *model, const liana__nest_request *request, liana_status status,
                          const char *message)
{
    return liana__model_fail(model, request->here, status, "nested model '%s': %s",
                             request->name ? request->name : liana__model_name(request->inner), message);
}

/* The nested model that shares its layers with this request, or LIANA__NONE. */
static size_t find_shared(const liana_model *model, const liana__nest_request *request)
{
    for (size_t i = 0; i < model->num_nested; i++) {
        const liana__nested *nested = &model->nested[i];
        if (nested->within != LIANA__NONE || nested->identity != request->inner->identity) continue;
        if (!request->name || strcmp(nested->name, request->name) == 0) return i;
    }
    return LIANA__NONE;
}

static const char *choose_name(liana_model *model, const liana__nest_request *request)
{
    if (request->name) return liana__arena_string(&model->arena, request->name);
    if (request->inner->name) return liana__arena_string(&model->arena, request->inner->name);
    return liana__model_free_name(model, liana__model_name(request->inner), false);
}

/* ---- checks ---- */

/* The values that enter have the shape that the inner model was made for. Their dtype is converted, as in Keras. */
static liana_status check_input(const liana_model *model, const liana_model *inner, size_t index, size_t node,
                                liana__error *error)
{
    const liana__layer_node *given = &model->nodes[node];
    const liana__model_port port = liana__model_input(inner, index);
    liana_shape expected = port.shape;
    for (int d = 1; d < expected.rank && given->shape.rank == expected.rank; d++) {
        if (port.free >> d & 1) expected.dims[d] = given->shape.dims[d];
    }
    if (liana_shape_equal(&given->shape, &expected)) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT, "its input '%s' is %s for each example, found %s from layer '%s'",
                       port.name, liana__type_print(port.dtype, &port.shape).text,
                       liana__type_print(given->dtype, &given->shape).text, model->layers[given->layer].name);
}

static liana_status check_inputs(const liana_model *model, const liana__nest_request *request, const size_t *inputs,
                                 size_t num_inputs, liana__error *error)
{
    const liana_model *inner = request->inner;
    if (num_inputs != inner->num_inputs) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "found %zu inputs, expected %zu", num_inputs,
                           inner->num_inputs);
    }
    for (size_t i = 0; i < num_inputs; i++) LIANA_TRY(check_input(model, inner, i, inputs[i], error));
    return LIANA_OK;
}

static liana_status check_request(const liana_model *model, const liana__nest_request *request, liana__error *error)
{
    const liana_model *inner = request->inner;
    if (inner == model) return liana__fail(error, LIANA_INVALID_ARGUMENT, "a model cannot be a layer of itself");
    if (inner->context != model->context) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "it belongs to another context");
    }
    LIANA_TRY(liana__model_check(inner, error));
    if (model->num_nodes) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_CONFIG,
                       "a model must begin with an InputLayer, which gives the shape of one example");
}

/* ---- copying ---- */

/* The begin of a copy. */
typedef struct copying {
    liana_model *model;
    const liana_model *inner;
    const char *name;
    const size_t *inputs;
    size_t nested;      /* index of the nested model */
    size_t use;         /* index of the use */
    size_t first_layer; /* offsets of the copied layers and nodes */
    size_t first_node;
    size_t first_nested;
    size_t first_use;
    bool frozen, inference;
    bool is_new;
} copying;

static size_t moved(size_t index, size_t first, size_t otherwise)
{
    return index == LIANA__NONE ? otherwise : first + index;
}

/* The nodes from which a node's copy reads: those of the use, or, for an InputLayer, the given one. */
static size_t copy_inputs(const copying *own, size_t node, size_t *inputs)
{
    const liana__layer_node *from = &own->inner->nodes[node];
    for (size_t i = 0; i < from->num_inputs; i++) inputs[i] = own->first_node + from->inputs[i];
    if (from->num_inputs) return from->num_inputs;
    size_t index = 0;
    while (own->inner->inputs[index] != node) index++;
    inputs[0] = own->inputs[index];
    return 1;
}

/* A further call of its layer, or the first of a new layer. */
static void copy_call(const copying *own, const liana__layer_node *call, const size_t *inputs, size_t num_inputs)
{
    LIANA__SCOPED(liana__arena) scratch = {0};
    const liana__layer *from = &own->inner->layers[call->layer];
    const liana__value *options = liana__fields_write(&from->type->part.options, &scratch, call->options);
    const char *name = liana__arena_format(&scratch, "%s/%s", own->name, from->name);
    if (!options || !name || scratch.failed) {
        liana__model_fail(own->model, from->where, LIANA_OUT_OF_MEMORY, "out of memory for a model");
        return;
    }
    liana__layer_request request = {.here = call->where,
                                    .type = from->type,
                                    .name = name,
                                    .frozen = own->frozen || !from->trainable,
                                    .inference = from->inference,
                                    .inputs = inputs,
                                    .num_inputs = num_inputs,
                                    .slots = call->slots,
                                    .options = options};
    if (own->is_new && call->number == 0) {
        liana__model_add(own->model, &request);
    } else {
        liana__model_reuse(own->model, own->first_layer + call->layer, &request);
    }
}

static void copy_nodes(const copying *own)
{
    liana_model *model = own->model;
    for (size_t i = 0; i < own->inner->num_nodes && model->error.status == LIANA_OK; i++) {
        const liana__layer_node *from = &own->inner->nodes[i];
        const liana__layer *layer = &own->inner->layers[from->layer];
        if (from->output) continue; /* its call adds it */
        size_t inputs[LIANA_MAX_LAYER_INPUTS], num_inputs = copy_inputs(own, i, inputs);
        model->building_use = moved(from->within, own->first_use, own->use);
        model->building_nested = moved(layer->within, own->first_nested, own->nested);
        copy_call(own, from, inputs, num_inputs);
    }
    model->building_use = model->building_nested = LIANA__NONE;
}

/* The nested models of the inner model, as part of this one. */
static liana_status copy_nested(const copying *own, liana__error *error)
{
    liana_model *model = own->model;
    for (size_t i = 0; i < own->inner->num_nested; i++) {
        const liana__nested *from = &own->inner->nested[i];
        if (!liana__grow(&model->nested, model->num_nested, &model->nested_capacity, sizeof *model->nested)) {
            return liana__fail_memory(error, "a model");
        }
        liana__nested *to = &model->nested[model->num_nested++];
        *to = *from;
        to->identity->num_holders++;
        to->name = liana__arena_format(&model->arena, "%s/%s", own->name, from->name);
        to->within = moved(from->within, own->first_nested, own->nested);
        to->first_layer = own->first_layer + from->first_layer;
        to->num_uses = 0;
        to->inputs = liana__arena_copy(&model->arena, from->inputs, from->num_inputs * sizeof *to->inputs);
        to->outputs = liana__arena_copy(&model->arena, from->outputs, from->num_outputs * sizeof *to->outputs);
        to->output_names =
            liana__arena_copy(&model->arena, from->output_names, from->num_outputs * sizeof *to->output_names);
        for (size_t k = 0; to->output_names && k < to->num_outputs; k++) {
            to->output_names[k] = liana__arena_string(&model->arena, from->output_names[k]);
        }
    }
    return model->arena.failed ? liana__fail_memory(error, "a model") : LIANA_OK;
}

static liana_status add_use(liana_model *model, size_t nested, size_t first_node, size_t within, liana__error *error)
{
    if (!liana__grow(&model->uses, model->num_uses, &model->use_capacity, sizeof *model->uses)) {
        return liana__fail_memory(error, "a model");
    }
    model->uses[model->num_uses++] = (liana__nested_use){.nested = nested,
                                                         .number = model->nested[nested].num_uses++,
                                                         .first_node = first_node,
                                                         .within = within};
    return LIANA_OK;
}

static liana_status copy_uses(const copying *own, liana__error *error)
{
    LIANA_TRY(add_use(own->model, own->nested, own->first_node, LIANA__NONE, error));
    for (size_t i = 0; i < own->inner->num_uses; i++) {
        const liana__nested_use *from = &own->inner->uses[i];
        LIANA_TRY(add_use(own->model, own->first_nested + from->nested, own->first_node + from->first_node,
                          moved(from->within, own->first_use, own->use), error));
    }
    return LIANA_OK;
}

static liana_status add_nested(const copying *own, liana__error *error)
{
    liana_model *model = own->model;
    const liana_model *inner = own->inner;
    size_t num_outputs = liana__model_num_outputs(inner);
    if (!liana__grow(&model->nested, model->num_nested, &model->nested_capacity, sizeof *model->nested)) {
        return liana__fail_memory(error, "a model");
    }
    liana__nested made = {
        .name = own->name,
        .functional = inner->functional || !liana__model_is_sequential(inner),
        .inference = own->inference,
        .within = LIANA__NONE,
        .identity = inner->identity,
        .version = inner->structure_version,
        .first_layer = own->first_layer,
        .num_layers = inner->num_layers,
        .num_nodes = inner->num_nodes,
        .num_inputs = inner->num_inputs,
        .num_outputs = num_outputs,
        .inputs = liana__arena_copy(&model->arena, inner->inputs, inner->num_inputs * sizeof *inner->inputs),
        .outputs = liana__arena_allocate(&model->arena, num_outputs * sizeof *made.outputs),
        .output_names = liana__arena_allocate(&model->arena, num_outputs * sizeof *made.output_names),
    };
    if (!made.inputs || !made.outputs || !made.output_names) return liana__fail_memory(error, "a model");
    for (size_t i = 0; i < num_outputs; i++) {
        made.outputs[i] = liana__model_output_node(inner, i);
        made.output_names[i] = liana__arena_string(&model->arena, liana__model_output(inner, i).name);
    }
    made.identity->num_holders++;
    model->nested[model->num_nested++] = made;
    LIANA_TRY(copy_nested(own, error));
    return model->arena.failed ? liana__fail_memory(error, "a model") : LIANA_OK;
}

/* The copy begins with the values that the inner model has. */
static liana_status copy_values(const copying *own, liana__error *error)
{
    liana_model *model = own->model;
    const liana_model *inner = own->inner;
    if (!inner->num_values) return LIANA_OK;
    LIANA_TRY(liana__model_values_complete(model, error));
    size_t first = model->layers[own->first_layer].first_weight;
    for (size_t i = 0; i < inner->num_values; i++) {
        memcpy(model->values[first + i], inner->values[i], liana__byte_size(LIANA_F32, &inner->weights[i].shape));
    }
    model->values_version++;
    return LIANA_OK;
}

static liana_status copy_all(copying *own, liana__error *error)
{
    liana_model *model = own->model;
    if (own->is_new) LIANA_TRY(add_nested(own, error));
    LIANA_TRY(copy_uses(own, error));
    copy_nodes(own);
    if (model->error.status != LIANA_OK) {
        *error = model->error;
        return error->status;
    }
    return own->is_new ? copy_values(own, error) : LIANA_OK;
}

/* ---- a use ---- */

static liana_status check_again(const liana_model *model, const liana__nest_request *request, size_t shared,
                                liana__error *error)
{
    const liana__nested *nested = &model->nested[shared];
    if (nested->num_uses >= LIANA__MOST_CALLS) {
        return liana__fail(error, LIANA_OUT_OF_RANGE, "a nested model is used at most %d times", LIANA__MOST_CALLS);
    }
    if (nested->inference != request->inference) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "its first use has training = %s, and this one %s; give the uses models of their own",
                           nested->inference ? "false" : "true", request->inference ? "false" : "true");
    }
    if (nested->version == request->inner->structure_version) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "the model has changed since it was first nested; nest it under another name, with weights of "
                       "its own");
}

static liana_status nest(liana_model *model, const liana__nest_request *request, liana__error *error)
{
    LIANA_TRY(check_request(model, request, error));
    size_t before = liana__model_last_node(model), shared = find_shared(model, request);
    const size_t *inputs = request->inputs ? request->inputs : &before;
    LIANA_TRY(check_inputs(model, request, inputs, request->inputs ? request->num_inputs : 1, error));
    copying own = {.model = model,
                   .inner = request->inner,
                   .inputs = inputs,
                   .frozen = request->frozen,
                   .inference = request->inference,
                   .is_new = shared == LIANA__NONE,
                   .use = model->num_uses,
                   .first_use = model->num_uses + 1,
                   .first_node = model->num_nodes};
    own.nested = own.is_new ? model->num_nested : shared;
    own.first_nested = own.nested + 1;
    own.first_layer = own.is_new ? model->num_layers : model->nested[shared].first_layer;
    own.name = own.is_new ? choose_name(model, request) : model->nested[shared].name;
    if (!own.name) return liana__fail_memory(error, "a model");
    LIANA_TRY(own.is_new ? liana__model_check_name(model, own.name, error)
                         : check_again(model, request, shared, error));
    return copy_all(&own, error);
}

typedef struct counts {
    size_t layers, nodes, weights, nested, uses;
} counts;

/* After a failure the model, which cannot be used any more, can still be looked at. */
static void go_back(liana_model *model, const counts *before)
{
    for (size_t i = before->uses; i < model->num_uses; i++) model->nested[model->uses[i].nested].num_uses--;
    model->num_layers = before->layers;
    model->num_nodes = before->nodes;
    model->num_weights = model->num_values > before->weights ? model->num_values : before->weights;
    while (model->num_nested > before->nested) model->nested[--model->num_nested].identity->num_holders--;
    model->num_uses = before->uses;
}

liana_layer liana__model_nest(liana_model *model, const liana__nest_request *request)
{
    if (model->error.status != LIANA_OK) return (liana_layer){model, 0};
    liana__error error = {0};
    const counts before = {model->num_layers, model->num_nodes, model->num_weights, model->num_nested, model->num_uses};
    liana_status status = nest(model, request, &error);
    if (status != LIANA_OK) {
        go_back(model, &before);
        return refuse(model, request, status, error.message);
    }
    const liana__nested_use *made = &model->uses[before.uses];
    return (liana_layer){model, (uint32_t)(made->first_node + model->nested[made->nested].outputs[0] + 1)};
}
