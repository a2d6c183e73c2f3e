/* Models: adding layers, naming them, and what they hold. */
#include "layers/model.h"

#include "base/named.h"
#include "ir/graph.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

liana_status liana_model_create(liana_context *context, const char *name, liana_model **out)
{
    *out = NULL;
    liana_model *model = calloc(1, sizeof *model);
    if (!model) return liana__fail_memory(&context->error, "a model");
    model->context = context;
    model->name = liana__arena_string(&model->arena, name);
    if (model->arena.failed) {
        liana_model_destroy(model);
        return liana__fail_memory(&context->error, "a model");
    }
    *out = model;
    return LIANA_OK;
}

void liana_model_destroy(liana_model *model)
{
    if (!model) return;
    if (model->compiled) model->destroy_compiled(model->compiled);
    liana__arena_free(&model->arena);
    free(model->layers);
    free(model->weights);
    for (size_t i = 0; i < model->num_values; i++) free(model->values[i]);
    free(model->values);
    free(model);
}

liana_status liana_model_status(const liana_model *model)
{
    if (model->error.status != LIANA_OK) model->context->error = model->error;
    return model->error.status;
}

/* The sticky error is the one in `error`; "file:line: " comes before it unless it names a place in that file already.
 */
static liana_layer keep_error(liana_model *model, const liana_location *here, const liana__error *error)
{
    if (model->error.status == LIANA_OK) {
        model->error = *error;
        size_t length = strlen(here->file);
        bool placed = strncmp(error->message, here->file, length) == 0 && error->message[length] == ':';
        if (!placed && here->line > 0) liana__fail_within(&model->error, "%s:%d", here->file, here->line);
        if (!placed && here->line <= 0) liana__fail_within(&model->error, "%s", here->file);
        model->context->error = model->error;
    }
    return (liana_layer){model, 0};
}

liana_layer liana__model_fail(liana_model *model, liana_location here, liana_status status, const char *format, ...)
{
    liana__error error;
    va_list arguments;
    va_start(arguments, format);
    liana__fail_list(&error, status, format, arguments);
    va_end(arguments);
    return keep_error(model, model->blamed ? model->blamed : &here, &error);
}

int liana__model_find_layer(const liana_model *model, const char *name)
{
    for (size_t i = 0; i < model->num_layers; i++) {
        if (strcmp(model->layers[i].name, name) == 0) return (int)i;
    }
    return -1;
}

int liana__model_find_weight(const liana_model *model, const char *name)
{
    for (size_t i = 0; i < model->num_weights; i++) {
        if (strcmp(model->weights[i].name, name) == 0) return (int)i;
    }
    return -1;
}

/* ---- names ---- */

/* MaxPooling2D -> max_pooling2d: Keras puts '_' before a capital that begins a word. */
static void snake_case(const char *class_name, char *snake, size_t size)
{
    size_t length = 0;
    for (size_t i = 0; class_name[i] && length + 2 < size; i++) {
        unsigned char letter = (unsigned char)class_name[i], next = (unsigned char)class_name[i + 1];
        bool begins = i > 0 && isupper(letter) && (islower(next) || islower((unsigned char)class_name[i - 1]));
        if (begins) snake[length++] = '_';
        snake[length++] = (char)tolower(letter);
    }
    snake[length] = 0;
}

/* conv2d, conv2d_1, ...: the first that is free. Inputs are counted from 1: input_1. */
static const char *automatic_name(liana_model *model, const liana__layer_type *type)
{
    char stem[64];
    snake_case(type->name, stem, sizeof stem);
    bool is_input = type->max_inputs == 0;
    const char *name = is_input ? "input_1" : liana__arena_string(&model->arena, stem);
    for (int number = is_input ? 2 : 1; name && liana__model_find_layer(model, name) >= 0; number++) {
        name = liana__arena_format(&model->arena, "%s_%d", is_input ? "input" : stem, number);
    }
    return name;
}

/* ---- weights ---- */

void liana__add_weight(liana__layer_build *build, const char *name, liana_shape shape, const char *initializer,
                       bool trainable)
{
    liana_model *model = build->model;
    if (build->status != LIANA_OK) return;
    if (!liana__shape_valid(LIANA_F32, &shape)) {
        build->status = liana__fail(build->error, LIANA_OUT_OF_RANGE, "its weight '%s' would have the shape %s", name,
                                    liana__shape_print(&shape).text);
        return;
    }
    liana__layer *layer = &model->layers[model->num_layers];
    const char *full = liana__arena_format(&model->arena, "%s/%s", layer->name, name);
    if (!full || !liana__grow(&model->weights, model->num_weights, &model->weight_capacity, sizeof *model->weights)) {
        build->status = liana__fail_memory(build->error, "a model's weights");
        return;
    }
    liana__weight *weight = &model->weights[model->num_weights];
    *weight = (liana__weight){
        .name = full, .short_name = name, .shape = shape, .layer = model->num_layers, .trainable = trainable};
    build->status = liana__initializer_parse(initializer, &weight->initializer, build->error);
    if (build->status != LIANA_OK) return;
    model->num_weights++;
    layer->num_weights++;
}

