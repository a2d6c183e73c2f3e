/* A model's weights as variables of a set, and back. */
#include "ir/shape.h"
#include "layers/model.h"
#include "program/variables.h"

#include <liana/step.h>

static liana__error *error_of(const liana_model *model, const liana_variables *variables)
{
    liana_context *context = model ? model->context : variables ? variables->context : NULL;
    return context ? &context->error : NULL;
}

liana_status liana_model_to_variables(liana_model *model, liana_variables *variables)
{
    LIANA__REQUIRE(error_of(model, variables), model);
    LIANA__REQUIRE(error_of(model, variables), variables);
    LIANA_TRY(liana__model_check(model, &model->context->error));
    LIANA_TRY(liana__model_values_complete(model, &model->context->error));
    for (size_t i = 0; i < model->num_weights; i++) {
        const liana__weight *weight = &model->weights[i];
        size_t place;
        LIANA_TRY(liana__variables_declare(variables, weight->name, LIANA_F32, &weight->shape, NULL, &place));
        LIANA_TRY(liana__variables_set(variables, place, model->values[i]));
    }
    return LIANA_OK;
}

/* Nothing is changed before everything is known to be there. */
static liana_status check_values(const liana_model *model, const liana_variables *variables)
{
    for (size_t i = 0; i < model->num_weights; i++) {
        const liana__weight *weight = &model->weights[i];
        size_t place;
        LIANA_TRY(liana__variables_place(variables, weight->name, &place));
        const liana__buffer *buffer = variables->values.items[place].buffer;
        bool fits = buffer->dtype == LIANA_F32 && liana_shape_equal(&buffer->shape, &weight->shape);
        if (fits && variables->states[place].initialized) continue;
        return liana__fail(&variables->context->error, LIANA_INVALID_ARGUMENT,
                           "the variable '%s' is %s%s, expected %s for the model's weight", weight->name,
                           liana__type_print(buffer->dtype, &buffer->shape).text, fits ? " and has no value" : "",
                           liana__type_print(LIANA_F32, &weight->shape).text);
    }
    return LIANA_OK;
}

liana_status liana_model_from_variables(liana_model *model, const liana_variables *variables)
{
    LIANA__REQUIRE(error_of(model, variables), model);
    LIANA__REQUIRE(error_of(model, variables), variables);
    LIANA_TRY(liana__model_check(model, &model->context->error));
    LIANA_TRY(liana__model_values_complete(model, &model->context->error));
    LIANA_TRY(check_values(model, variables));
    for (size_t i = 0; i < model->num_weights; i++) {
        const liana__variable *variable = liana__variables_find(&variables->values, model->weights[i].name);
        LIANA_TRY(liana__variable_read(variable, model->values[i], &model->context->error));
    }
    model->values_version++;
    return LIANA_OK;
}
