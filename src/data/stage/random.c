/* Pseudo-random whole numbers without end. */
#include "data/dataset/dataset.h"

typedef struct random {
    uint64_t seed;
    bool anew; /* in each epoch */
} random;

static liana_status read_number(liana__reader *reader, const liana__at *at, liana_element *element, liana__error *error)
{
    (void)error;
    const random *own = reader->dataset->own;
    int64_t *value = reader->own;
    const uint64_t word = liana__draw_for(own->seed, own->anew ? at->epoch : 0, at->index, LIANA__SALT_RANDOM);
    *value = (int64_t)(word >> 32);
    *element = (liana_element){.spec = &reader->dataset->spec, .record = at->index, .data = {value}};
    return LIANA_OK;
}

liana_dataset *liana_dataset_random(liana_context *context, const liana_random_options *options)
{
    static const liana_random_options defaults;
    static const liana_component value = {.name = "value", .dtype = LIANA_S64};
    if (!options) options = &defaults;
    liana_dataset *dataset = liana__dataset_create(context, &liana__stage_random, NULL, 0, sizeof(random));
    if (!dataset) return NULL;
    *(random *)dataset->own = (random){options->seed, options->rerandomize_each_iteration};
    dataset->random_access = true;
    dataset->length = LIANA_INFINITE;
    dataset->varies = options->rerandomize_each_iteration;
    return liana__dataset_finish(dataset,
                                 liana__spec_make(&dataset->arena, &value, 1, &dataset->spec, &context->error));
}

const liana_stage_type liana__stage_random = {
    LIANA_PART(STAGE, liana_stage_type, "random", "Pseudo-random whole numbers, without end."),
    .read = read_number,
    .options_size = offsetof(random, anew) + sizeof(bool),
    .reader_size = sizeof(int64_t),
};
