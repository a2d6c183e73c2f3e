/* Another order: a permutation of all elements where any can be had at once, else draws from a buffer. */
#include "data/dataset/kept.h"
#include "data/loader/block_order.h"

#include "base/random.h"

enum { DEFAULT_BUFFER = 1024 };

typedef struct shuffle {
    uint64_t buffer_size;
    uint64_t seed;
    bool same_each_epoch;
} shuffle;

/* Where the input is read in blocks, these are permuted, and the records in windows of them. */
typedef struct shuffle_reader {
    liana__block_order *order;
} shuffle_reader;

static void free_reader(void *own)
{
    liana__block_order_destroy(((shuffle_reader *)own)->order);
}

static liana_status find(liana__reader *reader, uint64_t epoch, uint64_t *index, liana__error *error)
{
    const shuffle *own = reader->dataset->own;
    const liana_dataset *input = reader->dataset->inputs[0];
    uint64_t length = (uint64_t)reader->dataset->length;
    if (!input->block_starts) {
        *index = liana__permute(own->seed, epoch, *index, length);
        return LIANA_OK;
    }
    liana__block_order **order = &((shuffle_reader *)reader->own)->order;
    if (!*order) {
        LIANA_TRY(liana__block_order_create(input->block_starts, input->num_blocks, length, own->seed, order, error));
    }
    *index = liana__block_order_record(*order, epoch, *index);
    return LIANA_OK;
}

static liana_status read_element(liana__reader *reader, const liana__at *at, liana_element *element,
                                 liana__error *error)
{
    const shuffle *own = reader->dataset->own;
    uint64_t epoch = own->same_each_epoch ? 0 : at->epoch;
    liana__at inner = *at;
    LIANA_TRY(find(reader, epoch, &inner.index, error));
    return liana__reader_read(reader->inputs[0], &inner, element, error);
}

typedef struct buffer {
    liana__kept_list list;
    bool drained;
} buffer;

static void free_buffer(liana__cursor *cursor)
{
    liana__kept_list_free(&((buffer *)cursor->own)->list);
}

/* Fills the buffer up. */
static liana_status fill(liana__cursor *cursor, liana__error *error)
{
    const shuffle *own = cursor->dataset->own;
    buffer *at = cursor->own;
    while (!at->drained && at->list.count < own->buffer_size) {
        liana_element element;
        liana_status status = liana__cursor_next(cursor->inputs[0], &element, error);
        at->drained = status == LIANA_END_OF_DATA;
        if (at->drained) break;
        if (status != LIANA_OK) return status;
        if (liana__kept_list_add(&at->list, &element, error) != LIANA_OK) {
            return liana__fail_within(error, "%s", cursor->dataset->name);
        }
    }
    return LIANA_OK;
}

static liana_status next(liana__cursor *cursor, liana_element *element, liana__error *error)
{
    const shuffle *own = cursor->dataset->own;
    buffer *at = cursor->own;
    liana__kept_list *list = &at->list;
    list->budget = cursor->pace.budget;
    LIANA_TRY(fill(cursor, error));
    if (list->count == 0) return LIANA_END_OF_DATA;
    uint64_t epoch = own->same_each_epoch ? 0 : cursor->epoch;
    uint64_t word = liana__draw_for(own->seed, epoch, cursor->index, LIANA__SALT_SHUFFLE);
    /* The chosen one goes to the end, where the next element is put only after the consumer has come back. */
    liana__kept *last = &list->items[--list->count], *chosen = &list->items[word % (list->count + 1)],
                swapped = *chosen;
    *chosen = *last;
    *last = swapped;
    *element = last->element;
    return LIANA_OK;
}

liana_dataset *liana_dataset_shuffle(liana_dataset *input, const liana_shuffle_options *options)
{
    static const liana_shuffle_options defaults;
    if (!options) options = &defaults;
    liana_dataset *dataset = liana__dataset_stage(&liana__stage_shuffle, input, sizeof(shuffle));
    if (!dataset) return NULL;
    int64_t size = options->buffer_size ? options->buffer_size : DEFAULT_BUFFER;
    *(shuffle *)dataset->own = (shuffle){(uint64_t)size, options->seed, options->same_each_epoch};
    dataset->random_access = dataset->random_access && dataset->length >= 0;
    dataset->varies = dataset->varies || !options->same_each_epoch;
    liana_status status = LIANA_OK;
    if (size < 1 || size > INT32_MAX) {
        status =
            liana__fail(&dataset->context->error, LIANA_INVALID_ARGUMENT,
                        "the buffer_size is %lld, expected 1 to 2^31 - 1 (or 0: %d)", (long long)size, DEFAULT_BUFFER);
    }
    return liana__dataset_finish(dataset, status);
}

const liana_stage_type liana__stage_shuffle = {
    LIANA_PART(STAGE, liana_stage_type, "shuffle",
               "Shuffles anew in each epoch: all elements, or for a stream those in a buffer."),
    .options_size = offsetof(shuffle, same_each_epoch) + sizeof(bool),
    .read = read_element,
    .reader_size = sizeof(shuffle_reader),
    .reader_free = free_reader,
    .next = next,
    .cursor_size = sizeof(buffer),
    .cursor_free = free_buffer,
};
