/* How often the classes come, and how much they weigh: oversampling, weighted sampling, class weights. */
#include "train/run/run_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The training examples of each class. */
typedef struct balance {
    liana__run *run;
    int32_t *labels;
    int64_t *counts;
    uint64_t num_records;
    int64_t num_classes;
} balance;

static liana_status count_classes(balance *own, liana__error *error)
{
    liana__run *run = own->run;
    const liana__source *source = run->training.source;
    own->num_records = source->num_records;
    own->num_classes = run->num_classes;
    own->labels = liana__arena_allocate(&run->arena, (size_t)(own->num_records + 1) * sizeof *own->labels);
    own->counts = liana__arena_allocate(&run->arena, (size_t)(own->num_classes + 1) * sizeof *own->counts);
    if (!own->labels || !own->counts) return liana__fail_memory(error, "labels");
    LIANA_TRY(liana__source_labels(source, run->config->data.label_offset, own->num_classes, own->labels, error));
    liana__count_labels(own->labels, own->num_records, own->num_classes, own->counts);
    run->warnings.seen = liana__arena_allocate(&run->arena, (size_t)own->num_classes + 1);
    if (!run->warnings.seen) return liana__fail_memory(error, "the classes");
    for (int64_t c = 0; c < own->num_classes; c++) run->warnings.seen[c] = own->counts[c] > 0;
    run->warnings.knows_classes = true;
    return LIANA_OK;
}

/* ---- values by class ---- */

/* The class of that name or number; -1 if there is none. */
static int64_t find_class(const balance *own, const char *key)
{
    const liana__strings *names = &own->run->class_names;
    for (size_t i = 0; i < names->count && (int64_t)i < own->num_classes; i++) {
        if (strcmp(names->items[i], key) == 0) return (int64_t)i;
    }
    char *end;
    long number = strtol(key, &end, 10);
    return *key && !*end && number >= 0 && number < own->num_classes ? number : -1;
}

static liana_status fail_class(const balance *own, const liana__place *place, const char *where, const char *key,
                               liana__error *error)
{
    const liana__strings *names = &own->run->class_names;
    const char *nearest = names->count ? liana__nearest(key, names->items, names->count) : NULL;
    if (nearest) {
        return liana__fail_at(error, place, where, "there is no class '%.60s'%s", key, liana__hint(nearest).text);
    }
    return liana__fail_at(error, place, where, "there is no class '%.60s', expected a name or a number from 0 to %lld",
                          key, (long long)own->num_classes - 1);
}

static liana_status read_map(const balance *own, const liana__value *map, const char *where, double *values,
                             liana__error *error)
{
    char found[128];
    for (size_t i = 0; i < map->count; i++) {
        int64_t number = find_class(own, map->keys[i]);
        if (number < 0) return fail_class(own, &map->key_places[i], where, map->keys[i], error);
        const liana__value *value = map->items[i];
        bool is_number = value->kind == LIANA__VALUE_INT || value->kind == LIANA__VALUE_FLOAT;
        if (!is_number || !(value->number >= 0 && value->number <= 1e6)) {
            return liana__fail_at(error, &value->place, where, "%.60s: found %s, expected a number from 0 to 1000000",
                                  map->keys[i], liana__value_describe(value, found, sizeof found));
        }
        values[number] = value->number;
    }
    return LIANA_OK;
}

/* "balanced", whose values are given, or a map, in which classes not named have 1. */
static liana_status read_values(const balance *own, const liana__value *value, const char *where,
                                const double *balanced, double *values, liana__error *error)
{
    char found[128];
    for (int64_t c = 0; c < own->num_classes; c++) values[c] = 1;
    if (value->kind == LIANA__VALUE_MAP) return read_map(own, value, where, values, error);
    if (value->kind == LIANA__VALUE_STRING && strcmp(value->string, "balanced") == 0) {
        memcpy(values, balanced, (size_t)own->num_classes * sizeof *values);
        return LIANA_OK;
    }
    return liana__fail_at(error, &value->place, where, "found %s, expected 'balanced' or {class: weight, ...}",
                          liana__value_describe(value, found, sizeof found));
}

/* ---- what is told ---- */

enum { MAX_TOLD = 20 };

static const char *class_name(const balance *own, int64_t number, char *buffer, size_t size)
{
    const liana__strings *names = &own->run->class_names;
    if ((size_t)number < names->count) return names->items[number];
    snprintf(buffer, size, "class %lld", (long long)number);
    return buffer;
}

