/* Copies of a model's weights. */
#include "train/callbacks/snapshot.h"

#include "ir/shape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_SIZE = 512 };

void liana__snapshot_free(liana__snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->count; i++) free(snapshot->values[i]);
    free(snapshot->values);
    *snapshot = (liana__snapshot){0};
}

static size_t size_of(const liana_model *model, size_t weight)
{
    return liana__byte_size(LIANA_F32, &model->weights[weight].shape);
}

static liana_status allocate(liana__snapshot *snapshot, const liana_model *model, liana__error *error)
{
    if (snapshot->values) return LIANA_OK;
    snapshot->values = calloc(model->num_weights + 1, sizeof *snapshot->values);
    if (!snapshot->values) return liana__fail_memory(error, "a copy of the weights");
    snapshot->count = model->num_weights;
    for (size_t i = 0; i < snapshot->count; i++) {
        snapshot->values[i] = malloc(size_of(model, i));
        if (!snapshot->values[i]) return liana__fail_memory(error, "a copy of the weights");
    }
    return LIANA_OK;
}

static liana__variable *variable_of(const liana_fit_context *context, const liana_model *model, size_t weight)
{
    return liana__variables_find(&context->training->variables, model->weights[weight].name);
}

liana_status liana__snapshot_take(liana__snapshot *snapshot, const liana_fit_context *context, liana__error *error)
{
    const liana_model *model = context->training->model;
    LIANA_TRY(allocate(snapshot, model, error));
    for (size_t i = 0; i < snapshot->count; i++) {
        LIANA_TRY(liana__variable_read(variable_of(context, model, i), snapshot->values[i], error));
    }
    snapshot->model = model;
    return LIANA_OK;
}

liana_status liana__snapshot_restore(const liana__snapshot *snapshot, liana_fit_context *context, liana__error *error)
{
    const liana_model *model = snapshot->model;
    for (size_t i = 0; model && i < snapshot->count; i++) {
        LIANA_TRY(liana__fit_write_variable(context, variable_of(context, model, i), snapshot->values[i], error));
    }
    return LIANA_OK;
}

void liana__snapshot_keep(const liana__snapshot *snapshot, liana_callback_state *state, const char *key)
{
    const liana_model *model = snapshot->model;
    char name[NAME_SIZE];
    for (size_t i = 0; model && i < snapshot->count; i++) {
        snprintf(name, sizeof name, "%s/%s", key, model->weights[i].name);
        liana__keep_array(state, name, LIANA_F32, &model->weights[i].shape, snapshot->values[i]);
    }
}

liana_status liana__snapshot_load(liana__snapshot *snapshot, const liana_fit_context *context,
                                  const liana_callback_state *state, const char *key, liana__error *error)
{
    const liana_model *model = context->training->model;
    char name[NAME_SIZE];
    size_t found = 0;
    LIANA_TRY(allocate(snapshot, model, error));
    for (size_t i = 0; i < snapshot->count; i++) {
        snprintf(name, sizeof name, "%s/%s", key, model->weights[i].name);
        const liana__kept_array *array = liana__kept_array_find(state, name);
        if (!array) continue;
        bool fits = array->dtype == LIANA_F32 && liana__kept_array_size(array) == size_of(model, i);
        if (!fits) return liana__fail(error, LIANA_INVALID_DATA, "'%s' has another shape than the weight", name);
        memcpy(snapshot->values[i], array->data, size_of(model, i));
        found++;
    }
    if (found == snapshot->count) snapshot->model = model;
    if (found == snapshot->count || found == 0) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_DATA, "%zu of the model's %zu weights are in '%s'", found, snapshot->count,
                       key);
}
