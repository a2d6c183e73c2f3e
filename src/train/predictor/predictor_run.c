/* Runs arrays through a predictor. */
#include "ir/shape.h"
#include "program/array_text.h"
#include "train/predictor/predictor.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- rows ---- */

liana_status liana__predictor_check_count(const liana_predictor *own, int64_t count, const char *what,
                                          liana__error *error)
{
    const int64_t most = own->facts.batch_size;
    const liana__layer *keeper = liana__model_stateful_layer(own->shared->model);
    if (keeper && count != most) {
        return liana__fail(
            error, LIANA_INVALID_ARGUMENT,
            "found %lld %s, expected %lld: the model keeps states, one for each example of its batch_size",
            (long long)count, what, (long long)most);
    }
    if (count >= 1 && count <= most) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "found %lld %s, expected 1 to %lld: the batch_size that the predictor was opened with",
                       (long long)count, what, (long long)most);
}

static liana_status check_outputs(const liana_predictor *own, int64_t count, const float *outputs, liana__error *error)
{
    const int64_t each = own->facts.num_values;
    for (int64_t i = 0; i < count * each; i++) {
        if (!isnan(outputs[i])) continue;
        return liana__fail(
            error, LIANA_OUT_OF_RANGE,
            "the model gave NaN for example %lld: its weights are damaged, or the input is far from what "
            "it was trained with",
            (long long)(i / each));
    }
    return LIANA_OK;
}

liana_status liana__predictor_run_rows(liana_predictor *own, liana__batch *batch, int64_t count, float *outputs,
                                       liana__error *error)
{
    const int64_t computed = own->computed[count];
    float *rows = computed > count ? own->rows : outputs;
    const float *sums;
    batch->count = batch->num_positions = computed;
    batch->positions = own->positions;
    LIANA_TRY(liana__step_measure(own->training.trainer->step, batch, rows, &sums, error));
    if (rows != outputs) memcpy(outputs, rows, (size_t)(count * own->facts.num_values) * sizeof *outputs);
    return check_outputs(own, count, outputs, error);
}

/* ---- arrays ---- */

static bool is_for(const liana_predictor *own, const liana__predictor_input *input, const liana_array *array,
                   size_t num_arrays)
{
    if (own->facts.num_inputs == 1 && num_arrays == 1) return true;
    return array->name && strcmp(array->name, input->port.name) == 0;
}

static liana_status find_array(const liana_predictor *own, const liana__predictor_input *input,
                               const liana_array *arrays, size_t num_arrays, const liana_array **found,
                               liana__error *error)
{
    *found = NULL;
    for (size_t i = 0; i < num_arrays; i++) {
        if (!is_for(own, input, &arrays[i], num_arrays)) continue;
        if (*found) {
            return liana__fail(error, LIANA_INVALID_ARGUMENT, "there are two arrays for the input '%s'",
                               input->port.name);
        }
        *found = &arrays[i];
    }
    if (*found) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT, "there is no array for the input '%s'", input->port.name);
}

static bool has_dtype(const liana__predictor_input *input, int dtype)
{
    if (input->texts.run) return liana__dtype_has_texts(dtype);
    return dtype == input->port.dtype || (input->port.is_image && dtype == LIANA_F32);
}

static liana_status check_array(const liana__predictor_input *input, const liana_array *array, int64_t count,
                                liana__error *error)
{
    liana_shape expected = input->port.shape;
    const bool is_known = array->dtype >= 0 && array->dtype <= LIANA_STRING && array->shape.rank >= 1 &&
                          array->shape.rank <= LIANA_MAX_RANK;
    const char *name = array->name ? array->name : input->port.name;
    expected.dims[0] = count;
    if (!array->data) return liana__fail(error, LIANA_INVALID_ARGUMENT, "the array '%.60s' has no data", name);
    if (is_known && has_dtype(input, array->dtype) && liana_shape_equal(&array->shape, &expected)) return LIANA_OK;
    const liana_array wanted = {.dtype = input->port.dtype, .shape = expected};
    return liana__fail(error, LIANA_INVALID_ARGUMENT, "the array '%.60s' is %s, expected %s%s", name,
                       liana__array_show(array).text, liana__array_show(&wanted).text,
                       input->port.is_image ? " or the same of f32" : "");
}

