/* The parts of a model that train, and how its layers behave in training. */
#include "layers/model.h"

#include "base/named.h"
#include "ir/shape.h"

#include <stdlib.h>
#include <string.h>

liana_status liana__model_values_complete(liana_model *model, liana__error *error)
{
    if (model->num_values == model->num_weights) return LIANA_OK;
    float **values = realloc(model->values, model->num_weights * sizeof *values);
    if (!values) return liana__fail_memory(error, "the weights");
    model->values = values;
    for (size_t i = model->num_values; i < model->num_weights; i++) {
        values[i] = malloc(liana__byte_size(LIANA_F32, &model->weights[i].shape));
        if (!values[i]) return liana__fail_memory(error, model->weights[i].name);
        liana__model_initialize(model, 0, i, values[i]);
        model->num_values++;
        model->values_version++;
    }
    return LIANA_OK;
}

const liana__layer *liana__model_stateful_layer(const liana_model *model)
{
    for (size_t i = 0; model && i < model->num_weights; i++) {
        if (model->weights[i].is_state) return &model->layers[model->weights[i].layer];
    }
    return NULL;
}

size_t liana__layer_num_saved(const liana_model *model, const liana__layer *layer, size_t count)
{
    size_t saved = 0;
    for (size_t i = 0; i < count; i++) saved += !model->weights[layer->first_weight + i].is_state;
    return saved;
}

liana_status liana_model_reset_states(liana_model *model)
{
    LIANA__REQUIRE(NULL, model);
    liana__error *error = &model->context->error;
    if (model->error.status != LIANA_OK) {
        *error = model->error;
        return error->status;
    }
    LIANA_TRY(liana__model_values_complete(model, error));
    for (size_t i = 0; i < model->num_weights; i++) {
        if (model->weights[i].is_state)
            memset(model->values[i], 0, liana__byte_size(LIANA_F32, &model->weights[i].shape));
    }
    model->values_version++;
    return LIANA_OK;
}

void liana__model_set_trainable(liana_model *model, size_t begin, size_t end, bool trainable)
{
    for (size_t i = begin; i < end && i < model->num_layers; i++) model->layers[i].trainable = trainable;
    model->structure_version++;
}

void liana__model_set_inference(liana_model *model, size_t begin, size_t end, bool inference)
{
    for (size_t i = begin; i < end && i < model->num_layers; i++) {
        model->layers[i].inference = inference && model->layers[i].type->reads_training;
    }
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
    int first = liana__model_find_layer(model, name), nested = liana__model_find_nested(model, name);
    if (first < 0 && nested >= 0) first = (int)model->nested[nested].first_layer;
    if (first < 0) return fail_no_layer(model, name, error);
    liana__model_set_trainable(model, 0, (size_t)first, false);
    liana__model_set_trainable(model, (size_t)first, model->num_layers, true);
    return LIANA_OK;
}

liana_status liana_model_train_from(liana_model *model, const char *layer_name)
{
    if (!model) return LIANA_INVALID_ARGUMENT;
    LIANA__REQUIRE(&model->context->error, layer_name);
    LIANA__CONTEXT_CALL(model->context, liana__model_train_from(model, layer_name, &model->context->error));
}

static liana_status set_training(liana_model *model, const char *name, bool training, liana__error *error)
{
    if (!name) {
        liana__model_set_inference(model, 0, model->num_layers, !training);
        return LIANA_OK;
    }
    const int layer = liana__model_find_layer(model, name), nested = liana__model_find_nested(model, name);
    if (layer < 0 && nested < 0) return fail_no_layer(model, name, error);
    if (layer >= 0) liana__model_set_inference(model, (size_t)layer, (size_t)layer + 1, !training);
    if (layer < 0) model->nested[nested].inference = !training;
    model->structure_version++;
    return LIANA_OK;
}

liana_status liana_model_set_training(liana_model *model, const char *name, bool training)
{
    LIANA__REQUIRE(NULL, model);
    LIANA__CONTEXT_CALL(model->context, set_training(model, name, training, &model->context->error));
}
