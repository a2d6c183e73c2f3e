/* Batches of elements whose dimensions differ: the longest of the batch decides. */
#include "data/dataset/kept.h"
#include "data/dataset/padding.h"

#include <string.h>

typedef struct padded_batch {
    uint64_t size;
    bool drops;
    liana__padding paddings[LIANA_MAX_COMPONENTS]; /* of the input's components */
} padded_batch;

/* The elements of a batch until their lengths are known. */
static void free_list(void *own)
{
    liana__kept_list_free(own);
}

static void free_cursor(liana__cursor *cursor)
{
    liana__kept_list_free(cursor->own);
}

static size_t list_bytes(const liana__reader *reader)
{
    return ((const liana__kept_list *)reader->own)->bytes;
}

/* Component `index` of all elements, in blocks of the largest size. */
static liana_status put_component(const liana_dataset *dataset, liana__holder *store, const liana__kept_list *list,
                                  size_t index, liana__error *error)
{
    const padded_batch *own = dataset->own;
    int64_t rows = 0, width = 0;
    for (size_t k = 0; k < list->count; k++) {
        const int64_t is_rows = liana__element_rows(&list->items[k].element, index);
        const int64_t is_width = liana__element_width(&list->items[k].element, index);
        rows = is_rows > rows ? is_rows : rows;
        width = is_width > width ? is_width : width;
    }
    LIANA_TRY(liana__holder_resize(store, index, (int64_t)list->count, rows, error));
    for (size_t k = 0; k < list->count; k++) {
        LIANA_TRY(liana__padding_put(&own->paddings[index], store, index, (int64_t)k, rows, width,
                                     &list->items[k].element, index, error));
    }
    return LIANA_OK;
}

static liana_status make_batch(const liana_dataset *dataset, liana__holder *store, const liana__kept_list *list,
                               liana_element *element, liana__error *error)
{
    LIANA_TRY(liana__holder_begin(store, &dataset->spec, 0, error));
    store->element.record = list->items[0].element.record;
    for (size_t i = 0; i < dataset->spec.count; i++) LIANA_TRY(put_component(dataset, store, list, i, error));
    liana__holder_finish(store, element);
    return LIANA_OK;
}

static liana_status read_batch(liana__reader *reader, const liana__at *at, liana_element *element, liana__error *error)
{
    const padded_batch *own = reader->dataset->own;
    liana__kept_list *list = reader->own;
    uint64_t length = (uint64_t)reader->inputs[0]->dataset->length, start = at->index * own->size;
    uint64_t count = length - start < own->size ? length - start : own->size;
    list->count = 0;
    for (uint64_t i = 0; i < count; i++) {
        const liana__at inner = {at->seed, at->epoch, start + i};
        liana_element one;
        LIANA_TRY(liana__reader_read(reader->inputs[0], &inner, &one, error));
        LIANA_TRY(liana__kept_list_add(list, &one, error));
    }
    return make_batch(reader->dataset, &reader->store, list, element, error);
}

static liana_status begin(liana__cursor *cursor, uint64_t start, liana__error *error)
{
    const padded_batch *own = cursor->dataset->own;
    cursor->index = start;
    ((liana__kept_list *)cursor->own)->budget = cursor->pace.budget;
    return liana__cursor_open_input(cursor, 0, cursor->epoch, start * own->size, error);
}

static liana_status next(liana__cursor *cursor, liana_element *element, liana__error *error)
{
    const padded_batch *own = cursor->dataset->own;
    liana__kept_list *list = cursor->own;
    list->count = 0;
    while (list->count < own->size) {
        liana_element one;
        liana_status status = liana__cursor_next(cursor->inputs[0], &one, error);
        if (status == LIANA_END_OF_DATA) break;
        if (status != LIANA_OK) return status;
        LIANA_TRY(liana__kept_list_add(list, &one, error));
    }
    if (list->count == 0 || (list->count < own->size && own->drops)) return LIANA_END_OF_DATA;
    return make_batch(cursor->dataset, &cursor->store, list, element, error);
}

