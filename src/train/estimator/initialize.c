/* The first values of an estimator's variables. */
#include "base/named.h"
#include "base/scoped.h"
#include "formats/tensorflow/tf_checkpoint.h"
#include "ir/shape.h"
#include "program/variables_file.h"
#include "train/checkpoint/warm_start.h"
#include "train/estimator/estimator.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

LIANA__SCOPED_POINTER(liana_variables_destroy, liana_variables)

/* ---- the set ---- */

static liana_status declare_weights(const liana__fn_session *own, liana_variables *set, liana__error *error)
{
    const liana__function_model *model = &own->model;
    size_t place;
    for (size_t i = 0; i < model->function.num_weights; i++) {
        const liana__fn_variable *variable = &model->variables[i];
        LIANA_TRY(
            liana__variables_declare(set, variable->name, LIANA_F32, &variable->shape, variable->initializer, &place));
        if (!variable->model) continue;
        liana_model *owner = (liana_model *)variable->model;
        LIANA_TRY(liana__model_values_complete(owner, error));
        LIANA_TRY(liana__variables_set(set, place, owner->values[variable->weight]));
    }
    return LIANA_OK;
}

/* The variables of an update of its own begin at 0, unless they say otherwise. */
static liana_status declare_update(const liana__function_model *model, liana_variables *set)
{
    size_t place;
    for (size_t i = 0; i < model->num_update_variables; i++) {
        const liana__update_variable *one = &model->update_variables[i];
        const char *initializer = model->update_initializers[i] ? model->update_initializers[i] : "zeros";
        LIANA_TRY(liana__variables_declare(set, one->name, one->dtype, &one->shape, initializer, &place));
    }
    return LIANA_OK;
}

/* ---- warm start ---- */

static bool is_wanted(const liana_warm_start *warm, const char *name)
{
    if (!warm->variables[0]) return true;
    for (size_t i = 0; i < LIANA_MAX_WARM_NAMES && warm->variables[i]; i++) {
        if (fnmatch(warm->variables[i], name, 0) == 0) return true;
    }
    return false;
}

static const char *previous_name(const liana_warm_start *warm, const char *name)
{
    for (size_t i = 0; i < LIANA_MAX_WARM_NAMES && warm->names[i].variable; i++) {
        if (strcmp(warm->names[i].variable, name) == 0) return warm->names[i].previous;
    }
    return name;
}

/* Where earlier values are: in a safetensors file, or in a TensorFlow checkpoint. */
typedef struct earlier_values {
    bool is_tensorflow;
    liana__safetensors file;
    liana__tf_checkpoint checkpoint;
} earlier_values;

static liana__named names_of(const earlier_values *earlier)
{
    const liana__safetensors_contents *contents = &earlier->file.contents;
    return earlier->is_tensorflow
               ? LIANA__NAMED(liana__tf_variable, earlier->checkpoint.variables, earlier->checkpoint.num_variables)
               : LIANA__NAMED(liana__safetensors_tensor, contents->tensors, contents->num_tensors);
}

static liana_status check_shape(const char *previous, const char *dtype, bool fits, int rank, const int64_t *dims,
                                const liana__variable *variable, liana__error *error)
{
    liana_shape shape = {.rank = rank};
    memcpy(shape.dims, dims, (size_t)rank * sizeof *dims);
    if (fits && liana_shape_equal(&shape, &variable->buffer->shape)) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_DATA, "'%s' is %s%s there, but '%s' is %s", previous, dtype,
                       liana__shape_print(&shape).text, variable->name,
                       liana__type_print(variable->buffer->dtype, &variable->buffer->shape).text);
}

