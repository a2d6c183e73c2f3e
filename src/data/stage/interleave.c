/* The elements of datasets that a function of the program's own makes of each element: one dataset after the other
 * (flat_map), or of several in turn. */
#include "data/dataset/cycle.h"

typedef struct interleave {
    size_t cycle_length;
    int64_t block_length;
    liana_dataset_function function;
    void *user;
} interleave;

typedef struct interleave_cursor {
    liana__cycle cycle;
    liana_context *context; /* in which functions make datasets: this may be any thread */
} interleave_cursor;

static liana_status begin(liana__cursor *cursor, uint64_t start, liana__error *error)
{
    (void)start;
    const interleave *own = cursor->dataset->own;
    interleave_cursor *at = cursor->own;
    LIANA_TRY(liana__cycle_init(&at->cycle, own->cycle_length, own->block_length, error));
    at->context = liana__context_branch(cursor->dataset->context);
    if (!at->context) return liana__fail_memory(error, cursor->dataset->name);
    return liana__cursor_open_input(cursor, 0, cursor->epoch, 0, error);
}

static void free_cursor(liana__cursor *cursor)
{
    interleave_cursor *at = cursor->own;
    liana__cycle_free(&at->cycle);
    liana__context_end_branch(at->context);
}

/* Opens the dataset that the function makes of the input's next element. */
static liana_status open_next(liana__cursor *cursor, liana__cycle_place *own, liana__error *error)
{
    const interleave *options = cursor->dataset->own;
    interleave_cursor *at = cursor->own;
    liana_element element;
    liana__at address = {cursor->seed, cursor->epoch, cursor->inputs[0]->index};
    LIANA_TRY(liana__cursor_next(cursor->inputs[0], &element, error));
    liana_example_address seen = liana__example_address(&address, &element);
    liana_context_clear(at->context);
    own->record = element.record;
    own->dataset = options->function(options->user, at->context, &seen, &element);
    liana_status status = at->context->error.status;
    if (!own->dataset) {
        status = liana__fail_function(error, status, &address, element.record, at->context->error.message);
        liana__fail_within(error, "%s", cursor->dataset->name);
        return status;
    }
    status = liana__spec_match(&own->dataset->spec, &cursor->dataset->spec, error);
    if (status == LIANA_OK) {
        liana__at start = {liana__seed_of_input(cursor->seed, (size_t)address.index + 1), cursor->epoch, 0};
        /* Threads for each of many small datasets would cost more than they give. */
        liana__pace pace = {.budget = cursor->pace.budget};
        status = liana__cursor_open(own->dataset, pace, &start, &own->cursor, error);
    }
    if (status == LIANA_OK) return LIANA_OK;
    liana__fail_within(error, "%s: the dataset that was made at position %llu of epoch %llu (record %llu)",
                       cursor->dataset->name, (unsigned long long)address.index, (unsigned long long)address.epoch,
                       (unsigned long long)element.record);
    return status;
}

static liana_status next(liana__cursor *cursor, liana_element *element, liana__error *error)
{
    interleave_cursor *at = cursor->own;
    LIANA_TRY(liana__cycle_next(&at->cycle, cursor, open_next, element, error));
    element->record = at->cycle.places[at->cycle.at].record;
    return LIANA_OK;
}

static liana_dataset *make(liana_dataset *input, const liana_interleave_options *options, int64_t cycle_length,
                           int64_t block_length)
{
    enum { MAX_CYCLE = 1 << 20 };
    liana_dataset *dataset = liana__dataset_stage(&liana__stage_interleave, input, sizeof(interleave));
    if (!dataset) return NULL;
    liana__error *error = &dataset->context->error;
    *(interleave *)dataset->own = (interleave){(size_t)cycle_length, block_length, options->function, options->user};
    dataset->length = dataset->length == 0 ? 0 : LIANA_UNKNOWN;
    dataset->random_access = false;
    dataset->varies = true;
    liana__dataset_call(dataset, options->name);
    liana_status status = LIANA_OK;
    if (options->components) {
        status = liana__spec_make(&dataset->arena, options->components, options->num_components, &dataset->spec, error);
    }
    if (status == LIANA_OK && !options->function) {
        status = liana__fail(error, LIANA_INVALID_ARGUMENT, "the function is NULL");
    }
    if (status == LIANA_OK && (cycle_length < 1 || cycle_length > MAX_CYCLE || block_length < 1)) {
        status = liana__fail(error, LIANA_INVALID_ARGUMENT,
                             "cycle_length is %lld and block_length %lld, expected 1 to %d and at least 1",
                             (long long)cycle_length, (long long)block_length, MAX_CYCLE);
    }
    return liana__dataset_finish(dataset, status);
}

liana_dataset *liana_dataset_interleave(liana_dataset *input, const liana_interleave_options *options)
{
    if (!LIANA__STAGE_REQUIRE(input, options)) return NULL;
    return make(input, options, options->cycle_length ? options->cycle_length : 1,
                options->block_length ? options->block_length : 1);
}

liana_dataset *liana_dataset_flat_map(liana_dataset *input, const liana_interleave_options *options)
{
    if (!LIANA__STAGE_REQUIRE(input, options)) return NULL;
    liana_dataset *dataset = make(input, options, 1, 1);
    if (dataset && !options->name) dataset->name = "flat_map";
    return dataset;
}

const liana_stage_type liana__stage_interleave = {
    LIANA_PART(STAGE, liana_stage_type, "interleave",
               "Takes elements in turn from datasets that a function makes, one from each element."),
    .options_size = offsetof(interleave, function),
    .begin = begin,
    .next = next,
    .cursor_size = sizeof(interleave_cursor),
    .cursor_free = free_cursor,
};
