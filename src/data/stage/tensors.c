/* Values of the program's own. */
#include "data/dataset/dataset.h"

#include <string.h>

static void close_tensors(liana_dataset *dataset)
{
    liana__holder_free(dataset->own);
}

static liana_status read_tensors(liana__reader *reader, const liana__at *at, liana_element *element,
                                 liana__error *error)
{
    (void)at;
    (void)error;
    *element = ((const liana__holder *)reader->dataset->own)->element;
    return LIANA_OK;
}

static liana_status read_slice(liana__reader *reader, const liana__at *at, liana_element *element, liana__error *error)
{
    (void)error;
    const liana_dataset *dataset = reader->dataset;
    liana__element_row(&dataset->spec, &((const liana__holder *)dataset->own)->element, (int64_t)at->index, element);
    element->record = at->index;
    return LIANA_OK;
}

/* A copy of the arrays, all of it as one element. */
static liana_status copy_arrays(liana_dataset *dataset, const liana_array *arrays, size_t num_arrays,
                                liana__error *error)
{
    liana_component components[LIANA_MAX_COMPONENTS] = {0};
    liana_element given = {.spec = liana__arena_allocate(&dataset->arena, sizeof(liana__spec))};
    if (!given.spec) return liana__fail_memory(error, dataset->name);
    for (size_t i = 0; i < num_arrays && i < LIANA_MAX_COMPONENTS; i++) {
        components[i] = (liana_component){arrays[i].name, arrays[i].dtype, arrays[i].shape};
    }
    LIANA_TRY(liana__spec_make(&dataset->arena, components, num_arrays, (liana__spec *)given.spec, error));
    for (size_t i = 0; i < num_arrays; i++) {
        int64_t rows = liana__component_rows(&given.spec->components[i]);
        if (!liana__component_is_static(&given.spec->components[i])) {
            return liana__fail(error, LIANA_INVALID_ARGUMENT,
                               "the array '%s' has an unknown dimension, expected those "
                               "of its values",
                               arrays[i].name);
        }
        given.rows[i] = rows;
        given.data[i] = arrays[i].data;
        if (!arrays[i].data && liana__component_size(&given.spec->components[i], rows, 0)) {
            return liana__fail(error, LIANA_INVALID_ARGUMENT, "the array '%s' has no values", arrays[i].name);
        }
    }
    liana_element copy;
    dataset->spec = *given.spec;
    return liana__holder_copy(dataset->own, &given, &copy, error);
}

/* The first dimension of all arrays becomes the length. */
static liana_status cut_slices(liana_dataset *dataset, liana__error *error)
{
    dataset->length = LIANA_UNKNOWN;
    for (size_t i = 0; i < dataset->spec.count; i++) {
        liana_component *component = &dataset->spec.components[i];
        liana_shape *shape = &component->shape;
        if (shape->rank == 0 || (dataset->length >= 0 && shape->dims[0] != dataset->length)) {
            return liana__fail(error, LIANA_INVALID_ARGUMENT,
                               "the array '%s' is %s, expected a first dimension that "
                               "counts the elements%s",
                               component->name, liana__component_describe(component).text,
                               shape->rank ? ", the same as that of the arrays before it" : "");
        }
        dataset->length = shape->dims[0];
        shape->rank--;
        memmove(shape->dims, shape->dims + 1, (size_t)shape->rank * sizeof *shape->dims);
    }
    return LIANA_OK;
}

static liana_dataset *make(liana_context *context, const liana_stage_type *kind, const liana_array *arrays,
                           size_t num_arrays)
{
    liana_dataset *dataset = liana__dataset_create(context, kind, NULL, 0, sizeof(liana__holder));
    if (!dataset) return NULL;
    dataset->random_access = true;
    dataset->length = 1;
    liana_status status = copy_arrays(dataset, arrays, num_arrays, &context->error);
    if (status == LIANA_OK && kind == &liana__stage_from_tensor_slices) status = cut_slices(dataset, &context->error);
    return liana__dataset_finish(dataset, status);
}

liana_dataset *liana_dataset_from_tensors(liana_context *context, const liana_array *arrays, size_t num_arrays)
{
    LIANA__REQUIRE_OR(NULL, liana__context_error(context), arrays);
    return make(context, &liana__stage_from_tensors, arrays, num_arrays);
}

liana_dataset *liana_dataset_from_tensor_slices(liana_context *context, const liana_array *arrays, size_t num_arrays)
{
    LIANA__REQUIRE_OR(NULL, liana__context_error(context), arrays);
    return make(context, &liana__stage_from_tensor_slices, arrays, num_arrays);
}

static void describe(const liana_dataset *dataset, liana__fingerprint *settings, liana__fingerprint *sources)
{
    (void)settings;
    liana__fingerprint_add_element(sources, &((const liana__holder *)dataset->own)->element);
}

const liana_stage_type liana__stage_from_tensors = {
    LIANA_PART(STAGE, liana_stage_type, "from_tensors", "One element, from values of the program."),
    .describe = describe,
    .close = close_tensors,
    .read = read_tensors,
};

const liana_stage_type liana__stage_from_tensor_slices = {
    LIANA_PART(STAGE, liana_stage_type, "from_tensor_slices",
               "One element for each index of the first dimension of values of the program."),
    .describe = describe,
    .close = close_tensors,
    .read = read_slice,
};
