/* What a batch gives a step: leaves, positions and scalars. */
#include "base/named.h"
#include "batch/cut.h"
#include "ir/shape.h"
#include "train/model/model_arrays.h"
#include "train/step/step.h"

#include <string.h>

liana__leaf_batch liana__step_cut(liana_step *step, int64_t count)
{
    liana__cut cut = liana__cut_batch(count, step->options.microbatch);
    for (int64_t i = 0; i < cut.count; i++) {
        step->leaves[i] = (liana__leaf){liana__cut_begin(&cut, i), liana__cut_size(&cut, i)};
    }
    return (liana__leaf_batch){.leaves = step->leaves, .num_leaves = (size_t)cut.count, .end = (size_t)cut.count};
}

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

static liana_status take_arrays(const liana_step *step, const liana_step_batch *batch, const void **rows,
                                int64_t *count, liana__error *error)
{
    const liana_step_options *options = &step->options;
    for (size_t i = 0; i < LIANA_MAX_COMPONENTS && batch->arrays[i].name; i++) {
        const char *nearest = NULL, *name = batch->arrays[i].name;
        size_t found = liana__step_component(step, name, &nearest);
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

/* A component of an element as an array; without data if it has none of that name. */
static liana_array array_of(const liana_element *element, const char *name)
{
    liana_array array = {.name = name, .dtype = LIANA_STRING};
    for (size_t i = 0; i < liana_element_num_components(element); i++) {
        const liana_component *component = liana_element_component(element, i);
        if (strcmp(component->name, name) != 0) continue;
        array.dtype = component->dtype;
        array.shape = liana_element_shape(element, name);
        array.data = liana_element_data(element, name);
    }
    return array;
}

static liana_status take_element(const liana_step *step, const liana_element *element, const void **rows,
                                 int64_t *count, liana__error *error)
{
    const liana_step_options *options = &step->options;
    for (size_t i = 0; i < options->num_components; i++) {
        liana_array array = array_of(element, options->components[i].name);
        LIANA_TRY(check_array(step, &array, i, count, error));
        rows[i] = array.data;
    }
    return LIANA_OK;
}

/* A batch that every process has. */
static liana_status take_whole(liana_step *step, const liana_step_batch *batch, uint64_t position,
                               liana__leaf_batch *leaves, int64_t *count, liana__error *error)
{
    const void *rows[LIANA__MAX_COMPONENTS] = {0};
    LIANA_TRY(batch->element ? take_element(step, batch->element, rows, count, error)
                             : take_arrays(step, batch, rows, count, error));
    *leaves = liana__step_cut(step, *count);
    memcpy(leaves->rows, rows, sizeof rows);
    for (int64_t i = 0; i < *count; i++) step->positions[i] = position + (uint64_t)i;
    leaves->rows[step->options.num_components] = step->positions;
    return LIANA_OK;
}

liana_status liana__step_take_batch(liana_step *step, const liana_step_batch *batch, uint64_t position,
                                    liana__leaf_batch *leaves, int64_t *count, liana__error *error)
{
    *count = 0;
    if ((batch->element != NULL) + (batch->arrays[0].name != NULL) + (batch->values != NULL) > 1) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "%s: the batch has more than one of values, element and arrays", step->options.name);
    }
    return batch->values ? liana__step_take_values(step, batch->values, position, leaves, count, error)
                         : take_whole(step, batch, position, leaves, count, error);
}

/* ---- scalars ---- */

liana_status liana__step_take_scalars(const liana_step *step, const liana_setting *settings, float *scalars,
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
        scalars[1 + found] = (float)settings[i].value;
    }
    for (size_t i = 0; i < step->num_scalars; i++) {
        if (given[i]) continue;
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "%s: there is no scalar '%.100s'; all of the options are needed", options->name,
                           options->scalars[i]);
    }
    return LIANA_OK;
}
