/* Copies of a training's variables. */
#include "train/callbacks/callback.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_SIZE = 512 };

void liana__snapshot_free(liana__snapshot *snapshot)
{
    for (size_t i = 0; snapshot->values && i < snapshot->count; i++) free(snapshot->values[i]);
    free(snapshot->values);
    *snapshot = (liana__snapshot){.everything = snapshot->everything};
}

/* Weights stand first: another stage of a training has other variables behind them. */
static liana__variable *variable_of(const liana__snapshot *snapshot, size_t index)
{
    return &snapshot->variables->items[index];
}

static size_t size_of(const liana__snapshot *snapshot, size_t index)
{
    return variable_of(snapshot, index)->buffer->size;
}

static liana_status allocate(liana__snapshot *snapshot, const liana__training *training, liana__error *error)
{
    if (snapshot->values) return LIANA_OK;
    const size_t most = training->variables.count + 1;
    snapshot->values = calloc(most, sizeof *snapshot->values);
    if (!snapshot->values) return liana__fail_memory(error, "a copy of the weights");
    snapshot->variables = &training->variables;
    snapshot->count = snapshot->everything ? training->variables.count : training->trainer->num_weights;
    for (size_t i = 0; i < snapshot->count; i++) {
        snapshot->values[i] = malloc(size_of(snapshot, i) + 1);
        if (!snapshot->values[i]) return liana__fail_memory(error, "a copy of the weights");
    }
    return LIANA_OK;
}

liana_status liana__snapshot_take(liana__snapshot *snapshot, const liana_fit_context *context, liana__error *error)
{
    LIANA_TRY(allocate(snapshot, context->training, error));
    for (size_t i = 0; i < snapshot->count; i++) {
        LIANA_TRY(liana__variable_read(variable_of(snapshot, i), snapshot->values[i], error));
    }
    snapshot->taken = true;
    return LIANA_OK;
}

liana_status liana__snapshot_restore(const liana__snapshot *snapshot, liana_fit_context *context, liana__error *error)
{
    for (size_t i = 0; snapshot->taken && i < snapshot->count; i++) {
        LIANA_TRY(liana__fit_write_variable(context, variable_of(snapshot, i), snapshot->values[i], error));
    }
    return LIANA_OK;
}

void liana__snapshot_keep(const liana__snapshot *snapshot, liana_callback_state *state, const char *key)
{
    char name[NAME_SIZE];
    for (size_t i = 0; snapshot->taken && i < snapshot->count; i++) {
        const liana__variable *variable = variable_of(snapshot, i);
        snprintf(name, sizeof name, "%s/%s", key, variable->name);
        liana__keep_array(state, name, variable->buffer->dtype, &variable->buffer->shape, snapshot->values[i]);
    }
}

liana_status liana__snapshot_load(liana__snapshot *snapshot, const liana_fit_context *context,
                                  const liana_callback_state *state, const char *key, liana__error *error)
{
    char name[NAME_SIZE];
    size_t found = 0;
    LIANA_TRY(allocate(snapshot, context->training, error));
    for (size_t i = 0; i < snapshot->count; i++) {
        const liana__variable *variable = variable_of(snapshot, i);
        snprintf(name, sizeof name, "%s/%s", key, variable->name);
        const liana__kept_array *array = liana__kept_array_find(state, name);
        if (!array) continue;
        bool fits = array->dtype == variable->buffer->dtype && liana__kept_array_size(array) == size_of(snapshot, i);
        if (!fits) return liana__fail(error, LIANA_INVALID_DATA, "'%s' has another shape than the variable", name);
        memcpy(snapshot->values[i], array->data, size_of(snapshot, i));
        found++;
    }
    snapshot->taken = found > 0 && found == snapshot->count;
    if (found == snapshot->count || found == 0) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_DATA, "%zu of the %zu variables are in '%s'", found, snapshot->count, key);
}
