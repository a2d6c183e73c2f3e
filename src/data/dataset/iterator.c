/* Iterators: a program goes through the elements of a dataset. */
#include "data/dataset/dataset_source.h"

#include "base/denormals.h"

#include <liana/dataset.h>
#include <stdlib.h>

struct liana_iterator {
    liana_context *context;
    liana_iterator *source; /* for a feedable iterator; otherwise NULL, and ... */
    liana_dataset *dataset;
    liana_iterator_options options;
    liana__budget budget;
    liana__cursor *cursor;
    liana_element element;
    liana_status failed; /* the status that ended the iteration early */
    liana__error error;
};

static liana__at start_of(const liana_iterator_options *options)
{
    return (liana__at){options->seed, options->epoch, options->start};
}

static liana__pace pace_of(liana_iterator *iterator, const liana_iterator_options *options)
{
    int threads = options->num_threads;
    if (threads == 0) threads = liana_context_num_threads(iterator->context);
    iterator->budget.memory = options->memory ? options->memory : LIANA__DATASET_MEMORY;
    return (liana__pace){threads < 0 ? 0 : threads, &iterator->budget};
}

static liana_status create_iterator(const liana_dataset *dataset, const liana_iterator_options *options,
                                    liana_iterator **out)
{
    static const liana_iterator_options defaults;
    *out = NULL;
    liana_context *context = dataset->context;
    liana_iterator *iterator = calloc(1, sizeof *iterator);
    if (!iterator) return liana__fail_memory(&context->error, "an iterator");
    iterator->context = context;
    iterator->options = options ? *options : defaults;
    iterator->dataset = liana_dataset_retain((liana_dataset *)dataset);
    liana__pace pace = pace_of(iterator, &iterator->options);
    liana__at start = start_of(&iterator->options);
    liana_status status = liana__cursor_open(iterator->dataset, pace, &start, &iterator->cursor, &context->error);
    if (status == LIANA_OK) *out = iterator;
    if (status != LIANA_OK) liana_iterator_destroy(iterator);
    return status;
}

liana_status liana_iterator_create(const liana_dataset *dataset, const liana_iterator_options *options,
                                   liana_iterator **out)
{
    LIANA__REQUIRE_AS(dataset ? &dataset->context->error : NULL, out, "iterator");
    *out = NULL;
    LIANA__REQUIRE(NULL, dataset);
    LIANA__CONTEXT_CALL(dataset->context, create_iterator(dataset, options, out));
}

void liana_iterator_destroy(liana_iterator *iterator)
{
    if (!iterator) return;
    liana__cursor_close(iterator->cursor);
    liana_dataset_close(iterator->dataset);
    free(iterator);
}

liana_status liana_iterator_next(liana_iterator *iterator, const liana_element **element)
{
    LIANA__REQUIRE(iterator ? &iterator->context->error : NULL, element);
    *element = NULL;
    LIANA__REQUIRE(NULL, iterator);
    if (liana__context_stopped(iterator->context)) return iterator->context->first.status;
    while (iterator->source) iterator = iterator->source;
    if (iterator->failed == LIANA_OK) {
        /* This thread may make the element, which is the same on any. */
        const liana__denormals before = liana__denormals_keep();
        iterator->failed = liana__cursor_next(iterator->cursor, &iterator->element, &iterator->error);
        liana__denormals_restore(before);
    }
    if (iterator->failed == LIANA_OK) {
        *element = &iterator->element;
    } else if (iterator->failed != LIANA_END_OF_DATA) {
        iterator->context->error = iterator->error;
    }
    return iterator->failed;
}

uint64_t liana_iterator_position(const liana_iterator *iterator)
{
    if (!iterator) return 0;
    while (iterator->source) iterator = iterator->source;
    return iterator->cursor->index;
}

static liana_status begin_again(liana_iterator *iterator, const liana_dataset *dataset,
                                const liana_iterator_options *options)
{
    while (iterator->source) iterator = iterator->source;
    liana__error *error = &iterator->context->error;
    if (!dataset) dataset = iterator->dataset;
    if (liana__spec_match(&dataset->spec, &iterator->dataset->spec, error) != LIANA_OK) {
        return liana__fail_within(error, "the dataset '%s' does not fit the iterator", dataset->name);
    }
    liana_iterator_options wanted = options ? *options : iterator->options;
    if (!options) wanted.start = 0;
    liana__cursor *cursor;
    liana__at start = start_of(&wanted);
    LIANA_TRY(liana__cursor_open(dataset, pace_of(iterator, &wanted), &start, &cursor, error));
    liana__cursor_close(iterator->cursor);
    liana_dataset *before = iterator->dataset;
    iterator->dataset = liana_dataset_retain((liana_dataset *)dataset);
    liana_dataset_close(before);
    iterator->cursor = cursor;
    iterator->options = wanted;
    iterator->failed = LIANA_OK;
    return LIANA_OK;
}

liana_status liana_iterator_initialize(liana_iterator *iterator, const liana_dataset *dataset,
                                       const liana_iterator_options *options)
{
    LIANA__REQUIRE(dataset ? &dataset->context->error : NULL, iterator);
    LIANA__CONTEXT_CALL(iterator->context, begin_again(iterator, dataset, options));
}

static const liana__spec *spec_of(const liana_iterator *iterator)
{
    while (iterator->source) iterator = iterator->source;
    return &iterator->dataset->spec;
}

liana_status liana_iterator_create_feedable(liana_iterator *source, liana_iterator **out)
{
    LIANA__REQUIRE_AS(source ? &source->context->error : NULL, out, "iterator");
    *out = NULL;
    LIANA__REQUIRE(NULL, source);
    *out = calloc(1, sizeof **out);
    if (!*out) return liana__fail_memory(&source->context->error, "an iterator");
    (*out)->context = source->context;
    (*out)->source = source;
    return LIANA_OK;
}

liana_status liana_iterator_feed(liana_iterator *iterator, liana_iterator *source)
{
    LIANA__REQUIRE(source ? &source->context->error : NULL, iterator);
    LIANA__REQUIRE(&iterator->context->error, source);
    liana__error *error = &iterator->context->error;
    if (!iterator->source) {
        return liana__fail(
            error, LIANA_INVALID_ARGUMENT,
            "the iterator has a dataset of its own; only iterators from liana_iterator_create_feedable can be fed");
    }
    for (const liana_iterator *at = source; at; at = at->source) {
        if (at == iterator) return liana__fail(error, LIANA_INVALID_ARGUMENT, "the iterator would feed itself");
    }
    if (liana__spec_match(spec_of(source), spec_of(iterator), error) != LIANA_OK) {
        return liana__fail_within(error, "the source does not fit the iterator");
    }
    iterator->source = source;
    return LIANA_OK;
}
