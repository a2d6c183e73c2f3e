/* Datasets mixed by weight: each next element is one of a dataset that is drawn. */
#include "data/dataset/dataset.h"

#include <math.h>

typedef struct sample {
    uint64_t seed;
    bool stop_on_empty;
    double *weights;
} sample;

typedef struct sample_input {
    uint64_t taken;
    bool ended;
} sample_input;

typedef struct sample_cursor {
    sample_input inputs[LIANA_MAX_COMPONENTS];
} sample_cursor;

/* Draws the dataset for element cursor->index among those that have not ended. False: there is none. */
static bool draw(const liana__cursor *cursor, size_t *chosen)
{
    const sample *own = cursor->dataset->own;
    const sample_cursor *at = cursor->own;
    uint64_t word = liana__draw_for(own->seed, cursor->epoch, cursor->index, LIANA__SALT_SAMPLE);
    double total = 0;
    bool found = false;
    for (size_t i = 0; i < cursor->dataset->num_inputs; i++) {
        if (!at->inputs[i].ended) total += own->weights[i];
    }
    double left = (double)(word >> 11) * 0x1p-53 * total;
    for (size_t i = 0; i < cursor->dataset->num_inputs; i++) {
        if (at->inputs[i].ended || own->weights[i] <= 0) continue;
        *chosen = i;
        found = true;
        if (left < own->weights[i]) break;
        left -= own->weights[i];
    }
    return found;
}

/* Ends of datasets whose length is known are seen by counting, so their elements need not be read. */
static bool all_lengths_known(const liana_dataset *dataset)
{
    bool known = true;
    for (size_t i = 0; i < dataset->num_inputs; i++) known = known && dataset->inputs[i]->length != LIANA_UNKNOWN;
    return known;
}

static bool is_at_end(const liana_dataset *input, uint64_t taken)
{
    return input->length >= 0 && taken >= (uint64_t)input->length;
}

/* Goes on to the start by draws alone. An end is met again by `next`. */
static void jump(liana__cursor *cursor, uint64_t start)
{
    const liana_dataset *dataset = cursor->dataset;
    const sample *own = dataset->own;
    sample_cursor *at = cursor->own;
    size_t chosen;
    while (cursor->index < start && draw(cursor, &chosen)) {
        if (!is_at_end(dataset->inputs[chosen], at->inputs[chosen].taken)) {
            at->inputs[chosen].taken++;
            cursor->index++;
        } else if (own->stop_on_empty) {
            return;
        } else {
            at->inputs[chosen].ended = true;
        }
    }
}

static liana_status begin(liana__cursor *cursor, uint64_t start, liana__error *error)
{
    const sample_cursor *at = cursor->own;
    if (all_lengths_known(cursor->dataset)) jump(cursor, start);
    for (size_t i = 0; i < cursor->dataset->num_inputs; i++) {
        LIANA_TRY(liana__cursor_open_input(cursor, i, cursor->epoch, at->inputs[i].taken, error));
    }
    return LIANA_OK;
}

static liana_status next(liana__cursor *cursor, liana_element *element, liana__error *error)
{
    const sample *own = cursor->dataset->own;
    sample_cursor *at = cursor->own;
    size_t chosen;
    while (draw(cursor, &chosen)) {
        liana_status status = liana__cursor_next(cursor->inputs[chosen], element, error);
        if (status != LIANA_END_OF_DATA || own->stop_on_empty) return status;
        at->inputs[chosen].ended = true;
    }
    return LIANA_END_OF_DATA;
}

static liana_status check(liana_dataset *dataset, const double *weights, liana__error *error)
{
    sample *own = dataset->own;
    double total = 0;
    if (dataset->num_inputs > LIANA_MAX_COMPONENTS) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "%zu datasets are given, expected at most %d",
                           dataset->num_inputs, LIANA_MAX_COMPONENTS);
    }
    for (size_t i = 0; i < dataset->num_inputs; i++) {
        own->weights[i] = weights ? weights[i] : 1;
        if (!(own->weights[i] >= 0) || isinf(own->weights[i])) {
            return liana__fail(error, LIANA_INVALID_ARGUMENT, "the weight of dataset %zu is %g, expected at least 0", i,
                               own->weights[i]);
        }
        total += own->weights[i];
        if (i == 0 || liana__spec_match(&dataset->inputs[i]->spec, &dataset->spec, error) == LIANA_OK) continue;
        return liana__fail_within(error, "dataset %zu", i);
    }
    if (total > 0) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT, "all weights are 0");
}

/* Known where everything comes exactly once. */
static int64_t find_length(const liana_dataset *dataset)
{
    const sample *own = dataset->own;
    int64_t total = 0;
    bool unknown = false;
    for (size_t i = 0; i < dataset->num_inputs; i++) {
        int64_t length = dataset->inputs[i]->length;
        if (own->weights[i] <= 0) continue;
        if (length == LIANA_INFINITE && !own->stop_on_empty) return LIANA_INFINITE;
        unknown = unknown || length < 0 || __builtin_add_overflow(total, length, &total);
    }
    return unknown || own->stop_on_empty ? LIANA_UNKNOWN : total;
}

liana_dataset *liana_dataset_sample_from_datasets(liana_dataset *const *datasets, size_t num_datasets,
                                                  const liana_sample_options *options)
{
    static const liana_sample_options defaults;
    if (!options) options = &defaults;
    liana_dataset *dataset =
        liana__dataset_join(&liana__stage_sample_from_datasets, datasets, num_datasets, sizeof(sample));
    if (!dataset) return NULL;
    sample *own = dataset->own;
    *own = (sample){options->seed, options->stop_on_empty_dataset,
                    liana__arena_allocate(&dataset->arena, num_datasets * sizeof *own->weights)};
    liana_status status =
        own->weights ? check(dataset, options->weights, &dataset->context->error) : LIANA_OUT_OF_MEMORY;
    dataset->random_access = false;
    dataset->varies = true;
    if (status == LIANA_OK) dataset->length = find_length(dataset);
    return liana__dataset_finish(dataset, status);
}

static void describe(const liana_dataset *dataset, liana__fingerprint *settings, liana__fingerprint *sources)
{
    (void)sources;
    const double *weights = ((const sample *)dataset->own)->weights;
    liana__fingerprint_add(settings, weights, dataset->num_inputs * sizeof *weights);
}

const liana_stage_type liana__stage_sample_from_datasets = {
    LIANA_PART(STAGE, liana_stage_type, "sample_from_datasets", "Mixes datasets randomly, by weight."),
    .options_size = offsetof(sample, stop_on_empty) + sizeof(bool),
    .describe = describe,
    .begin = begin,
    .next = next,
    .cursor_size = sizeof(sample_cursor),
};
