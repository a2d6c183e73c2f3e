/* Keeps a model's weights on the host. */
#include "train/model/model_values.h"

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
