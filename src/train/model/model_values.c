/* Keeps a model's weights on the host. */
#include "train/model/model_values.h"

#include <stdlib.h>

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

liana_status liana__model_values_write(const liana_model *model, liana__variables *variables, liana__error *error)
{
    for (size_t i = 0; i < model->num_values; i++) {
        liana__variable *variable = liana__variables_find(variables, model->weights[i].name);
        LIANA_TRY(liana__variable_write(variable, model->values[i], error));
    }
    return LIANA_OK;
}

liana_status liana__model_values_read(liana_model *model, const liana__variables *variables, liana__error *error)
{
    for (size_t i = 0; i < model->num_values; i++) {
        const liana__variable *variable = liana__variables_find(variables, model->weights[i].name);
        LIANA_TRY(liana__variable_read(variable, model->values[i], error));
    }
    return LIANA_OK;
}