bool liana__weight_trainable(const liana_model *model, size_t weight)
{
    return model->weights[weight].trainable && model->layers[model->weights[weight].layer].trainable;
}

void liana__model_initialize(const liana_model *model, uint64_t seed, size_t weight, float *values)
{
    const liana__weight *item = &model->weights[weight];
    liana__initializer_fill(&item->initializer, seed, (uint32_t)weight, &item->shape, values);
}

/* ---- adding a layer ---- */

static liana_status find_inputs(liana_model *model, const liana__layer_request *request, liana__layer *layer,
                                liana__error *error)
{
    const liana__layer_type *type = request->type;
    size_t before = model->num_layers - 1;
    layer->num_inputs = request->inputs ? request->num_inputs : type->max_inputs > 0 ? 1 : 0;
    if (type->max_inputs == 0 && model->num_layers > 0) {
        return liana__fail(error, LIANA_UNIMPLEMENTED, "a model has one input, which is '%s'", model->layers[0].name);
    }
    if (type->max_inputs > 0 && model->num_layers == 0) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "a model must begin with an InputLayer, which gives the shape of one example");
    }
    if (layer->num_inputs < type->min_inputs || layer->num_inputs > type->max_inputs) {
        return liana__fail(error, LIANA_INVALID_CONFIG, "found %zu inputs, expected %zu%s", layer->num_inputs,
                           type->min_inputs, type->max_inputs > type->min_inputs ? " or more" : "");
    }
    const size_t *inputs = request->inputs ? request->inputs : &before;
    layer->inputs = liana__arena_copy(&model->arena, inputs, layer->num_inputs * sizeof *inputs);
    return layer->inputs ? LIANA_OK : liana__fail_memory(error, "a model");
}

static liana_status read_options(liana_model *model, const liana__layer_request *request, liana__layer *layer,
                                 liana__error *error)
{
    const char *where = request->where ? request->where : layer->name;
    layer->options = liana__arena_allocate(&model->arena, request->type->options->size);
    if (!layer->options) return liana__fail_memory(error, "a model");
    LIANA_TRY(liana__fields_read(request->type->options, request->options, where, request->other_keys, &model->arena,
                                 layer->options, error));
    if (!request->type->check) return LIANA_OK;
    liana__layer_check check = {.options = layer->options, .map = request->options, .where = where, .error = error};
    return request->type->check(&check);
}

static liana_status declare_weights(liana_model *model, const liana__layer *layer, const liana_shape *shapes,
                                    liana__error *error)
{
    if (!layer->type->weights) return LIANA_OK;
    liana__layer_build build = {
        .options = layer->options,
        .inputs = shapes,
        .num_inputs = layer->num_inputs,
        .model = model,
        .error = error,
    };
    liana_status status = layer->type->weights(&build);
    return status != LIANA_OK ? status : build.status;
}

/* The context's error without "file:line: ", which comes before the layer's name later. */
static void take_graph_error(const liana_model *model, const liana_location *where, liana__error *error)
{
    char place[512];
    int length = snprintf(place, sizeof place, "%s:%d: ", where->file, where->line);
    const char *message = model->context->error.message;
    liana__fail(error, model->context->error.status, "%s", message + (liana__starts_with(message, place) ? length : 0));
}

/* Builds the layer by itself, on a batch of 1. */
static liana_status infer_shape(const liana_model *model, liana__layer *layer, const liana_shape *shapes,
                                liana__error *error)
{
    liana_graph *graph;
    liana_tensor inputs[LIANA_MAX_LAYER_INPUTS] = {{0}}, weights[16] = {{0}};
    if (liana_graph_create(model->context, &graph) != LIANA_OK) return liana__fail_memory(error, "a graph");
    for (size_t i = 0; i < layer->num_inputs; i++) {
        char name[32];
        snprintf(name, sizeof name, "input_%zu", i);
        inputs[i] = liana_graph_input_at(layer->where, graph, name, LIANA_F32, shapes[i]);
    }
    for (size_t i = 0; i < layer->num_weights; i++) {
        const liana__weight *weight = &model->weights[layer->first_weight + i];
        weights[i] = liana_graph_variable_at(layer->where, graph, weight->name, LIANA_F32, weight->shape);
    }
    liana__layer_call call = {
        .here = layer->where,
        .options = layer->options,
        .inputs = inputs,
        .num_inputs = layer->num_inputs,
        .weights = weights,
    };
    liana_tensor output = layer->type->call(&call);
    liana_status status = liana_graph_status(graph);
    layer->shape = liana_tensor_shape(output);
    layer->is_softmax = call.logits.id != 0;
    layer->is_identity = layer->num_inputs == 1 && output.id == inputs[0].id;
    if (status != LIANA_OK) take_graph_error(model, &layer->where, error);
    liana_graph_destroy(graph);
    return status;
}

