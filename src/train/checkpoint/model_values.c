/* Keeps a model's weights on the host. */
#include "train/checkpoint/weights.h"

#include "ir/shape.h"

#include <stdlib.h>
#include <string.h>

static liana_status write_values(const liana_model *model, bool states_alone, liana__variables *variables,
                                 liana__error *error)
{
    for (size_t i = 0; i < model->num_values; i++) {
        if (states_alone && !model->weights[i].is_state) continue;
        liana__variable *variable = liana__variables_find(variables, model->weights[i].name);
        LIANA_TRY(liana__variable_write(variable, model->values[i], error));
    }
    return LIANA_OK;
}

static liana_status read_values(liana_model *model, bool states_alone, const liana__variables *variables,
                                liana__error *error)
{
    for (size_t i = 0; i < model->num_values; i++) {
        if (states_alone && !model->weights[i].is_state) continue;
        const liana__variable *variable = liana__variables_find(variables, model->weights[i].name);
        LIANA_TRY(liana__variable_read(variable, model->values[i], error));
    }
    return LIANA_OK;
}

liana_status liana__model_values_write(const liana_model *model, liana__variables *variables, liana__error *error)
{
    return write_values(model, false, variables, error);
}

liana_status liana__model_values_read(liana_model *model, const liana__variables *variables, liana__error *error)
{
    return read_values(model, false, variables, error);
}

liana_status liana__model_states_write(const liana_model *model, liana__variables *variables, liana__error *error)
{
    return write_values(model, true, variables, error);
}

liana_status liana__model_states_read(liana_model *model, const liana__variables *variables, liana__error *error)
{
    return read_values(model, true, variables, error);
}

liana_status liana__model_values_change(liana_model *model, liana__values_reader read, const void *options,
                                        liana__arena *arena, liana__error *error)
{
    LIANA_TRY(liana__model_check(model, error));
    LIANA_TRY(liana__model_values_complete(model, error));
    /* Read into other memory, since the values must not change if there is an error. */
    float **values = calloc(model->num_weights + 1, sizeof *values);
    if (!values) return liana__fail_memory(error, "the weights");
    liana_status status = LIANA_OK;
    for (size_t i = 0; status == LIANA_OK && i < model->num_weights; i++) {
        size_t size = liana__byte_size(LIANA_F32, &model->weights[i].shape);
        values[i] = malloc(size);
        if (!values[i]) status = liana__fail_memory(error, "the weights");
        if (values[i]) memcpy(values[i], model->values[i], size);
    }
    if (status == LIANA_OK) status = read(model, options, values, arena, error);
    float **old = status == LIANA_OK ? model->values : values;
    if (status == LIANA_OK) {
        model->values = values;
        model->values_version++;
    }
    for (size_t i = 0; i < model->num_weights; i++) free(old[i]);
    free(old);
    return status;
}