/* Reports the counts of the first epoch next to those of the data. */
static liana_status tell(const balance *own, const liana__run_options *options, liana__error *error)
{
    const liana__sampler *sampler = own->run->training.sampler;
    int64_t target = own->run->config->data.oversample.target_count;
    int64_t *realised = liana__arena_allocate(&own->run->arena, (size_t)(own->num_classes + 1) * sizeof *realised);
    if (!realised) return liana__fail_memory(error, "counts of classes");
    liana__sampler_count(sampler, 0, realised);
    liana__run_note(options, "%s: epoch 1 has %llu examples of %llu records%s",
                    target ? "oversampling" : "weighted sampling",
                    (unsigned long long)liana__sampler_length(sampler, 0), (unsigned long long)own->num_records,
                    liana__sampler_varies(sampler) ? "; other epochs a few more or fewer" : "");
    for (int64_t c = 0; c < own->num_classes && c < MAX_TOLD; c++) {
        char buffer[40], goal[60] = "";
        long long wanted = own->counts[c] < target ? target : own->counts[c];
        if (target) snprintf(goal, sizeof goal, ", target %lld", own->counts[c] ? wanted : 0);
        liana__run_note(options, "  %.60s: %lld records%s, %lld in epoch 1", class_name(own, c, buffer, sizeof buffer),
                        (long long)own->counts[c], goal, (long long)realised[c]);
    }
    if (own->num_classes > MAX_TOLD) {
        liana__run_note(options, "  and %lld more classes", (long long)own->num_classes - MAX_TOLD);
    }
    return LIANA_OK;
}

/* ---- all of it ---- */

static liana_status make_sampler(const balance *own, const double *weights, liana__error *error)
{
    liana__run *run = own->run;
    const char *key = weights ? "data.sample_weights" : "data.oversample.target_count";
    liana__sampler_options options = {.target_count = run->config->data.oversample.target_count,
                                      .weights = weights,
                                      .seed = (uint64_t)run->config->train.seed};
    liana_status status =
        liana__sampler_create(own->labels, own->num_records, own->num_classes, &options, &run->training.sampler, error);
    if (status != LIANA_INVALID_CONFIG) return status;
    char message[sizeof error->message];
    snprintf(message, sizeof message, "%s", error ? error->message : "");
    liana__place place = liana__config_place(run->config, key);
    return liana__fail_at(error, &place, key, "%s", message);
}

/* Balanced: all classes add up to the same, an average record to 1; scikit-learn's formula. Oversampled records count
 * as often as they come. */
static liana_status find_weights(const balance *own, double *balanced, double *values, liana__error *error)
{
    const liana__config *config = own->run->config;
    int64_t target = config->data.oversample.target_count;
    double total = 0, present = 0;
    for (int64_t c = 0; c < own->num_classes; c++) {
        if (own->counts[c] == 0) continue;
        total += fmax((double)own->counts[c], (double)target);
        present++;
    }
    for (int64_t c = 0; c < own->num_classes; c++) {
        double count = fmax((double)own->counts[c], (double)target);
        balanced[c] = own->counts[c] ? total / (present * count) : 1;
    }
    return read_values(own, config->train.class_weights, "train.class_weights", balanced, values, error);
}

static liana_status find_sampling(const balance *own, double *balanced, double *values, liana__error *error)
{
    const liana__data_config *data = &own->run->config->data;
    if (!data->sample_weights) return make_sampler(own, NULL, error);
    if (data->oversample.target_count) {
        return liana__fail_at(error, &data->sample_weights->place, "data.sample_weights",
                              "weighted sampling and oversampling exclude each other; keep one of them");
    }
    for (int64_t c = 0; c < own->num_classes; c++) balanced[c] = own->counts[c] ? 1 / (double)own->counts[c] : 0;
    LIANA_TRY(read_values(own, data->sample_weights, "data.sample_weights", balanced, values, error));
    return make_sampler(own, values, error);
}

liana_status liana__run_find_balance(liana__run *run, const liana__run_options *options, liana__error *error)
{
    const liana__config *config = run->config;
    bool samples = config->data.oversample.target_count || config->data.sample_weights;
    if (!samples && !config->train.class_weights) return LIANA_OK;
    if (samples && run->training.source->streams) {
        const char *key = config->data.sample_weights ? "data.sample_weights" : "data.oversample";
        liana__place place = liana__config_place(config, key);
        return liana__fail_at(error, &place, key,
                              "filtered or mixed examples cannot be sampled by weight; weight the classes with "
                              "train.class_weights instead");
    }
    balance own = {.run = run};
    LIANA_TRY(count_classes(&own, error));
    size_t size = (size_t)(own.num_classes + 1) * sizeof(double);
    double *balanced = liana__arena_allocate(&run->arena, size), *values = liana__arena_allocate(&run->arena, size);
    if (!balanced || !values) return liana__fail_memory(error, "weights of classes");
    if (samples) {
        LIANA_TRY(find_sampling(&own, balanced, values, error));
        LIANA_TRY(tell(&own, options, error));
    }
    if (!config->train.class_weights) return LIANA_OK;
    LIANA_TRY(find_weights(&own, balanced, values, error));
    run->class_weights = values;
    return LIANA_OK;
}