static liana_status build_layer(liana_model *model, liana__layer *layer, liana__error *error)
{
    liana_shape shapes[LIANA_MAX_LAYER_INPUTS];
    for (size_t i = 0; i < layer->num_inputs; i++) shapes[i] = model->layers[layer->inputs[i]].shape;
    LIANA_TRY(declare_weights(model, layer, shapes, error));
    if (layer->type->call) return infer_shape(model, layer, shapes, error);
    const liana_input_options *input = layer->options;
    layer->shape = (liana_shape){.rank = (int)input->shape.count + 1, .dims = {1}};
    memcpy(layer->shape.dims + 1, input->shape.values, (size_t)input->shape.count * sizeof(int64_t));
    if (liana__shape_valid(LIANA_F32, &layer->shape)) return LIANA_OK;
    return liana__fail(error, LIANA_OUT_OF_RANGE, "examples of shape %s are too large",
                       liana__shape_print(&layer->shape).text);
}

/* In files a layer's weight is named "layer/weight": the text before the last '/' is the layer's name. */
static liana_status check_name(const char *name, liana__error *error)
{
    size_t length = strlen(name);
    bool path_like = length > 0 && name[0] != '/' && name[length - 1] != '/' && !strstr(name, "//");
    if (!path_like || strchr(name, '\n')) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "the layer name '%.60s' is empty, has a line break, or has a '/' at an end or two in a row",
                           name);
    }
    if (!liana__starts_with(name, "optimizer/")) return LIANA_OK;
    return liana__fail(
        error, LIANA_INVALID_CONFIG,
        "the layer name '%.60s' begins with 'optimizer/', which is for the optimizer's values in checkpoints", name);
}

static liana_status name_layer(liana_model *model, const liana__layer_request *request, liana__layer *layer,
                               liana__error *error)
{
    layer->name =
        request->name ? liana__arena_string(&model->arena, request->name) : automatic_name(model, request->type);
    if (!layer->name) return liana__fail_memory(error, "a model");
    LIANA_TRY(check_name(layer->name, error));
    if (liana__model_find_layer(model, layer->name) < 0) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_CONFIG, "there is a layer '%.60s' already; give this one another name",
                       layer->name);
}

liana_layer liana__model_add(liana_model *model, const liana__layer_request *request)
{
    liana_layer none = {model, 0};
    if (model->error.status != LIANA_OK) return none;
    const liana_location here = model->blamed ? *model->blamed : request->here;
    liana__error error = {0};
    if (!liana__grow(&model->layers, model->num_layers, &model->layer_capacity, sizeof *model->layers)) {
        liana__fail_memory(&error, "a model");
        return keep_error(model, &here, &error);
    }
    liana__layer *layer = &model->layers[model->num_layers];
    *layer = (liana__layer){
        .type = request->type,
        .trainable = !request->frozen,
        .first_weight = model->num_weights,
        .where = here,
    };
    layer->where.file = liana__arena_string(&model->arena, here.file);
    liana_status status = layer->where.file ? LIANA_OK : liana__fail_memory(&error, "a model");
    if (status == LIANA_OK) status = name_layer(model, request, layer, &error);
    if (status == LIANA_OK) status = read_options(model, request, layer, &error);
    if (status != LIANA_OK) return keep_error(model, &here, &error);
    status = find_inputs(model, request, layer, &error);
    if (status == LIANA_OK) status = build_layer(model, layer, &error);
    if (status != LIANA_OK) {
        liana__fail_within(&error, "layer '%s' (%s)", layer->name, layer->type->name);
        return keep_error(model, &here, &error);
    }
    model->num_layers++;
    model->structure_version++;
    return (liana_layer){model, (uint32_t)model->num_layers};
}

/* ---- questions ---- */

liana_layer liana_model_layer(const liana_model *model, const char *name)
{
    int index = name ? liana__model_find_layer(model, name) : -1;
    return (liana_layer){(liana_model *)(uintptr_t)model, (uint32_t)(index + 1)};
}

