/* Values of one length: shorter ones are filled up. */
#include "data/dataset/padding.h"

#include <string.h>

typedef struct pad {
    bool truncate;
    size_t num_inputs; /* components of the input; then come lengths and masks */
    liana__padding paddings[LIANA_MAX_COMPONENTS];
} pad;

static liana_status fail_longer(const liana_dataset *dataset, const liana_element *input, size_t component,
                                liana__error *error)
{
    const liana_component *declared = &input->spec->components[component];
    const liana_component found = {declared->name, declared->dtype, liana__element_shape(input, component)};
    liana__fail(error, LIANA_INVALID_DATA,
                "the component '%s' is %s, which is longer than the length to pad to; pad to a greater length, or set "
                "truncate",
                declared->name, liana__component_describe(&found).text);
    return liana__dataset_fail_record(dataset->inputs[0], input->record, error);
}

/* The dimension of an element that is padded to `wanted`. */
static int64_t padded(int64_t wanted, int64_t is)
{
    return wanted == LIANA_UNKNOWN_DIM ? is : wanted;
}

static liana_status put_padded(const liana_dataset *dataset, liana__holder *store, const liana_element *input, size_t i,
                               liana__error *error)
{
    const pad *own = dataset->own;
    const liana__padding *padding = &own->paddings[i];
    const int64_t is_rows = liana__element_rows(input, i), is_width = liana__element_width(input, i);
    const int64_t rows = padded(padding->rows, is_rows), width = padded(padding->width, is_width);
    if (!own->truncate && (is_rows > rows || is_width > width)) return fail_longer(dataset, input, i, error);
    LIANA_TRY(liana__holder_resize(store, i, rows, width, error));
    return liana__padding_put(padding, store, i, 0, rows, width, input, i, error);
}

static liana_status put_facts(const pad *own, liana__holder *store, const liana_element *input, liana__error *error)
{
    size_t next = own->num_inputs;
    for (size_t i = 0; i < own->num_inputs; i++) {
        const liana__padding *padding = &own->paddings[i];
        const int64_t is = liana__element_rows(input, i), rows = padded(padding->rows, is);
        const int64_t kept = is < rows ? is : rows;
        if (padding->lengths) *(int32_t *)store->columns[next++] = (int32_t)kept;
        if (!padding->mask) continue;
        LIANA_TRY(liana__holder_resize(store, next, rows, 0, error));
        uint8_t *mask = store->columns[next++];
        for (int64_t k = 0; k < rows; k++) mask[k] = k < kept;
    }
    return LIANA_OK;
}

static liana_status pad_element(liana__reader *reader, const liana__at *at, const liana_element *input,
                                liana_element *element, liana__error *error)
{
    (void)at;
    const pad *own = reader->dataset->own;
    liana__holder *store = &reader->store;
    LIANA_TRY(liana__holder_begin(store, &reader->dataset->spec, 0, error));
    store->element.record = input->record;
    for (size_t i = 0; i < own->num_inputs; i++) LIANA_TRY(put_padded(reader->dataset, store, input, i, error));
    LIANA_TRY(put_facts(own, store, input, error));
    liana__holder_finish(store, element);
    return LIANA_OK;
}

static liana_status make_spec(liana_dataset *dataset, liana__error *error)
{
    pad *own = dataset->own;
    liana_component made[3 * LIANA_MAX_COMPONENTS];
    size_t count = own->num_inputs = dataset->spec.count;
    memcpy(made, dataset->spec.components, count * sizeof *made);
    for (size_t i = 0; i < own->num_inputs; i++) {
        const liana__padding *padding = &own->paddings[i];
        if (made[i].shape.rank > 0) made[i].shape.dims[0] = padding->rows;
        if (made[i].shape.rank > 1) made[i].shape.dims[1] = padding->width;
        if (padding->lengths) made[count++] = (liana_component){.name = padding->lengths, .dtype = LIANA_S32};
        if (padding->mask) made[count++] = (liana_component){padding->mask, LIANA_BOOL, {1, {padding->rows}}};
    }
    return liana__spec_make(&dataset->arena, made, count, &dataset->spec, error);
}

liana_dataset *liana_dataset_pad(liana_dataset *input, const liana_pad_options *options)
{
    if (!LIANA__STAGE_REQUIRE(input, options)) return NULL;
    liana_dataset *dataset = liana__dataset_stage(&liana__stage_pad, input, sizeof(pad));
    if (!dataset) return NULL;
    liana__error *error = &dataset->context->error;
    pad *own = dataset->own;
    own->truncate = options->truncate;
    liana_status status = liana__paddings_read(options->paddings, options->num_paddings, &dataset->spec,
                                               &dataset->arena, own->paddings, error);
    if (status == LIANA_OK) status = make_spec(dataset, error);
    return liana__dataset_finish(dataset, status);
}

static void describe(const liana_dataset *dataset, liana__fingerprint *settings, liana__fingerprint *sources)
{
    (void)sources;
    const pad *own = dataset->own;
    liana__fingerprint_add(settings, &own->truncate, sizeof own->truncate);
    for (size_t i = 0; i < own->num_inputs; i++) {
        liana__fingerprint_add(settings, &own->paddings[i].value, sizeof own->paddings[i].value);
        liana__fingerprint_add_text(settings, own->paddings[i].text);
    }
}

const liana_stage_type liana__stage_pad = {
    LIANA_PART(STAGE, liana_stage_type, "pad", "Fills up values at their ends, so that all have one length."),
    .describe = describe,
    .apply = pad_element,
};