/* The values of the entry `index` of the file, as float32; to be freed. */
static liana_status read_earlier(const earlier_values *earlier, size_t index, const liana__variable *variable,
                                 void **values, liana__error *error)
{
    const bool is_tensorflow = earlier->is_tensorflow;
    const liana__safetensors_tensor *tensor = is_tensorflow ? NULL : &earlier->file.contents.tensors[index];
    const liana__tf_variable *entry = is_tensorflow ? &earlier->checkpoint.variables[index] : NULL;
    if (is_tensorflow) {
        LIANA_TRY(check_shape(entry->name, entry->dtype, entry->kind != LIANA__NUMBER_NONE, entry->rank, entry->shape,
                              variable, error));
    } else {
        const bool is_float = liana__safetensors_float_kind(tensor->dtype) != LIANA__NUMBER_NONE;
        LIANA_TRY(check_shape(tensor->name, liana__safetensors_dtype_name(tensor->dtype), is_float, tensor->rank,
                              tensor->shape, variable, error));
    }
    *values = liana__allocate_aligned(variable->buffer->size);
    if (!*values) return liana__fail_memory(error, variable->name);
    return is_tensorflow ? liana__tf_checkpoint_read(&earlier->checkpoint, entry, *values, error)
                         : liana__safetensors_read_floats(&earlier->file, tensor, *values, error);
}

static liana_status warm_variable(const earlier_values *earlier, const char *previous, liana_variables *set,
                                  size_t place, liana__error *error)
{
    const liana__variable *variable = &set->values.items[place];
    const liana__named list = names_of(earlier);
    const char *nearest = NULL;
    LIANA__SCOPED_MEMORY void *values = NULL;
    const size_t index = previous ? liana__named_find(list, previous, &nearest) : list.count;
    if (index >= list.count) {
        return liana__fail(error, LIANA_NOT_FOUND,
                           "there is no variable '%.200s' for '%s'; leave it out of .variables, or name it in .names%s",
                           previous ? previous : "(NULL)", variable->name, liana__hint(nearest).text);
    }
    LIANA_TRY(read_earlier(earlier, index, variable, &values, error));
    return liana__variables_set(set, place, values);
}

/* Names that the model function does not have are mistakes. */
static liana_status check_names(const liana_warm_start *warm, const liana__fn_session *own, liana__error *error)
{
    for (size_t i = 0; i < LIANA_MAX_WARM_NAMES && warm->names[i].variable; i++) {
        const char *name = warm->names[i].variable;
        const char *nearest = NULL;
        const liana__named list =
            LIANA__NAMED(liana__fn_variable, own->model.variables, own->model.function.num_weights);
        if (liana__named_find(list, name, &nearest) < own->model.function.num_weights) continue;
        return liana__fail(error, LIANA_NOT_FOUND, "the model function has no variable '%.200s'%s", name,
                           liana__hint(nearest).text);
    }
    for (size_t i = 0; i < LIANA_MAX_WARM_NAMES && warm->variables[i]; i++) {
        bool found = false;
        for (size_t k = 0; k < own->model.function.num_weights && !found; k++) {
            found = fnmatch(warm->variables[i], own->model.variables[k].name, 0) == 0;
        }
        if (!found) return liana__fail(error, LIANA_NOT_FOUND, "no variable matches '%.200s'", warm->variables[i]);
    }
    return LIANA_OK;
}

static liana_status open_earlier(const char *path, earlier_values *earlier, liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    const char *index = liana__tf_checkpoint_find(path, &arena);
    earlier->is_tensorflow = index != NULL;
    return index ? liana__tf_checkpoint_open(index, &earlier->checkpoint, error)
                 : liana__safetensors_open(path, &earlier->file, error);
}

static liana_status warm_from(const liana_warm_start *warm, const char *path, const liana__fn_session *own,
                              liana_variables *set, liana__error *error)
{
    earlier_values earlier = {0};
    LIANA_TRY(open_earlier(path, &earlier, error));
    liana_status status = LIANA_OK;
    for (size_t i = 0; i < own->model.function.num_weights && status == LIANA_OK; i++) {
        const char *name = own->model.variables[i].name;
        if (is_wanted(warm, name)) status = warm_variable(&earlier, previous_name(warm, name), set, i, error);
    }
    if (!earlier.is_tensorflow) liana__safetensors_close(&earlier.file);
    liana__tf_checkpoint_free(&earlier.checkpoint);
    return status == LIANA_OK ? status : liana__fail_within(error, "'%s'", path);
}

