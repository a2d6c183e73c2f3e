/* Several epochs, one after the other. */
#include "data/dataset/dataset.h"

typedef struct repeat {
    int64_t count; /* below 0: endless */
} repeat;

/* The input's epoch: each of all repetitions of all epochs another one. */
static uint64_t inner_epoch(const repeat *own, uint64_t epoch, uint64_t pass)
{
    return own->count < 0 ? epoch + pass : epoch * (uint64_t)own->count + pass;
}

static liana_status read_element(liana__reader *reader, const liana__at *at, liana_element *element,
                                 liana__error *error)
{
    const repeat *own = reader->dataset->own;
    uint64_t length = (uint64_t)reader->inputs[0]->dataset->length;
    liana__at inner = {at->seed, inner_epoch(own, at->epoch, at->index / length), at->index % length};
    return liana__reader_read(reader->inputs[0], &inner, element, error);
}

typedef struct repeat_cursor {
    uint64_t pass;
} repeat_cursor;

static liana_status begin(liana__cursor *cursor, uint64_t start, liana__error *error)
{
    const repeat *own = cursor->dataset->own;
    repeat_cursor *at = cursor->own;
    int64_t length = cursor->dataset->inputs[0]->length;
    uint64_t offset = 0;
    if (length > 0) { /* replayed, but of a known length */
        at->pass = start / (uint64_t)length;
        offset = start % (uint64_t)length;
        cursor->index = start;
    }
    return liana__cursor_open_input(cursor, 0, inner_epoch(own, cursor->epoch, at->pass), offset, error);
}

static liana_status next(liana__cursor *cursor, liana_element *element, liana__error *error)
{
    const repeat *own = cursor->dataset->own;
    repeat_cursor *at = cursor->own;
    for (;;) {
        if (own->count >= 0 && at->pass >= (uint64_t)own->count) return LIANA_END_OF_DATA;
        liana_status status = liana__cursor_next(cursor->inputs[0], element, error);
        if (status != LIANA_END_OF_DATA) return status;
        /* Data without an element would be repeated for ever. */
        if (cursor->inputs[0]->index == 0) return LIANA_END_OF_DATA;
        liana__cursor_close(cursor->inputs[0]);
        cursor->inputs[0] = NULL;
        at->pass++;
        uint64_t epoch = inner_epoch(own, cursor->epoch, at->pass);
        LIANA_TRY(liana__cursor_open_input(cursor, 0, epoch, 0, error));
    }
}

liana_dataset *liana_dataset_repeat(liana_dataset *input, int64_t count)
{
    liana_dataset *dataset = liana__dataset_stage(&liana__stage_repeat, input, sizeof(repeat));
    if (!dataset) return NULL;
    *(repeat *)dataset->own = (repeat){count};
    int64_t length = dataset->length;
    liana_status status = LIANA_OK;
    if (length == 0 || count == 0) {
        dataset->length = 0;
    } else if (count < 0) {
        dataset->length = LIANA_INFINITE;
    } else if (length > 0 && __builtin_mul_overflow(length, count, &dataset->length)) {
        status = liana__fail(&dataset->context->error, LIANA_INVALID_ARGUMENT,
                             "%lld repetitions of %lld elements are too many", (long long)count, (long long)length);
    }
    return liana__dataset_finish(dataset, status);
}

const liana_stage_type liana__stage_repeat = {
    LIANA_PART(STAGE, liana_stage_type, "repeat", "Repeats the data a number of times, or without end."),
    .options_size = sizeof(repeat),
    .read = read_element,
    .begin = begin,
    .next = next,
    .cursor_size = sizeof(repeat_cursor),
};
