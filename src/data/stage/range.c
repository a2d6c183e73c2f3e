/* Whole numbers. */
#include "data/dataset/dataset.h"

typedef struct range {
    int64_t start;
    int64_t step;
} range;

static liana_status read_number(liana__reader *reader, const liana__at *at, liana_element *element, liana__error *error)
{
    (void)error;
    const range *own = reader->dataset->own;
    int64_t *value = reader->own;
    *value = own->start + (int64_t)at->index * own->step;
    *element = (liana_element){.spec = &reader->dataset->spec, .record = at->index, .data = {value}, .rows = {1}};
    return LIANA_OK;
}

static liana_status count(const range *own, int64_t stop, int64_t *length, liana__error *error)
{
    int64_t distance, limit = (int64_t)1 << 62;
    *length = 0;
    if (own->step == 0) return liana__fail(error, LIANA_INVALID_ARGUMENT, "the step is 0");
    if (__builtin_sub_overflow(stop, own->start, &distance) || distance > limit || distance < -limit ||
        own->step > limit || own->step < -limit) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "from %lld to %lld in steps of %lld: at most 2^62 apart",
                           (long long)own->start, (long long)stop, (long long)own->step);
    }
    if ((distance > 0) != (own->step > 0) || distance == 0) return LIANA_OK;
    *length = distance / own->step + (distance % own->step != 0);
    return LIANA_OK;
}

liana_dataset *liana_dataset_range(liana_context *context, int64_t start, int64_t stop, int64_t step)
{
    static const liana_component value = {.name = "value", .dtype = LIANA_S64};
    liana_dataset *dataset = liana__dataset_create(context, &liana__stage_range, NULL, 0, sizeof(range));
    if (!dataset) return NULL;
    *(range *)dataset->own = (range){start, step};
    dataset->random_access = true;
    liana_status status = count(dataset->own, stop, &dataset->length, &context->error);
    if (status == LIANA_OK) status = liana__spec_make(&dataset->arena, &value, 1, &dataset->spec, &context->error);
    return liana__dataset_finish(dataset, status);
}

const liana_stage_type liana__stage_range = {
    LIANA_PART(STAGE, liana_stage_type, "range", "Whole numbers from start up to, but without, stop."),
    .read = read_number,
    .options_size = sizeof(range),
    .reader_size = sizeof(int64_t),
};
