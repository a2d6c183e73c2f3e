/* take, skip, shard: every step-th element from an offset on. */
#include "data/dataset/dataset.h"

typedef struct slice {
    uint64_t offset;
    uint64_t step;
    int64_t limit; /* elements at most; below 0: any number */
} slice;

static size_t trace(const liana_dataset *dataset, uint64_t *index)
{
    const slice *own = dataset->own;
    *index = own->offset + *index * own->step;
    return 0;
}

static liana_status begin(liana__cursor *cursor, uint64_t start, liana__error *error)
{
    const slice *own = cursor->dataset->own;
    cursor->index = start;
    return liana__cursor_open_input(cursor, 0, cursor->epoch, own->offset + start * own->step, error);
}

static liana_status next(liana__cursor *cursor, liana_element *element, liana__error *error)
{
    const slice *own = cursor->dataset->own;
    liana__cursor *input = cursor->inputs[0];
    if (own->limit >= 0 && cursor->index >= (uint64_t)own->limit) return LIANA_END_OF_DATA;
    while (input->index < own->offset + cursor->index * own->step) LIANA_TRY(liana__cursor_next(input, element, error));
    return liana__cursor_next(input, element, error);
}

static liana_dataset *make(const liana_stage_type *kind, liana_dataset *input, slice wanted, bool valid,
                           const char *expected)
{
    liana_dataset *dataset = liana__dataset_stage(kind, input, sizeof(slice));
    if (!dataset) return NULL;
    *(slice *)dataset->own = wanted;
    int64_t length = dataset->length, offset = (int64_t)wanted.offset, step = (int64_t)wanted.step;
    if (length >= 0) length = length > offset ? (length - offset - 1) / step + 1 : 0;
    if (wanted.limit >= 0 && (length == LIANA_INFINITE || length > wanted.limit)) length = wanted.limit;
    dataset->length = length;
    liana_status status = LIANA_OK;
    liana__error *error = &dataset->context->error;
    if (!valid) status = liana__fail(error, LIANA_INVALID_ARGUMENT, "%s", expected);
    if (status == LIANA_OK) status = liana__dataset_slice_blocks(dataset, wanted.offset, wanted.step, error);
    return liana__dataset_finish(dataset, status);
}

liana_dataset *liana_dataset_take(liana_dataset *input, int64_t count)
{
    return make(&liana__stage_take, input, (slice){0, 1, count}, true, NULL);
}

liana_dataset *liana_dataset_skip(liana_dataset *input, int64_t count)
{
    return make(&liana__stage_skip, input, (slice){count < 0 ? 0 : (uint64_t)count, 1, -1}, count >= 0,
                "the number of elements is below 0");
}

liana_dataset *liana_dataset_shard(liana_dataset *input, int64_t num_shards, int64_t index)
{
    bool valid = num_shards >= 1 && index >= 0 && index < num_shards;
    slice wanted = {valid ? (uint64_t)index : 0, valid ? (uint64_t)num_shards : 1, -1};
    return make(&liana__stage_shard, input, wanted, valid, "expected at least 1 shard and an index below their number");
}

const liana_stage_type liana__stage_take = {LIANA_PART(STAGE, liana_stage_type, "take", "Keeps the first elements."),
                                            .options_size = sizeof(slice), .trace = trace, .begin = begin,
                                            .next = next};

const liana_stage_type liana__stage_skip = {LIANA_PART(STAGE, liana_stage_type, "skip",
                                                       "Leaves out the first elements."),
                                            .options_size = sizeof(slice), .trace = trace, .begin = begin,
                                            .next = next};

const liana_stage_type liana__stage_shard = {LIANA_PART(STAGE, liana_stage_type, "shard", "Keeps every n-th element."),
                                             .options_size = sizeof(slice), .trace = trace, .begin = begin,
                                             .next = next};
