/* A model's weights as arrays, by name. */
#include "ir/shape.h"
#include "train/checkpoint/weights.h"

#include <liana/train.h>
#include <string.h>

/* The index of a weight; the nearest name otherwise. */
static liana_status find_weight(const liana_model *model, const char *name, size_t *index, liana__error *error)
{
    if (!name) return liana__fail(error, LIANA_INVALID_ARGUMENT, "the name of a weight is NULL");
    int found = liana__model_find_weight(model, name);
    *index = found < 0 ? 0 : (size_t)found;
    if (found >= 0) return LIANA_OK;
    liana__nearest_search search = liana__nearest_begin(name);
    for (size_t i = 0; i < model->num_weights; i++) liana__nearest_add(&search, model->weights[i].name);
    return liana__fail(error, LIANA_NOT_FOUND, "the model has no weight '%.100s'%s", name,
                       liana__hint(search.nearest).text);
}

static liana_status get_weights(liana_model *model, const char *name, liana_array *weights)
{
    liana__error *error = &model->context->error;
    size_t index;
    *weights = (liana_array){0};
    LIANA_TRY(find_weight(model, name, &index, error));
    LIANA_TRY(liana__model_values_complete(model, error));
    const liana__weight *weight = &model->weights[index];
    *weights = (liana_array){weight->name, LIANA_F32, weight->shape, model->values[index]};
    return LIANA_OK;
}

liana_status liana_model_get_weights(liana_model *model, const char *name, liana_array *weights)
{
    LIANA__REQUIRE(NULL, model);
    LIANA__REQUIRE(&model->context->error, name);
    LIANA__REQUIRE(&model->context->error, weights);
    LIANA__CONTEXT_CALL(model->context, get_weights(model, name, weights));
}

static liana_status check_array(const liana_model *model, const liana_array *array, liana__error *error)
{
    size_t index;
    LIANA_TRY(find_weight(model, array->name, &index, error));
    const liana__weight *weight = &model->weights[index];
    if (!array->data) return liana__fail(error, LIANA_INVALID_ARGUMENT, "the values of '%s' are NULL", weight->name);
    bool fits = array->dtype == LIANA_F32 && array->shape.rank == weight->shape.rank;
    for (int i = 0; fits && i < weight->shape.rank; i++) fits = array->shape.dims[i] == weight->shape.dims[i];
    if (fits) return LIANA_OK;
    const char *dtype = array->dtype == LIANA_STRING ? "string" : liana_dtype_name((liana_dtype)array->dtype);
    return liana__fail(error, LIANA_INVALID_ARGUMENT, "the array '%s' is %s%s, the weight is f32%s", weight->name,
                       dtype, liana__shape_print(&array->shape).text, liana__shape_print(&weight->shape).text);
}

static liana_status set_weights(liana_model *model, const liana_array *arrays, size_t num_arrays)
{
    liana__error *error = &model->context->error;
    for (size_t i = 0; i < num_arrays; i++) LIANA_TRY(check_array(model, &arrays[i], error));
    LIANA_TRY(liana__model_values_complete(model, error));
    for (size_t i = 0; i < num_arrays; i++) {
        size_t index = (size_t)liana__model_find_weight(model, arrays[i].name);
        memmove(model->values[index], arrays[i].data, liana__byte_size(LIANA_F32, &model->weights[index].shape));
    }
    if (num_arrays) model->values_version++;
    return LIANA_OK;
}

liana_status liana_model_set_weights(liana_model *model, const liana_array *arrays, size_t num_arrays)
{
    LIANA__REQUIRE(NULL, model);
    LIANA__REQUIRE_AS(&model->context->error, arrays || !num_arrays, "arrays");
    LIANA__CONTEXT_CALL(model->context, set_weights(model, arrays, num_arrays));
}
