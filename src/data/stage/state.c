/* The stages scan and reduce: a state goes from element to element. */
#include "data/dataset/dataset.h"

#include <string.h>

typedef struct state {
    liana_state_options options;
    bool gives_last;  /* reduce */
    liana__spec spec; /* of the state */
    liana__holder first;
} state;

typedef struct state_cursor {
    liana__holder holders[2]; /* the state is in one of them; the function changes a copy in the other */
    int at;
    liana_element state;
    bool done;
} state_cursor;

static void close_state(liana_dataset *dataset)
{
    liana__holder_free(&((state *)dataset->own)->first);
}

static liana_status begin(liana__cursor *cursor, uint64_t start, liana__error *error)
{
    (void)start;
    const state *own = cursor->dataset->own;
    state_cursor *at = cursor->own;
    LIANA_TRY(liana__holder_copy(&at->holders[0], &own->first.element, &at->state, error));
    return liana__cursor_open_input(cursor, 0, cursor->epoch, 0, error);
}

static void free_cursor(liana__cursor *cursor)
{
    state_cursor *at = cursor->own;
    for (int i = 0; i < 2; i++) liana__holder_free(&at->holders[i]);
}

/* A failure of the function is left in the state, or in the output. */
static liana_status fail(const liana__cursor *cursor, liana_status status, const liana__at *where, uint64_t record,
                         const liana__holder *changed, liana__error *error)
{
    const char *message = changed->message ? changed->message : cursor->store.message;
    liana__fail_function(error, status, where, record, message);
    return liana__fail_within(error, "%s", cursor->dataset->name);
}

/* Changes the state at the next element of the input. `output` may be NULL. */
static liana_status step(liana__cursor *cursor, liana__holder *output, liana__error *error)
{
    const state *own = cursor->dataset->own;
    state_cursor *at = cursor->own;
    const liana__at where = {cursor->seed, cursor->epoch, cursor->inputs[0]->index};
    liana_element input, *made = output ? &output->element : NULL;
    LIANA_TRY(liana__cursor_next(cursor->inputs[0], &input, error));
    if (output) {
        LIANA_TRY(liana__holder_begin(output, &cursor->dataset->spec, 0, error));
        liana__holder_clear(output);
        output->element.record = input.record;
    }
    liana__holder *changed = &at->holders[1 - at->at];
    LIANA_TRY(liana__holder_begin(changed, &own->spec, 0, error));
    for (size_t i = 0; i < own->spec.count; i++) LIANA_TRY(liana__holder_take(changed, i, &at->state, i, error));
    const liana_example_address address = liana__example_address(&where, &input);
    const liana_status status = own->options.function(own->options.user, &address, &changed->element, &input, made);
    if (status != LIANA_OK) return fail(cursor, status, &where, input.record, changed, error);
    liana__holder_finish(changed, &at->state);
    at->at = 1 - at->at;
    return LIANA_OK;
}

static liana_status next_output(liana__cursor *cursor, liana_element *element, liana__error *error)
{
    LIANA_TRY(step(cursor, &cursor->store, error));
    liana__holder_finish(&cursor->store, element);
    return LIANA_OK;
}

static liana_status next_last(liana__cursor *cursor, liana_element *element, liana__error *error)
{
    state_cursor *at = cursor->own;
    if (cursor->index > 0) return LIANA_END_OF_DATA;
    liana_status status = LIANA_OK;
    while (status == LIANA_OK) status = step(cursor, NULL, error);
    if (status != LIANA_END_OF_DATA) return status;
    *element = at->state;
    return LIANA_OK;
}

