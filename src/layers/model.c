/* Models: creating and destroying them, their errors, their layers, nodes and weights. */
#include "layers/model.h"

#include "base/named.h"
#include "ir/shape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static liana_status create_model(liana_context *context, const char *name, liana_model **out)
{
    liana_model *model = calloc(1, sizeof *model);
    if (!model) return liana__fail_memory(&context->error, "a model");
    model->context = context;
    model->identity = calloc(1, sizeof *model->identity);
    if (model->identity) model->identity->num_holders = 1;
    model->building_nested = model->building_use = LIANA__NONE;
    model->name = liana__arena_string(&model->arena, name);
    if (model->arena.failed || !model->identity) {
        liana_model_destroy(model);
        return liana__fail_memory(&context->error, "a model");
    }
    *out = model;
    return LIANA_OK;
}

liana_status liana_model_create(liana_context *context, const char *name, liana_model **out)
{
    LIANA__REQUIRE_AS(liana__context_error(context), out, "model");
    *out = NULL;
    LIANA__REQUIRE(NULL, context);
    LIANA__CONTEXT_CALL(context, create_model(context, name, out));
}

static void release_identity(liana__identity *identity)
{
    if (identity && --identity->num_holders == 0) free(identity);
}

void liana_model_destroy(liana_model *model)
{
    if (!model) return;
    release_identity(model->identity);
    for (size_t i = 0; i < model->num_nested; i++) release_identity(model->nested[i].identity);
    if (model->compiled) model->destroy_compiled(model->compiled);
    liana__arena_free(&model->arena);
    free(model->layers);
    free(model->nodes);
    free(model->nested);
    free(model->uses);
    free(model->calls);
    free(model->stems);
    free(model->weights);
    for (size_t i = 0; i < model->num_values; i++) free(model->values[i]);
    free(model->values);
    free(model);
}

liana_status liana_model_status(const liana_model *model)
{
    if (!model) return LIANA_INVALID_ARGUMENT;
    if (model->error.status != LIANA_OK) model->context->error = model->error;
    return model->error.status;
}

liana_layer liana__model_keep_error(liana_model *model, const liana_location *here, const liana__error *error)
{
    if (model->error.status == LIANA_OK) {
        (void)liana__context_stopped(model->context); /* an error before this one is kept */
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
    return liana__model_keep_error(model, model->blamed ? model->blamed : &here, &error);
}

static int find(liana__named list, const char *name)
{
    const size_t index = liana__named_find(list, name, NULL);
    return index < list.count ? (int)index : -1;
}

int liana__model_find_layer(const liana_model *model, const char *name)
{
    return find(LIANA__NAMED(liana__layer, model->layers, model->num_layers), name);
}

int liana__model_find_nested(const liana_model *model, const char *name)
{
    return find(LIANA__NAMED(liana__nested, model->nested, model->num_nested), name);
}

int liana__model_find_weight(const liana_model *model, const char *name)
{
    return find(LIANA__NAMED(liana__weight, model->weights, model->num_weights), name);
}

/* ---- weights ---- */

bool liana__weight_trainable(const liana_model *model, size_t weight)
{
    const liana__weight *item = &model->weights[weight];
    return item->trainable && !item->frozen && model->layers[item->layer].trainable;
}

void liana__model_initialize(const liana_model *model, uint64_t seed, size_t weight, float *values)
{
    const liana__weight *item = &model->weights[weight];
    if (item->begin) {
        memcpy(values, item->begin, (size_t)liana_shape_size(&item->shape) * sizeof *values);
        return;
    }
    liana__initializer_fill(&item->initializer, seed, (uint32_t)weight, &item->shape, values);
    const int64_t part = liana_shape_size(&item->shape) / 4;
    for (int64_t i = part; item->has_forget_ones && i < 2 * part; i++) values[i] = 1;
}

/* ---- questions ---- */

liana_layer liana_model_layer(const liana_model *model, const char *name)
{
    int layer = model && name ? liana__model_find_layer(model, name) : -1;
    if (layer < 0) return (liana_layer){(liana_model *)(uintptr_t)model, 0};
    size_t node = (size_t)layer;
    while (model->nodes[node].layer != (size_t)layer) node++;
    return (liana_layer){(liana_model *)(uintptr_t)model, (uint32_t)(node + 1)};
}

liana_shape liana_layer_shape(liana_layer layer)
{
    if (!layer.model || layer.id == 0 || layer.id > layer.model->num_nodes) return LIANA_SCALAR;
    liana_shape shape = layer.model->nodes[layer.id - 1].shape;
    if (shape.rank) shape.dims[0] = -1;
    return shape;
}

liana_precision liana_model_precision(const liana_model *model)
{
    return model ? model->precision : LIANA_FLOAT32;
}

void liana_model_set_precision(liana_model *model, liana_precision precision)
{
    if (model) model->precision = precision;
}

bool liana__layer_infers(const liana_model *model, size_t layer)
{
    bool infers = model->layers[layer].inference;
    for (size_t in = model->layers[layer].within; in != LIANA__NONE && !infers; in = model->nested[in].within) {
        infers = model->nested[in].inference;
    }
    return infers;
}

int64_t liana__model_num_parameters(const liana_model *model, bool trainable_only)
{
    int64_t count = 0;
    for (size_t i = 0; i < model->num_weights; i++) {
        const liana__weight *weight = &model->weights[i];
        const bool counts = trainable_only ? liana__weight_trainable(model, i) : !weight->is_state;
        if (counts) count += liana_shape_size(&weight->shape);
    }
    return count;
}

size_t liana__model_outermost_use(const liana_model *model, size_t node)
{
    size_t use = model->nodes[node].within;
    while (use != LIANA__NONE && model->uses[use].within != LIANA__NONE) use = model->uses[use].within;
    return use;
}

size_t liana__model_last_node(const liana_model *model)
{
    if (!model->num_nodes) return LIANA__NONE;
    size_t last = model->num_nodes - 1 - model->nodes[model->num_nodes - 1].output,
           use = liana__model_outermost_use(model, last);
    if (use == LIANA__NONE || model->building_use != LIANA__NONE) return last;
    return model->uses[use].first_node + model->nested[model->uses[use].nested].outputs[0];
}
