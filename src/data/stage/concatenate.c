/* Several datasets, one after the other. */
#include "data/dataset/dataset.h"

/* The input that holds element *index, which becomes the index in it; the last one where lengths are not known. */
static size_t find_input(const liana_dataset *dataset, uint64_t *index)
{
    size_t at = 0;
    while (at + 1 < dataset->num_inputs) {
        int64_t length = dataset->inputs[at]->length;
        if (length < 0 || *index < (uint64_t)length) break;
        *index -= (uint64_t)length;
        at++;
    }
    return at;
}

typedef struct concatenate_cursor {
    size_t input;
} concatenate_cursor;

static liana_status begin(liana__cursor *cursor, uint64_t start, liana__error *error)
{
    concatenate_cursor *at = cursor->own;
    uint64_t inner = start;
    at->input = find_input(cursor->dataset, &inner);
    /* An input of unknown length is replayed from here on: the part to be left out may be longer than it. */
    if (cursor->dataset->inputs[at->input]->length == LIANA_UNKNOWN) {
        cursor->index = start - inner;
        inner = 0;
    } else {
        cursor->index = start;
    }
    return liana__cursor_open_input(cursor, at->input, cursor->epoch, inner, error);
}

static liana_status next(liana__cursor *cursor, liana_element *element, liana__error *error)
{
    concatenate_cursor *at = cursor->own;
    for (;;) {
        liana_status status = liana__cursor_next(cursor->inputs[at->input], element, error);
        if (status != LIANA_END_OF_DATA || at->input + 1 == cursor->dataset->num_inputs) return status;
        liana__cursor_close(cursor->inputs[at->input]);
        cursor->inputs[at->input++] = NULL;
        LIANA_TRY(liana__cursor_open_input(cursor, at->input, cursor->epoch, 0, error));
    }
}

static liana_status add_lengths(liana_dataset *dataset, liana__error *error)
{
    int64_t total = 0;
    for (size_t i = 0; i < dataset->num_inputs && total >= 0; i++) {
        int64_t length = dataset->inputs[i]->length;
        if (length < 0) {
            total = length;
        } else if (__builtin_add_overflow(total, length, &total)) {
            return liana__fail(error, LIANA_INVALID_ARGUMENT, "there would be more than 2^63 elements");
        }
    }
    dataset->length = total;
    return LIANA_OK;
}

liana_dataset *liana_dataset_concatenate(liana_dataset *const *datasets, size_t num_datasets)
{
    liana_dataset *dataset = liana__dataset_join(&liana__stage_concatenate, datasets, num_datasets, 0);
    if (!dataset) return NULL;
    liana__error *error = &dataset->context->error;
    liana_status status = add_lengths(dataset, error);
    for (size_t i = 1; i < num_datasets && status == LIANA_OK; i++) {
        dataset->random_access = dataset->random_access && datasets[i]->random_access;
        status = liana__spec_match(&datasets[i]->spec, &dataset->spec, error);
        if (status != LIANA_OK) liana__fail_within(error, "dataset %zu", i);
    }
    if (status == LIANA_OK) status = liana__dataset_join_blocks(dataset, error);
    return liana__dataset_finish(dataset, status);
}

const liana_stage_type liana__stage_concatenate = {
    LIANA_PART(STAGE, liana_stage_type, "concatenate", "Several datasets, one after the other."),
    .trace = find_input,
    .begin = begin,
    .next = next,
    .cursor_size = sizeof(concatenate_cursor),
};
