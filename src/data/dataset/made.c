/* Opens datasets that functions make, and gives their elements. */
#include "data/dataset/made.h"

#include <string.h>

liana_status liana__made_begin(liana__made *made, const liana__cursor *cursor, liana__error *error)
{
    made->context = liana__context_branch(cursor->dataset->context);
    return made->context ? LIANA_OK : liana__fail_memory(error, cursor->dataset->name);
}

static void close_made(liana__made *made)
{
    liana__cursor_close(made->open);
    liana_dataset_close(made->dataset);
    made->open = NULL;
    made->dataset = NULL;
}

void liana__made_free(liana__made *made)
{
    close_made(made);
    liana__context_end_branch(made->context);
    made->context = NULL;
}

liana_dataset *liana__made_window(liana__made *made, const liana__cursor *cursor, liana__kept_list *list)
{
    liana_context_clear(made->context);
    return liana__dataset_of_kept(made->context, &cursor->dataset->inputs[0]->spec, list);
}

/* Whether elements of one spec may stand for those of another, which knows less. */
static bool fits_spec(const liana__spec *found, const liana__spec *expected)
{
    bool fits = found->count == expected->count;
    for (size_t i = 0; fits && i < found->count; i++) {
        const liana_component *is = &found->components[i], *wanted = &expected->components[i];
        fits =
            strcmp(is->name, wanted->name) == 0 && is->dtype == wanted->dtype && is->shape.rank == wanted->shape.rank;
        for (int k = 0; fits && k < is->shape.rank; k++) {
            fits = wanted->shape.dims[k] == LIANA_UNKNOWN_DIM || wanted->shape.dims[k] == is->shape.dims[k];
        }
    }
    return fits;
}

liana_status liana__made_open(liana__made *made, const liana__cursor *cursor, liana_dataset *dataset,
                              liana__error *error)
{
    const liana__spec *expected = &cursor->dataset->spec;
    made->dataset = dataset;
    if (!dataset) {
        const liana__error *left = &made->context->error;
        return liana__fail(error, left->status == LIANA_OK ? LIANA_INVALID_ARGUMENT : left->status,
                           "the function 'reduce' made no dataset%s%s", *left->message ? ": " : "", left->message);
    }
    if (!fits_spec(&dataset->spec, expected)) return liana__spec_match(&dataset->spec, expected, error);
    const uint64_t number = cursor->inputs[0]->index + 1;
    const liana__at start = {liana__seed_of_input(cursor->seed, (size_t)number), cursor->epoch, 0};
    /* Threads for each of many small datasets would cost more than they give. */
    const liana__pace pace = {.budget = cursor->pace.budget};
    return liana__cursor_open(dataset, pace, &start, &made->open, error);
}

liana_status liana__made_next(liana__made *made, liana_element *element, liana__error *error)
{
    liana_element one;
    if (!made->open) return LIANA_END_OF_DATA;
    const liana_status status = liana__cursor_next(made->open, &one, error);
    if (status == LIANA_OK) {
        *element = (liana_element){.record = one.record};
        for (size_t i = 0; i < one.spec->count; i++) liana__element_borrow(element, i, &one, i);
    }
    if (status == LIANA_END_OF_DATA) close_made(made);
    return status;
}
