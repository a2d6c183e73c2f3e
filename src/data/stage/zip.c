/* The components of several datasets side by side. */
#include "data/dataset/dataset.h"

/* Puts the components of one input's element after the first `*count`. */
static void append(const liana_element *one, size_t *count, liana_element *element)
{
    for (size_t i = 0; i < one->spec->count; i++) {
        liana__element_borrow(element, (*count)++, one, i);
    }
}

static liana_status read_element(liana__reader *reader, const liana__at *at, liana_element *element,
                                 liana__error *error)
{
    *element = (liana_element){.spec = &reader->dataset->spec};
    size_t count = 0;
    for (size_t i = 0; i < reader->num_inputs; i++) {
        liana__at inner = {liana__seed_of_input(at->seed, i), at->epoch, at->index};
        liana_element one;
        LIANA_TRY(liana__reader_read(reader->inputs[i], &inner, &one, error));
        if (i == 0) element->record = one.record;
        append(&one, &count, element);
    }
    return LIANA_OK;
}

static liana_status begin(liana__cursor *cursor, uint64_t start, liana__error *error)
{
    cursor->index = start;
    for (size_t i = 0; i < cursor->dataset->num_inputs; i++) {
        LIANA_TRY(liana__cursor_open_input(cursor, i, cursor->epoch, start, error));
    }
    return LIANA_OK;
}

static liana_status next(liana__cursor *cursor, liana_element *element, liana__error *error)
{
    *element = (liana_element){.spec = &cursor->dataset->spec};
    size_t count = 0;
    for (size_t i = 0; i < cursor->num_inputs; i++) {
        liana_element one;
        LIANA_TRY(liana__cursor_next(cursor->inputs[i], &one, error));
        if (i == 0) element->record = one.record;
        append(&one, &count, element);
    }
    return LIANA_OK;
}

static liana_status join_specs(liana_dataset *dataset, liana__error *error)
{
    liana_component all[LIANA_MAX_COMPONENTS + 1];
    size_t count = 0;
    for (size_t i = 0; i < dataset->num_inputs; i++) {
        const liana__spec *spec = &dataset->inputs[i]->spec;
        for (size_t k = 0; k < spec->count && count <= LIANA_MAX_COMPONENTS; k++) all[count++] = spec->components[k];
    }
    return liana__spec_make(&dataset->arena, all, count, &dataset->spec, error);
}

/* Up to the end of the shortest. */
static int64_t shorter(int64_t a, int64_t b)
{
    if (a == 0 || b == 0) return 0;
    if (a == LIANA_UNKNOWN || b == LIANA_UNKNOWN) return LIANA_UNKNOWN;
    if (a == LIANA_INFINITE) return b;
    return b == LIANA_INFINITE || a < b ? a : b;
}

liana_dataset *liana_dataset_zip(liana_dataset *const *datasets, size_t num_datasets)
{
    liana_dataset *dataset = liana__dataset_join(&liana__stage_zip, datasets, num_datasets, 0);
    if (!dataset) return NULL;
    for (size_t i = 1; i < num_datasets; i++) {
        dataset->length = shorter(dataset->length, datasets[i]->length);
        dataset->random_access = dataset->random_access && datasets[i]->random_access;
    }
    return liana__dataset_finish(dataset, join_specs(dataset, &dataset->context->error));
}

const liana_stage_type liana__stage_zip = {
    LIANA_PART(STAGE, liana_stage_type, "zip", "Joins the components of several datasets."),
    .read = read_element,
    .begin = begin,
    .next = next,
};