static liana_status copy_state(liana_dataset *dataset, const liana_state_options *options, liana__error *error)
{
    state *own = dataset->own;
    liana_component components[LIANA_MAX_COMPONENTS];
    liana_element given = {.spec = &own->spec}, copy;
    for (size_t i = 0; i < options->num_states && i < LIANA_MAX_COMPONENTS; i++) {
        const liana_array *array = &options->initial_state[i];
        components[i] = (liana_component){array->name, array->dtype, array->shape};
        given.data[i] = array->data;
    }
    LIANA_TRY(liana__spec_make(&dataset->arena, components, options->num_states, &own->spec, error));
    for (size_t i = 0; i < own->spec.count; i++) {
        const liana_component *component = &own->spec.components[i];
        if (liana__component_is_static(component) && given.data[i]) continue;
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "initial_state: '%s' is %s%s, expected values of a static shape", component->name,
                           liana__component_describe(component).text, given.data[i] ? "" : " without values");
    }
    return liana__holder_copy(&own->first, &given, &copy, error);
}

static liana_status check(liana_dataset *dataset, const liana_state_options *options, liana__error *error)
{
    state *own = dataset->own;
    if (!options->function) return liana__fail(error, LIANA_INVALID_ARGUMENT, "the function is NULL");
    if (!options->initial_state) return liana__fail(error, LIANA_INVALID_ARGUMENT, "the initial_state is NULL");
    LIANA_TRY(copy_state(dataset, options, error));
    if (own->gives_last) {
        dataset->spec = own->spec;
    } else if (options->components) {
        LIANA_TRY(
            liana__spec_make(&dataset->arena, options->components, options->num_components, &dataset->spec, error));
    }
    for (size_t i = 0; i < dataset->spec.count; i++) {
        const liana_component *component = &dataset->spec.components[i];
        if (liana__component_width(component) != LIANA_UNKNOWN_DIM) continue;
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "the component '%s' would be %s, expected no other unknown dimension than the first",
                           component->name, liana__component_describe(component).text);
    }
    return LIANA_OK;
}

static liana_dataset *make(const liana_stage_type *kind, liana_dataset *input, const liana_state_options *options)
{
    liana_dataset *dataset = liana__dataset_stage(kind, input, sizeof(state));
    if (!dataset) return NULL;
    state *own = dataset->own;
    own->options = *options;
    own->gives_last = kind == &liana__stage_reduce;
    dataset->random_access = false;
    dataset->varies = true;
    liana__dataset_call(dataset, options->name);
    liana_status status = check(dataset, options, &dataset->context->error);
    if (status == LIANA_OK && own->gives_last && dataset->length == LIANA_INFINITE) {
        status = liana__fail(&dataset->context->error, LIANA_INVALID_ARGUMENT,
                             "the data are endless; take as many elements as are wanted");
    }
    if (own->gives_last) dataset->length = 1;
    return liana__dataset_finish(dataset, status);
}

liana_dataset *liana_dataset_scan(liana_dataset *input, const liana_state_options *options)
{
    return LIANA__STAGE_REQUIRE(input, options) ? make(&liana__stage_scan, input, options) : NULL;
}

liana_dataset *liana_dataset_reduce(liana_dataset *input, const liana_state_options *options)
{
    return LIANA__STAGE_REQUIRE(input, options) ? make(&liana__stage_reduce, input, options) : NULL;
}

static void describe(const liana_dataset *dataset, liana__fingerprint *settings, liana__fingerprint *sources)
{
    (void)sources;
    liana__fingerprint_add_element(settings, &((const state *)dataset->own)->first.element);
}

const liana_stage_type liana__stage_scan = {
    LIANA_PART(STAGE, liana_stage_type, "scan", "An element for each element and the state before it."),
    .describe = describe,
    .close = close_state,
    .begin = begin,
    .next = next_output,
    .cursor_size = sizeof(state_cursor),
    .cursor_free = free_cursor,
};

const liana_stage_type liana__stage_reduce = {
    LIANA_PART(STAGE, liana_stage_type, "reduce", "One element: the state after the last element."),
    .describe = describe,
    .close = close_state,
    .begin = begin,
    .next = next_last,
    .cursor_size = sizeof(state_cursor),
    .cursor_free = free_cursor,
};
