/* Several elements as one, along a new first dimension. */
#include "data/dataset/stacked.h"

#include <string.h>

typedef struct batch {
    uint64_t size;
    liana_remainder remainder;
    size_t num_components; /* of the input: a mask comes after them */
} batch;

/* With `count` of the rows put. */
static void finish(const liana_dataset *dataset, liana__holder *store, int64_t count, liana_element *element)
{
    const batch *own = dataset->own;
    if (own->remainder == LIANA_REMAINDER_PAD) memset(store->columns[own->num_components], 1, (size_t)count);
    liana__stacked_finish(store, count, element);
}

static liana_status begin_store(const liana_dataset *dataset, liana__holder *store, bool whole, liana__error *error)
{
    const batch *own = dataset->own;
    LIANA_TRY(liana__holder_begin(store, &dataset->spec, (int64_t)own->size, error));
    if (own->remainder == LIANA_REMAINDER_PAD && !whole) liana__holder_clear(store);
    return LIANA_OK;
}

static liana_status read_batch(liana__reader *reader, const liana__at *at, liana_element *element, liana__error *error)
{
    const batch *own = reader->dataset->own;
    uint64_t length = (uint64_t)reader->inputs[0]->dataset->length, start = at->index * own->size;
    uint64_t count = length - start < own->size ? length - start : own->size;
    LIANA_TRY(begin_store(reader->dataset, &reader->store, count == own->size, error));
    for (uint64_t i = 0; i < count; i++) {
        liana__at inner = {at->seed, at->epoch, start + i};
        liana_element one;
        LIANA_TRY(liana__reader_read(reader->inputs[0], &inner, &one, error));
        LIANA_TRY(liana__stacked_put(&reader->store, (int64_t)i, &one, error));
    }
    finish(reader->dataset, &reader->store, (int64_t)count, element);
    return LIANA_OK;
}

static liana_status begin(liana__cursor *cursor, uint64_t start, liana__error *error)
{
    const batch *own = cursor->dataset->own;
    cursor->index = start;
    return liana__cursor_open_input(cursor, 0, cursor->epoch, start * own->size, error);
}

static liana_status next(liana__cursor *cursor, liana_element *element, liana__error *error)
{
    const batch *own = cursor->dataset->own;
    liana__holder *store = &cursor->store;
    uint64_t count = 0;
    LIANA_TRY(begin_store(cursor->dataset, store, false, error));
    for (; count < own->size; count++) {
        liana_element one;
        liana_status status = liana__cursor_next(cursor->inputs[0], &one, error);
        if (status == LIANA_END_OF_DATA) break;
        if (status != LIANA_OK) return status;
        LIANA_TRY(liana__stacked_put(store, (int64_t)count, &one, error));
    }
    if (count == 0 || (count < own->size && own->remainder == LIANA_REMAINDER_DROP)) return LIANA_END_OF_DATA;
    finish(cursor->dataset, store, (int64_t)count, element);
    return LIANA_OK;
}

static liana_status make_spec(liana_dataset *dataset, liana__error *error)
{
    batch *own = dataset->own;
    liana_component made[LIANA_MAX_COMPONENTS + 1];
    size_t count = dataset->spec.count;
    int64_t rows = own->remainder == LIANA_REMAINDER_KEEP ? LIANA_UNKNOWN_DIM : (int64_t)own->size;
    LIANA_TRY(liana__stacked_components(&dataset->spec, rows, made, error));
    own->num_components = count;
    if (own->remainder == LIANA_REMAINDER_PAD) {
        made[count++] = (liana_component){"mask", LIANA_BOOL, {1, {rows}}};
    }
    return liana__spec_make(&dataset->arena, made, count, &dataset->spec, error);
}

liana_dataset *liana_dataset_batch(liana_dataset *input, const liana_batch_options *options)
{
    if (!LIANA__STAGE_REQUIRE(input, options)) return NULL;
    liana_dataset *dataset = liana__dataset_stage(&liana__stage_batch, input, sizeof(batch));
    if (!dataset) return NULL;
    liana__error *error = &dataset->context->error;
    int64_t size = options->batch_size;
    *(batch *)dataset->own = (batch){.size = (uint64_t)size, .remainder = options->remainder};
    liana_status status = LIANA_OK;
    if (size < 1 || size > INT32_MAX || (unsigned)options->remainder > LIANA_REMAINDER_PAD) {
        status = liana__fail(error, LIANA_INVALID_ARGUMENT,
                             "batch_size is %lld and remainder %d, expected 1 to 2^31 - "
                             "1 and a liana_remainder",
                             (long long)size, (int)options->remainder);
    }
    if (status == LIANA_OK) status = make_spec(dataset, error);
    if (status == LIANA_OK && dataset->length > 0) {
        bool drops = options->remainder == LIANA_REMAINDER_DROP;
        dataset->length = dataset->length / size + (!drops && dataset->length % size != 0);
    }
    return liana__dataset_finish(dataset, status);
}

liana_dataset *liana_dataset_rebatch(liana_dataset *input, const liana_batch_options *options)
{
    if (!LIANA__STAGE_REQUIRE(input, options)) return NULL;
    return liana_dataset_batch(liana_dataset_unbatch(input), options);
}

const liana_stage_type liana__stage_batch = {
    LIANA_PART(STAGE, liana_stage_type, "batch", "Makes one element of several, along a new first dimension."),
    .options_size = offsetof(batch, remainder) + sizeof(liana_remainder),
    .read = read_batch,
    .begin = begin,
    .next = next,
};

/* ---- the other way round ---- */

/* The batches that the dataset's elements are or hold; NULL: they are single. */
static const liana_dataset *find_batches(const liana_dataset *dataset)
{
    if (dataset->kind == &liana__stage_batch) return dataset;
    if (dataset->kind == &liana__stage_unbatch) return NULL;
    const liana_dataset *found = NULL;
    for (size_t i = 0; i < dataset->num_inputs && !found; i++) found = find_batches(dataset->inputs[i]);
    return found;
}

int64_t liana__dataset_batch_size(const liana_dataset *dataset)
{
    const liana_dataset *batches = find_batches(dataset);
    return batches ? (int64_t)((const batch *)batches->own)->size : 0;
}

void liana__dataset_examples(const liana_dataset *dataset, liana_dataset **examples, int64_t *batch_size)
{
    const liana_dataset *last = dataset, *batches = find_batches(dataset);
    const batch *own = batches ? batches->own : NULL;
    liana_dataset *whole = liana_dataset_retain((liana_dataset *)(uintptr_t)dataset);
    *examples = whole;
    *batch_size = own ? (int64_t)own->size : 0;
    if (!own) return;
    while (last->kind == &liana__stage_prefetch) last = last->inputs[0];
    const bool drops = own->remainder == LIANA_REMAINDER_DROP;
    if (last == batches && (!drops || batches->length >= 0)) {
        /* As they were before: in any order, also where the last batch is a smaller one. */
        *examples = liana_dataset_retain(batches->inputs[0]);
        if (drops) *examples = liana_dataset_take(*examples, batches->length * *batch_size);
        liana_dataset_close(whole);
    } else if (own->remainder != LIANA_REMAINDER_PAD) {
        *examples = liana_dataset_unbatch(whole);
    } else {
        *batch_size = 0;
    }
}
