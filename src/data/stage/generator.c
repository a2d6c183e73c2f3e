/* Elements that a function of the program's own makes one after the other. */
#include "data/dataset/dataset.h"

typedef struct generator {
    liana_generator_options options;
} generator;

typedef struct generator_cursor {
    void *state;
    bool began;
} generator_cursor;

static liana_status fail(liana__cursor *cursor, liana_status status, liana__error *error)
{
    const liana__at at = {cursor->seed, cursor->epoch, cursor->index};
    liana__fail_function(error, status, &at, cursor->index, cursor->store.message);
    return liana__fail_within(error, "%s", cursor->dataset->name);
}

static liana_status begin(liana__cursor *cursor, uint64_t start, liana__error *error)
{
    (void)start;
    const liana_generator_options *options = &((const generator *)cursor->dataset->own)->options;
    generator_cursor *at = cursor->own;
    LIANA_TRY(liana__holder_begin(&cursor->store, &cursor->dataset->spec, 0, error));
    if (options->begin) {
        const liana_status status = options->begin(options->user, cursor->epoch, &at->state, &cursor->store.element);
        if (status != LIANA_OK) return fail(cursor, status, error);
    }
    at->began = true;
    return LIANA_OK;
}

static liana_status next(liana__cursor *cursor, liana_element *element, liana__error *error)
{
    const liana_generator_options *options = &((const generator *)cursor->dataset->own)->options;
    generator_cursor *at = cursor->own;
    liana__holder *store = &cursor->store;
    LIANA_TRY(liana__holder_begin(store, &cursor->dataset->spec, 0, error));
    liana__holder_clear(store);
    store->element.record = cursor->index;
    const liana_example_address address = {cursor->seed, cursor->epoch, cursor->index, cursor->index};
    const liana_status status = options->next(options->user, at->state, &address, &store->element);
    if (status == LIANA_END_OF_DATA) return status;
    if (status != LIANA_OK) return fail(cursor, status, error);
    liana__holder_finish(store, element);
    return LIANA_OK;
}

static void free_cursor(liana__cursor *cursor)
{
    const liana_generator_options *options = &((const generator *)cursor->dataset->own)->options;
    generator_cursor *at = cursor->own;
    if (at->began && options->end) options->end(options->user, at->state);
}

static liana_status check(liana_dataset *dataset, const liana_generator_options *options, liana__error *error)
{
    if (!options->next) return liana__fail(error, LIANA_INVALID_ARGUMENT, "the function 'next' is NULL");
    if (!options->components) return liana__fail(error, LIANA_INVALID_ARGUMENT, "the components are NULL");
    LIANA_TRY(liana__spec_make(&dataset->arena, options->components, options->num_components, &dataset->spec, error));
    for (size_t i = 0; i < dataset->spec.count; i++) {
        const liana_component *component = &dataset->spec.components[i];
        if (liana__component_width(component) != LIANA_UNKNOWN_DIM) continue;
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "the component '%s' is %s, expected no other unknown dimension than the first",
                           component->name, liana__component_describe(component).text);
    }
    return LIANA_OK;
}

liana_dataset *liana_dataset_from_generator(liana_context *context, const liana_generator_options *options)
{
    LIANA__REQUIRE_OR(NULL, liana__context_error(context), options);
    liana_dataset *dataset = liana__dataset_create(context, &liana__stage_from_generator, NULL, 0, sizeof(generator));
    if (!dataset) return NULL;
    ((generator *)dataset->own)->options = *options;
    dataset->length = LIANA_UNKNOWN;
    dataset->varies = true;
    liana__dataset_call(dataset, options->name);
    return liana__dataset_finish(dataset, check(dataset, options, &context->error));
}

const liana_stage_type liana__stage_from_generator = {
    LIANA_PART(STAGE, liana_stage_type, "from_generator", "Elements that a function makes one after the other."),
    .begin = begin,
    .next = next,
    .cursor_size = sizeof(generator_cursor),
    .cursor_free = free_cursor,
};