void liana__predictor_fill_up(const liana__predictor_input *input, int64_t count, int64_t computed)
{
    const uint8_t *last = input->rows + (size_t)(count - 1) * input->row_size;
    for (int64_t i = count; i < computed; i++) {
        memcpy(input->rows + (size_t)i * input->row_size, last, input->row_size);
    }
}

/* Whether all values are in [least, most], which NaN is not. Blocks of a fixed length become vector instructions. */
static bool all_within(const float *values, int64_t count, float least, float most)
{
    enum { BLOCK = 64 };
    int64_t i = 0;
    int outside = 0;
    for (; i + BLOCK <= count; i += BLOCK) {
        for (int k = 0; k < BLOCK; k++) outside |= !((values[i + k] >= least) & (values[i + k] <= most));
    }
    for (; i < count; i++) outside |= !((values[i] >= least) & (values[i] <= most));
    return !outside;
}

static liana_status check_floats(const liana__predictor_input *input, const float *values, int64_t count,
                                 liana__error *error)
{
    const int64_t each = input->port.num_values;
    const bool is_image = input->port.is_image;
    if (all_within(values, count * each, is_image ? 0 : -FLT_MAX, is_image ? 255 : FLT_MAX)) return LIANA_OK;
    for (int64_t i = 0; i < count * each; i++) {
        const bool fits = is_image ? values[i] >= 0 && values[i] <= 255 : isfinite(values[i]) != 0;
        if (fits) continue;
        return liana__fail(error, LIANA_OUT_OF_RANGE, "example %lld of '%s' has the value %g, expected %s",
                           (long long)(i / each), input->port.name, (double)values[i],
                           is_image ? "pixels from 0 to 255 (prepared_images: values that are scaled already)"
                                    : "finite numbers");
    }
    return LIANA_OK;
}

static liana_status check_ids(const liana__predictor_input *input, const int32_t *values, int64_t count,
                              liana__error *error)
{
    const int64_t each = input->port.num_values;
    for (int64_t i = 0; input->port.num_ids && i < count * each; i++) {
        if (values[i] >= 0 && values[i] < input->port.num_ids) continue;
        return liana__fail(error, LIANA_OUT_OF_RANGE, "example %lld of '%s' has the id %d, expected 0 to %lld",
                           (long long)(i / each), input->port.name, (int)values[i], (long long)input->port.num_ids - 1);
    }
    return LIANA_OK;
}

static liana_status take_texts(const liana_predictor *own, const liana__predictor_input *input,
                               const liana_array *arrays, size_t num_arrays, int64_t count, liana__error *error)
{
    const liana__row_of_texts *how = &input->texts;
    const size_t num_parts = how->num_components ? how->num_components : 1;
    const liana_array *parts[LIANA_MAX_LAYER_INPUTS];
    liana__given_texts given[LIANA_MAX_LAYER_INPUTS];
    LIANA_TRY(find_array(own, input, arrays, num_arrays, &parts[0], error));
    for (size_t k = 0; k < how->num_components; k++) {
        for (size_t i = 0; i < own->facts.num_inputs; i++) {
            if (strcmp(own->inputs[i].port.name, how->components[k]) != 0) continue;
            LIANA_TRY(find_array(own, &own->inputs[i], arrays, num_arrays, &parts[k], error));
            LIANA_TRY(check_array(&own->inputs[i], parts[k], count, error));
        }
    }
    for (int64_t i = 0; i < count; i++) {
        uint8_t *row = input->rows + (size_t)i * input->row_size;
        for (size_t k = 0; k < num_parts; k++) {
            const bool is_text = parts[k]->dtype == LIANA_STRING;
            const size_t size = is_text ? sizeof(liana_bytes) : liana_dtype_size((liana_dtype)parts[k]->dtype);
            const uint8_t *values = (const uint8_t *)parts[k]->data + (size_t)(i * how->count) * size;
            given[k] = (liana__given_texts){parts[k]->dtype, values};
        }
        memset(row, 0, input->row_size);
        if (liana__row_from_texts(how, given, row, input->row_size, error) == LIANA_OK) continue;
        return liana__fail_within(error, "example %lld of '%s'", (long long)i, input->port.name);
    }
    return LIANA_OK;
}

