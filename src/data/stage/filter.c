/* A function of the program's own says which elements stay. */
#include "data/dataset/dataset.h"

typedef struct filter {
    liana_filter_function function;
    void *user;
} filter;

static liana_status next(liana__cursor *cursor, liana_element *element, liana__error *error)
{
    const filter *own = cursor->dataset->own;
    liana__cursor *input = cursor->inputs[0];
    for (;;) {
        liana__at at = {cursor->seed, cursor->epoch, input->index};
        LIANA_TRY(liana__cursor_next(input, element, error));
        liana_example_address address = liana__example_address(&at, element);
        if (own->function(own->user, &address, element)) return LIANA_OK;
    }
}

liana_dataset *liana_dataset_filter(liana_dataset *input, const liana_filter_options *options)
{
    if (!LIANA__STAGE_REQUIRE(input, options)) return NULL;
    liana_dataset *dataset = liana__dataset_stage(&liana__stage_filter, input, sizeof(filter));
    if (!dataset) return NULL;
    *(filter *)dataset->own = (filter){options->function, options->user};
    dataset->length = dataset->length == 0 ? 0 : LIANA_UNKNOWN;
    dataset->random_access = false;
    dataset->varies = true;
    liana__dataset_call(dataset, options->name);
    liana_status status = LIANA_OK;
    if (!options->function) {
        status = liana__fail(&dataset->context->error, LIANA_INVALID_ARGUMENT, "the function is NULL");
    }
    return liana__dataset_finish(dataset, status);
}

const liana_stage_type liana__stage_filter = {
    LIANA_PART(STAGE, liana_stage_type, "filter", "Keeps the elements that a function of the program chooses."),
    .next = next,
};
