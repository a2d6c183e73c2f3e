/* The shards, positions and scalars of a batch. */
#include "ir/shape.h"
#include "program/array_text.h"
#include "step/user_step.h"

#include <string.h>

/* ---- arrays and elements ---- */

/* `array` is component `index`; *count is the batch's number of examples, 0: not known yet. */
static liana_status check_array(const liana_step *step, const liana_array *array, size_t index, int64_t *count,
                                liana__error *error)
{
    const liana_component *component = &step->options.components[index];
    bool fits = array->data && array->dtype == component->dtype && array->shape.rank == component->shape.rank + 1 &&
                array->shape.dims[0] >= 1 && array->shape.dims[0] <= step->options.batch_size;
    for (int k = 0; fits && k < component->shape.rank; k++) {
        fits = array->shape.dims[k + 1] == component->shape.dims[k];
    }
    if (fits && *count == 0) *count = array->shape.dims[0];
    if (fits && array->shape.dims[0] == *count) return LIANA_OK;
    liana_shape expected = {component->shape.rank + 1, {*count ? *count : step->options.batch_size}};
    for (int k = 0; k < component->shape.rank; k++) expected.dims[k + 1] = component->shape.dims[k];
    return liana__fail(error, LIANA_INVALID_ARGUMENT, "%s: the array '%.100s' is %s%s, expected %s%s",
                       step->options.name, component->name, liana__array_show(array).text,
                       array->data ? "" : " at no address",
                       liana__type_print((liana_dtype)component->dtype, &expected).text,
                       *count ? ", as many examples as in the array before" : " or fewer examples");
}

static liana_status take_arrays(const liana_step *step, const liana_step_input *batch, const void **rows,
                                int64_t *count, liana__error *error)
{
    const liana_step_options *options = &step->options;
    for (size_t i = 0; i < LIANA_MAX_COMPONENTS && batch->arrays[i].name; i++) {
        const char *nearest = NULL, *name = batch->arrays[i].name;
        size_t found = liana__user_component(step, name, &nearest);
        if (found == options->num_components) {
            return liana__fail(error, LIANA_INVALID_ARGUMENT, "%s: batches have no component '%.100s'%s", options->name,
                               name, liana__hint(nearest).text);
        }
        if (rows[found]) {
            return liana__fail(error, LIANA_INVALID_ARGUMENT, "%s: the array '%.100s' is given twice", options->name,
                               name);
        }
        LIANA_TRY(check_array(step, &batch->arrays[i], found, count, error));
        rows[found] = batch->arrays[i].data;
    }
    for (size_t i = 0; i < options->num_components; i++) {
        if (rows[i]) continue;
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "%s: the batch has no array '%.100s'", options->name,
                           options->components[i].name);
    }
    return LIANA_OK;
}

static liana_status take_element(const liana_step *step, const liana_element *element, const void **rows,
                                 int64_t *count, liana__error *error)
{
    const liana_step_options *options = &step->options;
    for (size_t i = 0; i < options->num_components; i++) {
        liana_array array = liana_element_array(element, options->components[i].name);
        if (!array.name) array.dtype = LIANA_STRING; /* refused as no numbers */
        LIANA_TRY(check_array(step, &array, i, count, error));
        rows[i] = array.data;
    }
    return LIANA_OK;
}

/* A batch that every process has. */
static liana_status take_whole(liana_step *step, const liana_step_input *batch, uint64_t position, liana__batch *taken,
                               liana__error *error)
{
    const liana_step_options *options = &step->options;
    const void *rows[LIANA_MAX_COMPONENTS] = {0};
    LIANA_TRY(batch->element ? take_element(step, batch->element, rows, &taken->count, error)
                             : take_arrays(step, batch, rows, &taken->count, error));
    for (size_t i = 0; i < options->num_components; i++) {
        const liana_component *component = &options->components[i];
        liana__batch_add(taken, component->name, (liana_dtype)component->dtype, &component->shape, rows[i]);
    }
    for (int64_t i = 0; i < taken->count; i++) step->positions[i] = position + (uint64_t)i;
    return LIANA_OK;
}