/* Values are read where they stand if nothing has to be changed. */
static liana_status take_numbers(const liana__predictor_input *input, const liana_array *array, int64_t count,
                                 int64_t computed, const void **rows, liana__error *error)
{
    const size_t num_values = (size_t)(count * input->port.num_values);
    if (array->dtype == LIANA_F32) LIANA_TRY(check_floats(input, array->data, count, error));
    if (array->dtype == LIANA_S32) LIANA_TRY(check_ids(input, array->data, count, error));
    if (array->dtype == LIANA_U8 && input->port.is_image) {
        const uint8_t *bytes = array->data;
        float *pixels = (float *)(void *)input->rows;
        for (size_t i = 0; i < num_values; i++) pixels[i] = (float)bytes[i];
        return LIANA_OK;
    }
    if (count == computed) {
        *rows = array->data;
        return LIANA_OK;
    }
    memcpy(input->rows, array->data, (size_t)count * input->row_size);
    return LIANA_OK;
}

static liana_status take_input(const liana_predictor *own, const liana__predictor_input *input,
                               const liana_array *arrays, size_t num_arrays, int64_t count, liana__batch *batch,
                               liana__error *error)
{
    const int64_t computed = own->computed[count];
    const void *rows = input->rows;
    const liana_array *array;
    LIANA_TRY(find_array(own, input, arrays, num_arrays, &array, error));
    LIANA_TRY(check_array(input, array, count, error));
    if (input->texts.run) {
        LIANA_TRY(take_texts(own, input, arrays, num_arrays, count, error));
    } else {
        LIANA_TRY(take_numbers(input, array, count, computed, &rows, error));
    }
    if (rows == input->rows) liana__predictor_fill_up(input, count, computed);
    liana__batch_add(batch, input->component.text, input->dtype, &input->shape, rows);
    return LIANA_OK;
}

static liana_status check_arrays(const liana_predictor *own, const liana_array *arrays, size_t num_arrays,
                                 liana__error *error)
{
    for (size_t i = 0; i < num_arrays; i++) {
        bool is_used = false;
        for (size_t k = 0; k < own->facts.num_inputs; k++) {
            is_used |= is_for(own, &own->inputs[k], &arrays[i], num_arrays);
        }
        if (is_used) continue;
        const bool has_name = arrays[i].name && *arrays[i].name;
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "array %zu %s%.60s%s is no input of the model: expected %zu arrays, the first is '%s'", i,
                           has_name ? "'" : "without a name", has_name ? arrays[i].name : "", has_name ? "'" : "",
                           own->facts.num_inputs, own->inputs[0].port.name);
    }
    const int64_t count = num_arrays && arrays[0].shape.rank >= 1 ? arrays[0].shape.dims[0] : 0;
    return liana__predictor_check_count(own, count, "examples", error);
}

static liana_status run(liana_predictor *own, const liana_array *arrays, size_t num_arrays, float *outputs,
                        liana__error *error)
{
    liana__batch batch = {0};
    LIANA_TRY(check_arrays(own, arrays, num_arrays, error));
    const int64_t count = arrays[0].shape.dims[0];
    for (size_t i = 0; i < own->facts.num_inputs; i++) {
        LIANA_TRY(take_input(own, &own->inputs[i], arrays, num_arrays, count, &batch, error));
    }
    return liana__predictor_run_rows(own, &batch, count, outputs, error);
}

liana_status liana_predictor_run(liana_predictor *predictor, const liana_array *arrays, size_t num_arrays,
                                 float *outputs)
{
    LIANA__REQUIRE(NULL, predictor);
    liana__error *error = &predictor->context->error;
    LIANA__REQUIRE(error, arrays);
    LIANA__REQUIRE(error, outputs);
    LIANA__CONTEXT_CALL(predictor->context, run(predictor, arrays, num_arrays, outputs, error));
}
