/* A function of the program's own says which elements stay: all that it keeps, or those before the first other
 * one. */
#include "data/dataset/dataset.h"

typedef struct filter {
    liana_filter_function function;
    void *user;
} filter;

static bool keeps(const liana__cursor *cursor, const liana__at *at, const liana_element *element)
{
    const filter *own = cursor->dataset->own;
    const liana_example_address address = liana__example_address(at, element);
    return own->function(own->user, &address, element);
}

static liana_status next(liana__cursor *cursor, liana_element *element, liana__error *error)
{
    liana__cursor *input = cursor->inputs[0];
    for (;;) {
        liana__at at = {cursor->seed, cursor->epoch, input->index};
        LIANA_TRY(liana__cursor_next(input, element, error));
        if (keeps(cursor, &at, element)) return LIANA_OK;
    }
}

static liana_status next_before(liana__cursor *cursor, liana_element *element, liana__error *error)
{
    const liana__at at = {cursor->seed, cursor->epoch, cursor->inputs[0]->index};
    LIANA_TRY(liana__cursor_next(cursor->inputs[0], element, error));
    return keeps(cursor, &at, element) ? LIANA_OK : LIANA_END_OF_DATA;
}

static liana_dataset *make(const liana_stage_type *kind, liana_dataset *input, const liana_filter_options *options)
{
    liana_dataset *dataset = liana__dataset_stage(kind, input, sizeof(filter));
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

liana_dataset *liana_dataset_filter(liana_dataset *input, const liana_filter_options *options)
{
    return LIANA__STAGE_REQUIRE(input, options) ? make(&liana__stage_filter, input, options) : NULL;
}

liana_dataset *liana_dataset_take_while(liana_dataset *input, const liana_filter_options *options)
{
    return LIANA__STAGE_REQUIRE(input, options) ? make(&liana__stage_take_while, input, options) : NULL;
}

const liana_stage_type liana__stage_filter = {
    LIANA_PART(STAGE, liana_stage_type, "filter", "Keeps the elements that a function of the program chooses."),
    .next = next,
};

const liana_stage_type liana__stage_take_while = {
    LIANA_PART(STAGE, liana_stage_type, "take_while", "Keeps the elements before the first one that is not chosen."),
    .next = next_before,
};
