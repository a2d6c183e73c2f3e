/* Elements that cannot be made are left out, or marked. */
#include "data/dataset/dataset.h"

#include <string.h>

typedef struct ignore {
    bool (*on_error)(void *user, const liana_example_address *address, const char *message);
    void *user;
} ignore;

static bool is_of_element(liana_status status)
{
    return liana__source_is_bad_record(status) || status == LIANA_INVALID_ARGUMENT;
}

/* Whether to go on without the element that failed. */
static bool tell(const liana_dataset *dataset, const liana__at *at, const liana__error *failure)
{
    const ignore *own = dataset->own;
    liana_example_address address = {at->seed, at->epoch, at->index, at->index};
    if (!is_of_element(failure->status)) return false;
    if (own->on_error) return own->on_error(own->user, &address, failure->message);
    liana__log(dataset->context, LIANA__LOG_DATA, "element %llu of epoch %llu is ignored: %s",
               (unsigned long long)at->index, (unsigned long long)at->epoch, failure->message);
    return true;
}

/* ---- marked: any element at once ---- */

static liana_status read_marked(liana__reader *reader, const liana__at *at, liana_element *element, liana__error *error)
{
    const liana_dataset *dataset = reader->dataset;
    size_t count = dataset->spec.count - 1;
    bool *valid = reader->own;
    liana__error failure = {0};
    liana_status status = liana__reader_read(reader->inputs[0], at, element, &failure);
    *valid = status == LIANA_OK;
    if (!*valid) {
        failure.status = status;
        if (!tell(dataset, at, &failure)) return liana__fail_as(error, &failure);
        LIANA_TRY(liana__holder_begin(&reader->store, &dataset->spec, 0, error));
        liana__holder_clear(&reader->store);
        reader->store.element.record = at->index;
        liana__holder_finish(&reader->store, element);
    }
    element->data[count] = valid;
    element->rows[count] = 1;
    return LIANA_OK;
}

/* ---- left out ---- */

static liana_status next(liana__cursor *cursor, liana_element *element, liana__error *error)
{
    for (;;) {
        liana__error failure = {0};
        liana_status status = liana__cursor_next(cursor->inputs[0], element, &failure);
        if (status == LIANA_OK || status == LIANA_END_OF_DATA) return status;
        failure.status = status;
        liana__at at = {cursor->seed, cursor->epoch, cursor->inputs[0]->index};
        if (!tell(cursor->dataset, &at, &failure)) return liana__fail_as(error, &failure);
        liana__cursor_close(cursor->inputs[0]);
        cursor->inputs[0] = NULL;
        LIANA_TRY(liana__cursor_open_input(cursor, 0, cursor->epoch, at.index + 1, error));
    }
}

static liana_status mark(liana_dataset *dataset, liana__error *error)
{
    liana_component made[LIANA_MAX_COMPONENTS + 1];
    size_t count = dataset->spec.count;
    for (size_t i = 0; i < count; i++) {
        made[i] = dataset->spec.components[i];
        if (liana__component_is_static(&made[i]) || !liana__dataset_batch_size(dataset->inputs[0])) continue;
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "the component '%s' is %s, and the size of a failed batch is not known: put it before batch",
                           made[i].name, liana__component_describe(&made[i]).text);
    }
    made[count] = (liana_component){.name = "valid", .dtype = LIANA_BOOL};
    return liana__spec_make(&dataset->arena, made, count + 1, &dataset->spec, error);
}

static liana_dataset *make(const liana_stage_type *kind, liana_dataset *input,
                           const liana_ignore_errors_options *options, liana_status *status)
{
    liana_dataset *dataset = liana__dataset_stage(kind, input, sizeof(ignore));
    if (!dataset) return NULL;
    if (options) *(ignore *)dataset->own = (ignore){options->on_error, options->user};
    *status = LIANA_OK;
    if (dataset->random_access && dataset->length >= 0) return dataset;
    *status = liana__fail(&dataset->context->error, LIANA_INVALID_ARGUMENT,
                          "the elements after a failed one must be available without it; use this stage on "
                          "random-access data of known length, before filter, shuffles of streams and repeat");
    return dataset;
}

liana_dataset *liana_dataset_ignore_errors(liana_dataset *input, const liana_ignore_errors_options *options)
{
    liana_status status;
    liana_dataset *dataset = make(&liana__stage_ignore_errors, input, options, &status);
    if (!dataset) return NULL;
    dataset->random_access = false;
    dataset->varies = true;
    dataset->length = dataset->length == 0 ? 0 : LIANA_UNKNOWN;
    return liana__dataset_finish(dataset, status);
}

liana_dataset *liana_dataset_mark_errors(liana_dataset *input, const liana_ignore_errors_options *options)
{
    liana_status status;
    liana_dataset *dataset = make(&liana__stage_mark_errors, input, options, &status);
    if (!dataset) return NULL;
    if (status == LIANA_OK) status = mark(dataset, &dataset->context->error);
    return liana__dataset_finish(dataset, status);
}

const liana_stage_type liana__stage_ignore_errors = {
    LIANA_PART(STAGE, liana_stage_type, "ignore_errors", "Leaves out elements that cannot be made."),
    .next = next,
};

const liana_stage_type liana__stage_mark_errors = {
    LIANA_PART(STAGE, liana_stage_type, "mark_errors",
               "Replaces elements that cannot be made by zeros, and marks them."),
    .read = read_marked,
    .reader_size = sizeof(bool),
};