liana_status liana__user_take_batch(liana_step *step, const liana_step_input *batch, uint64_t position,
                                    liana__batch *taken, liana__error *error)
{
    *taken = (liana__batch){.first_position = position, .positions = step->positions};
    if ((batch->element != NULL) + (batch->arrays[0].name != NULL) + (batch->values != NULL) > 1) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "%s: the batch has more than one of values, element and arrays", step->options.name);
    }
    return batch->values ? liana__user_take_values(step, batch->values, position, taken, error)
                         : take_whole(step, batch, position, taken, error);
}

/* ---- scalars ---- */

liana_status liana__user_take_scalars(const liana_step *step, const liana_setting *settings, double *scalars,
                                      liana__error *error)
{
    const liana_step_options *options = &step->options;
    bool given[LIANA_MAX_SETTINGS] = {0};
    for (size_t i = 0; i < LIANA_MAX_SETTINGS && settings[i].name; i++) {
        liana__nearest_search search = liana__nearest_begin(settings[i].name);
        size_t found = 0;
        while (found < step->num_scalars && strcmp(options->scalars[found], settings[i].name) != 0) {
            liana__nearest_add(&search, options->scalars[found++]);
        }
        if (found == step->num_scalars || given[found]) {
            return liana__fail(error, LIANA_INVALID_ARGUMENT, "%s: the scalar '%.100s' %s%s", options->name,
                               settings[i].name,
                               found == step->num_scalars ? "is not one of the options" : "is given twice",
                               liana__hint(search.nearest).text);
        }
        given[found] = true;
        scalars[found] = settings[i].value;
    }
    for (size_t i = 0; i < step->num_scalars; i++) {
        if (given[i]) continue;
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "%s: there is no scalar '%.100s'; all of the options are needed", options->name,
                           options->scalars[i]);
    }
    return LIANA_OK;
}

/* ---- results of the program's functions ---- */

/* A call of liana's within the function may have left a message. */
static liana_status fail_function(const liana_step *step, const char *gives, int64_t number, liana_status status,
                                  liana__error *error)
{
    if (error->status == status && *error->message) {
        return liana__fail_within(error, "%s: the function that gives %s %lld", step->options.name, gives,
                                  (long long)number);
    }
    return liana__fail(error, status, "%s: the function failed that gives %s %lld", step->options.name, gives,
                       (long long)number);
}

liana_status liana__user_ask_batch(const liana_step *step, const liana__user_call *call, int64_t number,
                                   liana_step_input *batch, liana__error *error)
{
    if (!call->give_batch) {
        *batch = *call->input;
        return LIANA_OK;
    }
    const char *name = step->options.name;
    *batch = (liana_step_input){0};
    *error = (liana__error){0};
    const liana_status status = call->give_batch(call->user, number, batch);
    if (call->input->dataset && status == LIANA_END_OF_DATA) {
        return call->until_end ? status
                               : liana__fail(error, LIANA_INVALID_ARGUMENT,
                                             "%s: the dataset has no batch for step %lld", name, (long long)number);
    }
    if (call->input->dataset && status != LIANA_OK) {
        return liana__fail_within(error, "%s: batch %lld of the dataset", name, (long long)number);
    }
    if (status != LIANA_OK) return fail_function(step, "the batch of step", number, status, error);
    if (!batch->scalars[0].name) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "%s: the batch of step %lld has the scalar '%.100s'; the scalars of several steps are given "
                       "with the run, or by its function give_scalars",
                       name, (long long)number, batch->scalars[0].name);
}

liana_status liana__user_ask_scalars(const liana_step *step, const liana__user_call *call, int64_t update,
                                     liana_setting *settings, liana__error *error)
{
    const liana_step_input *input = call->input;
    memcpy(settings, input->scalars, sizeof input->scalars);
    if (!input->give_scalars) return LIANA_OK;
    *error = (liana__error){0};
    const liana_status status = input->give_scalars(input->user, update, settings);
    return status == LIANA_OK ? LIANA_OK : fail_function(step, "the scalars of update", update, status, error);
}
