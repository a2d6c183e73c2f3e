/* An element for each index of the first dimension. */
#include "data/dataset/dataset.h"

#include <string.h>

typedef struct unbatch {
    int64_t rows; /* of each element of the input, or LIANA_UNKNOWN_DIM */
} unbatch;

static liana_status read_row(liana__reader *reader, const liana__at *at, liana_element *element, liana__error *error)
{
    uint64_t rows = (uint64_t)((const unbatch *)reader->dataset->own)->rows;
    liana__at inner = {at->seed, at->epoch, at->index / rows};
    liana_element whole;
    LIANA_TRY(liana__reader_read(reader->inputs[0], &inner, &whole, error));
    liana__element_row(&reader->dataset->spec, &whole, (int64_t)(at->index % rows), element);
    return LIANA_OK;
}

typedef struct unbatch_cursor {
    liana_element whole;
    int64_t row;
    int64_t rows;
} unbatch_cursor;

static liana_status begin(liana__cursor *cursor, uint64_t start, liana__error *error)
{
    int64_t rows = ((const unbatch *)cursor->dataset->own)->rows;
    uint64_t first = rows > 0 ? start / (uint64_t)rows : 0;
    cursor->index = rows > 0 ? first * (uint64_t)rows : 0;
    return liana__cursor_open_input(cursor, 0, cursor->epoch, first, error);
}

static liana_status next(liana__cursor *cursor, liana_element *element, liana__error *error)
{
    unbatch_cursor *at = cursor->own;
    while (at->row >= at->rows) {
        LIANA_TRY(liana__cursor_next(cursor->inputs[0], &at->whole, error));
        at->row = 0;
        at->rows = liana__element_rows(&at->whole, 0);
        for (size_t i = 1; i < at->whole.spec->count; i++) {
            const int64_t rows = liana__element_rows(&at->whole, i);
            if (rows == at->rows) continue;
            liana__fail(error, LIANA_INVALID_DATA, "the component '%s' has %lld rows, expected %lld like those before",
                        at->whole.spec->components[i].name, (long long)rows, (long long)at->rows);
            return liana__fail_within(error, "%s", cursor->dataset->name);
        }
    }
    liana__element_row(&cursor->dataset->spec, &at->whole, at->row++, element);
    return LIANA_OK;
}

/* Takes the first dimension off, which must be the same for all. */
static liana_status make_spec(liana_dataset *dataset, int64_t *rows, liana__error *error)
{
    *rows = liana__component_rows(&dataset->spec.components[0]);
    for (size_t i = 0; i < dataset->spec.count; i++) {
        liana_component *component = &dataset->spec.components[i];
        liana_shape *shape = &component->shape;
        if (shape->rank == 0 || shape->dims[0] != *rows) {
            return liana__fail(error, LIANA_INVALID_ARGUMENT,
                               "the component '%s' is %s, expected a first dimension "
                               "that is the same for all components",
                               component->name, liana__component_describe(component).text);
        }
        shape->rank--;
        memmove(shape->dims, shape->dims + 1, (size_t)shape->rank * sizeof *shape->dims);
    }
    return LIANA_OK;
}

liana_dataset *liana_dataset_unbatch(liana_dataset *input)
{
    liana_dataset *dataset = liana__dataset_stage(&liana__stage_unbatch, input, sizeof(unbatch));
    if (!dataset) return NULL;
    liana__error *error = &dataset->context->error;
    unbatch *own = dataset->own;
    liana_status status = make_spec(dataset, &own->rows, error);
    if (own->rows == LIANA_UNKNOWN_DIM) {
        dataset->random_access = false;
        if (dataset->length > 0) dataset->length = LIANA_UNKNOWN;
    } else if (own->rows == 0) {
        dataset->length = 0;
    } else if (dataset->length > 0 && __builtin_mul_overflow(dataset->length, own->rows, &dataset->length)) {
        status = liana__fail(error, LIANA_INVALID_ARGUMENT, "there would be more than 2^63 elements");
    }
    return liana__dataset_finish(dataset, status);
}

const liana_stage_type liana__stage_unbatch = {
    LIANA_PART(STAGE, liana_stage_type, "unbatch", "Makes one element for each index of the first dimension."),
    .read = read_row,
    .begin = begin,
    .next = next,
    .cursor_size = sizeof(unbatch_cursor),
};
