/* The elements of datasets that a function of the program's own makes of each element: one dataset after the other
 * (flat_map), or of several in turn.
 *
 * The order is tf.data's: a cycle of places is gone round, block_length elements from each; a place whose dataset has
 * ended is left, and gets the next dataset when the cycle comes round to it. */
#include "data/dataset.h"

#include <pthread.h>
#include <stdlib.h>

typedef struct interleave {
    liana_dataset_function function;
    void *user;
    size_t cycle_length;
    int64_t block_length;
} interleave;

typedef struct place {
    liana_dataset *dataset;
    liana__cursor *cursor;
    uint64_t record;
} place;

typedef struct interleave_cursor {
    place *places;
    size_t at;       /* the place whose turn it is */
    int64_t given;   /* elements of its block so far */
    size_t num_open; /* places with a dataset */
    bool drained;    /* the input */
    /* What functions make datasets in: like the program's context, with an error of its own, since this may be any
     * thread. */
    liana_context context;
} interleave_cursor;

static liana_status begin(liana__cursor *cursor, uint64_t start, liana__error *error)
{
    (void)start;
    const interleave *own = cursor->dataset->own;
    const liana_context *context = cursor->dataset->context;
    interleave_cursor *at = cursor->own;
    at->places = calloc(own->cycle_length, sizeof *at->places);
    if (!at->places) return liana__fail_memory(error, cursor->dataset->name);
    at->context = (liana_context){.pool = context->pool, .isa = context->isa, .registered = context->registered};
    pthread_mutex_init(&at->context.log_mutex, NULL);
    return liana__cursor_open_input(cursor, 0, cursor->epoch, 0, error);
}

static void close_place(interleave_cursor *at, place *own)
{
    if (own->dataset) at->num_open--;
    liana__cursor_close(own->cursor);
    liana_dataset_close(own->dataset);
    *own = (place){0};
}

static void free_places(liana__cursor *cursor)
{
    const interleave *own = cursor->dataset->own;
    interleave_cursor *at = cursor->own;
    for (size_t i = 0; at->places && i < own->cycle_length; i++) close_place(at, &at->places[i]);
    if (at->places) pthread_mutex_destroy(&at->context.log_mutex);
    free(at->places);
}

/* Opens the dataset that the function makes of the input's next element. */
static liana_status open_next(liana__cursor *cursor, place *own, liana__error *error)
{
    const interleave *options = cursor->dataset->own;
    interleave_cursor *at = cursor->own;
    liana_element element;
    liana__at address = {cursor->seed, cursor->epoch, cursor->inputs[0]->index};
    LIANA_TRY(liana__cursor_next(cursor->inputs[0], &element, error));
    liana_example_address seen = liana__example_address(&address, &element);
    at->context.error = (liana__error){0};
    own->record = element.record;
    own->dataset = options->function(options->user, &at->context, &seen, &element);
    at->num_open += own->dataset != NULL;
    liana_status status = at->context.error.status;
    if (!own->dataset) {
        return liana__fail_function(error, status, &address, element.record, at->context.error.message);
    }
    status = liana__spec_match(&own->dataset->spec, &cursor->dataset->spec, error);
    if (status == LIANA_OK) {
        liana__at start = {liana__seed_of_input(cursor->seed, (size_t)address.index + 1), cursor->epoch, 0};
        /* Threads for each of many small datasets would cost more than they give. */
        liana__pace pace = {.budget = cursor->pace.budget};
        status = liana__cursor_open(own->dataset, pace, &start, &own->cursor, error);
    }
    if (status == LIANA_OK) return LIANA_OK;
    liana__fail_within(error, "the dataset that was made at position %llu of epoch %llu (record %llu)",
                       (unsigned long long)address.index, (unsigned long long)address.epoch,
                       (unsigned long long)element.record);
    return status;
}

static void advance(const interleave *own, interleave_cursor *at)
{
    at->given = 0;
    at->at = (at->at + 1) % own->cycle_length;
}

static liana_status next(liana__cursor *cursor, liana_element *element, liana__error *error)
{
    const interleave *own = cursor->dataset->own;
    interleave_cursor *at = cursor->own;
    while (!at->drained || at->num_open > 0) {
        place *turn = &at->places[at->at];
        if (turn->cursor) {
            if (at->given == own->block_length) {
                advance(own, at);
                continue;
            }
            liana_status status = liana__cursor_next(turn->cursor, element, error);
            at->given++;
            if (status == LIANA_OK) {
                element->spec = &cursor->dataset->spec;
                element->record = turn->record;
            }
            if (status != LIANA_END_OF_DATA) return status;
            close_place(at, turn);
            advance(own, at);
        } else if (at->drained) {
            advance(own, at);
        } else {
            liana_status status = open_next(cursor, turn, error);
            at->drained = status == LIANA_END_OF_DATA;
            if (status != LIANA_OK && !at->drained) return liana__fail_within(error, "%s", cursor->dataset->name);
        }
    }
    return LIANA_END_OF_DATA;
}

static liana_dataset *make(liana_dataset *input, const liana_interleave_options *options, int64_t cycle_length,
                           int64_t block_length)
{
    enum { MAX_CYCLE = 1 << 20 };
    liana_dataset *dataset = liana__dataset_stage(&liana__stage_interleave, input, sizeof(interleave));
    if (!dataset) return NULL;
    liana__error *error = &dataset->context->error;
    *(interleave *)dataset->own = (interleave){options->function, options->user, (size_t)cycle_length, block_length};
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
    return make(input, options, options->cycle_length ? options->cycle_length : 1,
                options->block_length ? options->block_length : 1);
}

liana_dataset *liana_dataset_flat_map(liana_dataset *input, const liana_interleave_options *options)
{
    liana_dataset *dataset = make(input, options, 1, 1);
    if (dataset && !options->name) dataset->name = "flat_map";
    return dataset;
}

const liana__stage_kind liana__stage_interleave = {
    .name = "interleave",
    .doc = "The elements of datasets that a function makes of each element, of several in turn.",
    .begin = begin,
    .next = next,
    .cursor_size = sizeof(interleave_cursor),
    .cursor_free = free_places,
};
