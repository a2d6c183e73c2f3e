/* Another dataset says from which of several the next element comes. */
#include "data/dataset/dataset.h"

typedef struct choose {
    bool skips_empty;
} choose;

/* The last input has the choices. */
static size_t num_chosen(const liana_dataset *dataset)
{
    return dataset->num_inputs - 1;
}

typedef struct choose_cursor {
    uint64_t taken[LIANA_MAX_COMPONENTS];
} choose_cursor;

/* The next choice. */
static liana_status read_choice(liana__cursor *cursor, size_t *chosen, liana__error *error)
{
    const liana_dataset *dataset = cursor->dataset;
    liana__cursor *choices = cursor->inputs[num_chosen(dataset)];
    const unsigned long long index = choices->index;
    liana_element choice;
    LIANA_TRY(liana__cursor_next(choices, &choice, error));
    const int64_t number = *(const int64_t *)choice.data[0];
    if (number < 0 || (uint64_t)number >= num_chosen(dataset)) {
        return liana__fail(error, LIANA_OUT_OF_RANGE, "%s: choice %llu is dataset %lld, expected 0 to %zu",
                           dataset->name, index, (long long)number, num_chosen(dataset) - 1);
    }
    *chosen = (size_t)number;
    return LIANA_OK;
}

static bool has_ended(const liana_dataset *input, uint64_t taken)
{
    return input->length >= 0 && taken >= (uint64_t)input->length;
}

static bool all_lengths_known(const liana_dataset *dataset)
{
    bool known = true;
    for (size_t i = 0; i < num_chosen(dataset); i++) known = known && dataset->inputs[i]->length != LIANA_UNKNOWN;
    return known;
}

/* Goes on to the start by choices alone. An end that is met stays before the next choice, where `next` meets it. */
static liana_status jump(liana__cursor *cursor, uint64_t start, liana__error *error)
{
    const choose *own = cursor->dataset->own;
    choose_cursor *at = cursor->own;
    while (cursor->index < start) {
        size_t chosen;
        LIANA_TRY(read_choice(cursor, &chosen, error));
        if (!has_ended(cursor->dataset->inputs[chosen], at->taken[chosen])) {
            at->taken[chosen]++;
            cursor->index++;
        } else if (!own->skips_empty) {
            cursor->ended = true;
            return LIANA_OK;
        }
    }
    return LIANA_OK;
}

static liana_status begin(liana__cursor *cursor, uint64_t start, liana__error *error)
{
    const liana_dataset *dataset = cursor->dataset;
    const choose_cursor *at = cursor->own;
    LIANA_TRY(liana__cursor_open_input(cursor, num_chosen(dataset), cursor->epoch, 0, error));
    if (all_lengths_known(dataset)) {
        const liana_status status = jump(cursor, start, error);
        if (status == LIANA_END_OF_DATA) cursor->ended = true;
        if (status != LIANA_OK && status != LIANA_END_OF_DATA) return status;
    }
    for (size_t i = 0; i < num_chosen(dataset); i++) {
        LIANA_TRY(liana__cursor_open_input(cursor, i, cursor->epoch, at->taken[i], error));
    }
    return LIANA_OK;
}

static liana_status next(liana__cursor *cursor, liana_element *element, liana__error *error)
{
    const choose *own = cursor->dataset->own;
    for (;;) {
        size_t chosen;
        LIANA_TRY(read_choice(cursor, &chosen, error));
        const liana_status status = liana__cursor_next(cursor->inputs[chosen], element, error);
        if (status != LIANA_END_OF_DATA || !own->skips_empty) return status;
    }
}

static liana_status check(liana_dataset *dataset, liana__error *error)
{
    const size_t count = num_chosen(dataset);
    if (count < 1 || count > LIANA_MAX_COMPONENTS) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "%zu datasets are given, expected 1 to %d", count,
                           LIANA_MAX_COMPONENTS);
    }
    const liana__spec *choices = &dataset->inputs[count]->spec;
    if (choices->count != 1 || choices->components[0].dtype != LIANA_S64 || choices->components[0].shape.rank) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "the choices have %zu components, the first of them '%s' %s, expected one that is s64 []",
                           choices->count, choices->components[0].name,
                           liana__component_describe(&choices->components[0]).text);
    }
    for (size_t i = 1; i < count; i++) {
        if (liana__spec_match(&dataset->inputs[i]->spec, &dataset->spec, error) == LIANA_OK) continue;
        return liana__fail_within(error, "dataset %zu", i);
    }
    return LIANA_OK;
}

liana_dataset *liana_dataset_choose_from_datasets(liana_dataset *const *datasets, size_t num_datasets,
                                                  liana_dataset *choices, const liana_choose_options *options)
{
    if (!LIANA__STAGE_REQUIRE(choices, datasets)) return NULL;
    liana_dataset *inputs[LIANA_MAX_COMPONENTS + 2] = {NULL};
    size_t count = 0;
    for (; count < num_datasets; count++) {
        if (count <= LIANA_MAX_COMPONENTS) inputs[count] = datasets[count];
        if (count > LIANA_MAX_COMPONENTS) liana_dataset_close(datasets[count]); /* the stage refuses so many */
    }
    if (count > LIANA_MAX_COMPONENTS + 1) count = LIANA_MAX_COMPONENTS + 1;
    inputs[count] = choices;
    liana_dataset *dataset = liana__dataset_join(&liana__stage_choose_from_datasets, inputs, count + 1, sizeof(choose));
    if (!dataset) return NULL;
    *(choose *)dataset->own = (choose){options && options->skip_empty_datasets};
    const liana_status status = check(dataset, &dataset->context->error);
    dataset->random_access = false;
    dataset->length = choices->length == 0 ? 0 : LIANA_UNKNOWN;
    return liana__dataset_finish(dataset, status);
}

const liana_stage_type liana__stage_choose_from_datasets = {
    LIANA_PART(STAGE, liana_stage_type, "choose_from_datasets",
               "Takes each next element from the dataset that another one says."),
    .options_size = sizeof(choose),
    .begin = begin,
    .next = next,
    .cursor_size = sizeof(choose_cursor),
};