static liana_status make_spec(liana_dataset *dataset, liana__error *error)
{
    const padded_batch *own = dataset->own;
    liana_component made[LIANA_MAX_COMPONENTS];
    const int64_t rows = own->drops ? (int64_t)own->size : LIANA_UNKNOWN_DIM;
    for (size_t i = 0; i < dataset->spec.count; i++) {
        const liana_component *component = &dataset->spec.components[i];
        if (liana__component_width(component) == LIANA_UNKNOWN_DIM || component->shape.rank == LIANA_MAX_RANK) {
            return liana__fail(error, LIANA_INVALID_ARGUMENT,
                               "the component '%s' is %s, expected a second dimension that is known or padded to a "
                               "known length, and at most %d dimensions",
                               component->name, liana__component_describe(component).text, LIANA_MAX_RANK - 1);
        }
        made[i] = (liana_component){component->name, component->dtype, {component->shape.rank + 1, {rows}}};
        memcpy(made[i].shape.dims + 1, component->shape.dims, (size_t)component->shape.rank * sizeof(int64_t));
    }
    return liana__spec_make(&dataset->arena, made, dataset->spec.count, &dataset->spec, error);
}

static liana_dataset *make_ragged(liana_dataset *input, const liana_padded_batch_options *options)
{
    liana_dataset *dataset = liana__dataset_stage(&liana__stage_padded_batch, input, sizeof(padded_batch));
    if (!dataset) return NULL;
    liana__error *error = &dataset->context->error;
    padded_batch *own = dataset->own;
    const int64_t size = options->batch_size;
    *own = (padded_batch){.size = (uint64_t)size, .drops = options->drop_remainder};
    liana_component_padding fills[LIANA_MAX_COMPONENTS];
    size_t num_fills = options->num_paddings < LIANA_MAX_COMPONENTS ? options->num_paddings : LIANA_MAX_COMPONENTS;
    for (size_t i = 0; i < num_fills; i++) { /* shapes, lengths and masks are done */
        fills[i] = (liana_component_padding){.component = options->paddings[i].component,
                                             .value = options->paddings[i].value,
                                             .text = options->paddings[i].text};
    }
    liana_status status = LIANA_OK;
    if (size < 1 || size > INT32_MAX) {
        status =
            liana__fail(error, LIANA_INVALID_ARGUMENT, "batch_size is %lld, expected 1 to 2^31 - 1", (long long)size);
    }
    if (status == LIANA_OK) {
        status = liana__paddings_read(fills, num_fills, &dataset->spec, &dataset->arena, own->paddings, error);
    }
    if (status == LIANA_OK) status = make_spec(dataset, error);
    if (status == LIANA_OK && dataset->length > 0) {
        dataset->length = dataset->length / size + (!own->drops && dataset->length % size != 0);
    }
    return liana__dataset_finish(dataset, status);
}

liana_dataset *liana_dataset_padded_batch(liana_dataset *input, const liana_padded_batch_options *options)
{
    if (!LIANA__STAGE_REQUIRE(input, options)) return NULL;
    const liana_pad_options wanted = {options->paddings, options->num_paddings, false};
    liana_dataset *padded = options->num_paddings ? liana_dataset_pad(input, &wanted) : input;
    if (!padded) return NULL;
    bool ragged = false;
    for (size_t i = 0; i < padded->spec.count; i++) {
        ragged = ragged || !liana__component_is_static(&padded->spec.components[i]);
    }
    if (ragged) return make_ragged(padded, options);
    const liana_batch_options batches = {options->batch_size,
                                         options->drop_remainder ? LIANA_REMAINDER_DROP : LIANA_REMAINDER_KEEP};
    return liana_dataset_batch(padded, &batches);
}

static void describe(const liana_dataset *dataset, liana__fingerprint *settings, liana__fingerprint *sources)
{
    (void)sources;
    const padded_batch *own = dataset->own;
    for (size_t i = 0; i < dataset->spec.count; i++) {
        liana__fingerprint_add(settings, &own->paddings[i].value, sizeof own->paddings[i].value);
        liana__fingerprint_add_text(settings, own->paddings[i].text);
    }
}

const liana_stage_type liana__stage_padded_batch = {
    LIANA_PART(STAGE, liana_stage_type, "padded_batch", "Batches of values of any length, padded to the longest."),
    .options_size = offsetof(padded_batch, drops) + sizeof(bool),
    .describe = describe,
    .read = read_batch,
    .begin = begin,
    .next = next,
    .reader_size = sizeof(liana__kept_list),
    .reader_free = free_list,
    .reader_bytes = list_bytes,
    .cursor_size = sizeof(liana__kept_list),
    .cursor_free = free_cursor,
};