static liana_status warm_start(liana__fn_session *own, liana_variables *set, liana__error *error)
{
    const liana_warm_start *warm = &own->estimator->options.warm_start_from;
    const char *path;
    if (!warm->from) return LIANA_OK;
    liana_status status = liana__warm_source_find(warm->from, &own->arena, &path, error);
    if (status == LIANA_OK) status = check_names(warm, own, error);
    if (status == LIANA_OK) status = warm_from(warm, path, own, set, error);
    return status == LIANA_OK ? status : liana__fail_within(error, "%s: warm_start_from", own->estimator->options.name);
}

/* ---- the whole ---- */

/* Variables without a value and without an initialiser: named, and why. */
static liana_status check_initializers(const liana__fn_session *own, const liana_variables *set, liana__error *error)
{
    for (size_t i = 0; i < set->values.count; i++) {
        if (set->states[i].initialized || set->states[i].initializer || own->estimator->options.scaffold) continue;
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "%s: the variable '%s' has no first value; give it an initialiser "
                           "(liana_graph_initializer), or, if it is a model's, call the model with the mode that the "
                           "model function is given",
                           own->estimator->options.name, set->values.items[i].name);
    }
    return LIANA_OK;
}

static liana_status run_scaffold(const liana__fn_session *own, liana_variables *set, liana__error *error)
{
    const liana_estimator_options *options = &own->estimator->options;
    if (!options->scaffold) return LIANA_OK;
    liana_status status = options->scaffold(options->params, set);
    if (status == LIANA_OK) return status;
    if (error->status != status) liana__fail(error, status, "it returned %s", liana_status_name(status));
    return liana__fail_within(error, "%s: scaffold", options->name);
}

/* Only those with an initialiser: the scaffold may give the others their values. */
static liana_status draw(const liana_estimator *estimator, liana_variables *set)
{
    for (size_t i = 0; i < set->values.count; i++) {
        if (set->states[i].initialized || !set->states[i].initializer) continue;
        LIANA_TRY(liana_variables_initialize(set, &(liana_initialize_options){.name = set->values.items[i].name,
                                                                              .seed = estimator->options.config.seed}));
    }
    return LIANA_OK;
}

static liana_status fill(liana__fn_session *own, liana_variables *set, liana__error *error)
{
    LIANA_TRY(declare_weights(own, set, error));
    LIANA_TRY(declare_update(&own->model, set));
    LIANA_TRY(check_initializers(own, set, error));
    LIANA_TRY(draw(own->estimator, set));
    LIANA_TRY(warm_start(own, set, error));
    LIANA_TRY(run_scaffold(own, set, error));
    if (liana__variables_require(set, own->estimator->options.name, NULL) != LIANA_OK) return error->status;
    return LIANA_OK;
}

/* Copies the values to where they are trained. */
static liana_status hand_over(const liana_variables *set, liana__variables *variables, liana__error *error)
{
    for (size_t i = 0; i < set->values.count; i++) {
        const liana__variable *from = &set->values.items[i];
        liana__variable *to = liana__variables_find(variables, from->name);
        void *values = to ? liana__allocate_aligned(from->buffer->size) : NULL;
        if (!to) continue; /* a scaffold's own */
        if (!values) return liana__fail_memory(error, from->name);
        liana_status status = liana__variable_read(from, values, error);
        if (status == LIANA_OK) status = liana__variable_write(to, values, error);
        free(values);
        LIANA_TRY(status);
    }
    return LIANA_OK;
}

liana_status liana__estimator_initialize(liana__fn_session *own, liana__error *error)
{
    LIANA__SCOPED_BY(liana_variables_destroy_scoped) liana_variables *set = NULL;
    LIANA_TRY(liana_variables_create(own->estimator->device, &set));
    LIANA_TRY(fill(own, set, error));
    return hand_over(set, &own->training.variables, error);
}