liana_shape liana_layer_shape(liana_layer layer)
{
    if (!layer.model || layer.id == 0 || layer.id > layer.model->num_layers) return LIANA_SCALAR;
    liana_shape shape = layer.model->layers[layer.id - 1].shape;
    if (shape.rank) shape.dims[0] = -1;
    return shape;
}

liana_precision liana_model_precision(const liana_model *model)
{
    return model->precision;
}

void liana_model_set_precision(liana_model *model, liana_precision precision)
{
    model->precision = precision;
}

int64_t liana_model_num_parameters(const liana_model *model, bool trainable_only)
{
    int64_t count = 0;
    for (size_t i = 0; i < model->num_weights; i++) {
        if (!trainable_only || liana__weight_trainable(model, i)) count += liana_shape_size(&model->weights[i].shape);
    }
    return count;
}

liana_shape liana__model_input_shape(const liana_model *model)
{
    return model->num_layers ? model->layers[0].shape : LIANA_SCALAR;
}

liana_shape liana__model_output_shape(const liana_model *model)
{
    return model->num_layers ? model->layers[model->num_layers - 1].shape : LIANA_SCALAR;
}

bool liana__model_is_sequential(const liana_model *model)
{
    for (size_t i = 1; i < model->num_layers; i++) {
        if (model->layers[i].num_inputs != 1 || model->layers[i].inputs[0] != i - 1) return false;
    }
    return true;
}

const char *liana__model_name(const liana_model *model)
{
    return model->name ? model->name : liana__model_is_sequential(model) ? "sequential" : "model";
}

static liana_status check_all_used(const liana_model *model, bool *used, liana__error *error)
{
    used[model->num_layers - 1] = true;
    for (size_t i = model->num_layers; i-- > 0;) {
        const liana__layer *layer = &model->layers[i];
        if (!used[i]) {
            return liana__fail(
                error, LIANA_INVALID_CONFIG,
                "%s:%d: layer '%s' (%s) does not lead to the model's output, which is the last layer, '%s'",
                layer->where.file, layer->where.line, layer->name, layer->type->name,
                model->layers[model->num_layers - 1].name);
        }
        for (size_t k = 0; k < layer->num_inputs; k++) used[layer->inputs[k]] = true;
    }
    return LIANA_OK;
}

liana_status liana__model_check(const liana_model *model, liana__error *error)
{
    if (model->error.status != LIANA_OK) {
        if (error) *error = model->error;
        return model->error.status;
    }
    if (model->num_layers < 2) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "the model has %s; expected an InputLayer and at least one layer after it",
                           model->num_layers ? "only an InputLayer" : "no layers");
    }
    bool *used = calloc(model->num_layers, sizeof *used);
    if (!used) return liana__fail_memory(error, "a model");
    liana_status status = check_all_used(model, used, error);
    free(used);
    return status;
}

/* ---- changing ---- */

void liana__model_set_trainable(liana_model *model, size_t begin, size_t end, bool trainable)
{
    for (size_t i = begin; i < end && i < model->num_layers; i++) model->layers[i].trainable = trainable;
    model->structure_version++;
}

static liana_status fail_no_layer(const liana_model *model, const char *name, liana__error *error)
{
    const char *nearest = liana__named_nearest(LIANA__NAMED(liana__layer, model->layers, model->num_layers), name);
    return liana__fail(error, LIANA_NOT_FOUND, "the model '%s' has no layer '%.60s'%s", liana__model_name(model), name,
                       liana__hint(nearest).text);
}

liana_status liana__model_train_from(liana_model *model, const char *name, liana__error *error)
{
    int first = liana__model_find_layer(model, name);
    if (first < 0) return fail_no_layer(model, name, error);
    liana__model_set_trainable(model, 0, (size_t)first, false);
    liana__model_set_trainable(model, (size_t)first, model->num_layers, true);
    return LIANA_OK;
}

liana_status liana_model_train_from(liana_model *model, const char *layer_name)
{
    return liana__model_train_from(model, layer_name, &model->context->error);
}

liana_status liana_model_set_batch_norm_momentum(liana_model *model, double momentum)
{
    if (!(momentum >= 0 && momentum <= 1)) {
        return liana__fail(&model->context->error, LIANA_INVALID_ARGUMENT,
                           "found the momentum %g, expected a number from 0 to 1", momentum);
    }
    for (size_t i = 0; i < model->num_layers; i++) {
        if (model->layers[i].type != &liana__layer_batch_normalization) continue;
        liana_batch_normalization_options *options = model->layers[i].options;
        options->momentum = momentum;
    }
    model->structure_version++;
    return LIANA_OK;
}
