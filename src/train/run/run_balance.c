/* How often the classes come: oversampling and weighted sampling. */
#include "base/format.h"
#include "base/scoped.h"
#include "data/source/cast.h"
#include "data/source/part.h"
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
    liana__strings names; /* of the classes; empty: they have none */
} balance;

/* ---- labels ---- */

/* The component that is the label of a table; num_components: missing. */
static size_t label_component(const liana__source *source)
{
    size_t i = 0;
    for (; i < source->num_components; i++) {
        const liana_component *component = &source->components[i];
        const bool fits = component->dtype != LIANA_STRING && liana_shape_size(&component->shape) == 1;
        if (fits && strcmp(component->name, "label") == 0) break;
    }
    return i;
}

static bool has_labels(const liana__run *run)
{
    const liana__source *source = run->training.source;
    return (source->has_labels && run->num_classes) || label_component(source) < source->num_components;
}

static liana_status read_component(const balance *own, size_t place, liana__error *error)
{
    const liana__source *source = own->run->training.source;
    const liana_dtype dtype = (liana_dtype)source->components[place].dtype;
    void *scratch = liana__source_scratch_create(source);
    liana_status status = scratch ? LIANA_OK : liana__fail_memory(error, "reading labels");
    for (uint64_t i = 0; status == LIANA_OK && i < own->num_records; i++) {
        liana_source_record record;
        own->labels[i] = -1;
        status = liana__source_read(source, i, scratch, &record, error);
        if (status == LIANA_OK) {
            const bool fits = liana__cast_values(dtype, record.values[place], LIANA_S32, &own->labels[i], 1) < 0;
            if (!fits || own->labels[i] < 0 || own->labels[i] >= LIANA__MAX_CLASSES) {
                char found[40];
                liana__cast_describe(dtype, record.values[place], 0, found, sizeof found);
                liana__fail(error, LIANA_OUT_OF_RANGE, "the label is %s, expected the number of a class, from 0 to %d",
                            found, LIANA__MAX_CLASSES - 1);
                status = liana__source_fail_within(source, i, &record, error);
                own->labels[i] = -1;
            }
        }
        if (source->skip_damage && liana__source_is_bad_record(status)) status = LIANA_OK;
    }
    if (scratch) liana__source_scratch_destroy(source, scratch);
    return status;
}

static liana_status read_labels(balance *own, liana__error *error)
{
    const liana__run *run = own->run;
    const liana__source *source = run->training.source;
    own->names = run->class_names;
    own->num_classes = run->num_classes;
    if (source->has_labels && run->num_classes) {
        return liana__source_labels(source, run->config->data.label_offset, own->num_classes, own->labels, error);
    }
    LIANA_TRY(read_component(own, label_component(source), error));
    const liana__column *column = liana__columns_get(&run->config->data.components, "label");
    if (column && column->category) own->names = column->vocabulary;
    own->num_classes = (int64_t)own->names.count;
    for (uint64_t i = 0; i < own->num_records; i++) {
        if (own->labels[i] >= own->num_classes) own->num_classes = (int64_t)own->labels[i] + 1;
    }
    return LIANA_OK;
}

static liana_status count_classes(balance *own, liana__error *error)
{
    liana__run *run = own->run;
    own->num_records = run->training.source->num_records;
    own->labels = liana__arena_allocate(&run->arena, (size_t)(own->num_records + 1) * sizeof *own->labels);
    if (!own->labels) return liana__fail_memory(error, "labels");
    LIANA_TRY(read_labels(own, error));
    own->counts = liana__arena_allocate(&run->arena, (size_t)(own->num_classes + 1) * sizeof *own->counts);
    if (!own->counts) return liana__fail_memory(error, "labels");
    liana__count_labels(own->labels, own->num_records, own->num_classes, own->counts);
    if (own->num_classes != run->num_classes) return LIANA_OK;
    run->warnings.seen = liana__arena_allocate(&run->arena, (size_t)own->num_classes + 1);
    if (!run->warnings.seen) return liana__fail_memory(error, "the classes");
    for (int64_t c = 0; c < own->num_classes; c++) run->warnings.seen[c] = own->counts[c] > 0;
    run->warnings.knows_classes = true;
    return LIANA_OK;
}

/* ---- messages ---- */

enum { MAX_TOLD = 20 };

static const char *class_name(const balance *own, int64_t number, char *buffer, size_t size)
{
    if ((size_t)number < own->names.count) return own->names.items[number];
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
                                      .seed = (uint64_t)run->config->job.seed};
    liana_status status =
        liana__sampler_create(own->labels, own->num_records, own->num_classes, &options, &run->training.sampler, error);
    if (status != LIANA_INVALID_CONFIG) return status;
    char message[sizeof error->message];
    snprintf(message, sizeof message, "%s", error ? error->message : "");
    liana__place place = liana__config_place(run->config, key);
    return liana__fail_at(error, &place, key, "%s", message);
}

static liana_status find_sampling(const balance *own, double *values, liana__error *error)
{
    const liana__data_config *data = &own->run->config->data;
    if (!data->sample_weights) return make_sampler(own, NULL, error);
    if (data->oversample.target_count) {
        return liana__fail_at(error, &data->sample_weights->place, "data.sample_weights",
                              "weighted sampling and oversampling exclude each other; keep one of them");
    }
    double *balanced = liana__arena_allocate(&own->run->arena, (size_t)(own->num_classes + 1) * sizeof *balanced);
    if (!balanced) return liana__fail_memory(error, "weights of classes");
    for (int64_t c = 0; c < own->num_classes; c++) balanced[c] = own->counts[c] ? 1 / (double)own->counts[c] : 0;
    const liana__class_values classes = {&own->names, own->num_classes, balanced};
    LIANA_TRY(liana__run_read_by_class(&classes, data->sample_weights, "data.sample_weights", values, error));
    return make_sampler(own, values, error);
}

/* How many examples of each class an epoch has, about. `values`: of weighted sampling. */
static void find_drawn(const balance *own, const double *values, double *drawn)
{
    const liana__data_config *data = &own->run->config->data;
    const double target = (double)data->oversample.target_count;
    for (int64_t c = 0; c < own->num_classes; c++) {
        const double count = (double)own->counts[c];
        drawn[c] = data->sample_weights ? count * values[c] : count > 0 ? fmax(count, target) : 0;
    }
}

/* Whose classes are sampled must be known, and by number. */
static liana_status check_sampled(const liana__run *run, liana__error *error)
{
    const char *key = run->config->data.sample_weights ? "data.sample_weights" : "data.oversample";
    liana__place place = liana__config_place(run->config, key);
    if (!has_labels(run)) {
        return liana__fail_at(error, &place, key, "the data have no label to sample by; remove this key");
    }
    if (!run->training.source->streams) return LIANA_OK;
    return liana__fail_at(error, &place, key,
                          "filtered or mixed examples cannot be sampled by weight; weight the classes with "
                          "train.class_weights instead");
}

liana_status liana__run_find_balance(liana__run *run, const liana__run_options *options, liana__error *error)
{
    const liana__config *config = run->config;
    const bool samples = config->data.oversample.target_count || config->data.sample_weights;
    const bool weighs = config->job.class_weights && has_labels(run);
    if (samples) LIANA_TRY(check_sampled(run, error));
    if (!samples && !weighs) return LIANA_OK;
    balance own = {.run = run};
    LIANA_TRY(count_classes(&own, error));
    size_t size = (size_t)(own.num_classes + 1) * sizeof(double);
    double *drawn = liana__arena_allocate(&run->arena, size), *values = liana__arena_allocate(&run->arena, size);
    if (!drawn || !values) return liana__fail_memory(error, "weights of classes");
    if (samples) {
        LIANA_TRY(find_sampling(&own, values, error));
        LIANA_TRY(tell(&own, options, error));
    }
    find_drawn(&own, values, drawn);
    run->drawn = drawn;
    run->num_drawn = own.num_classes;
    return LIANA_OK;
}

/* ---- imbalance ----
 *
 * Leaves out training examples, so that classes differ in size. Sizes fall geometrically from class to class, as in the
 * long-tailed sets of Cui, Jia, Lin, Song and Belongie, "Class-balanced loss based on effective number of samples"
 * (2019). Of each class the first records are kept, with any seed: runs with different seeds have the same data. */

typedef struct thinning {
    liana__run *run;
    int32_t *labels;  /* [num_records] */
    int64_t *counts;  /* [num_classes] of the data */
    int64_t *wanted;  /* [num_classes] */
    int64_t num_used; /* classes that have examples */
    liana__error *error;
} thinning;

static liana_status LIANA__PRINTF(3, 4) refuse(const thinning *own, const char *key, const char *format, ...)
{
    char message[400];
    va_list arguments;
    va_start(arguments, format);
    liana__format_list(message, sizeof message, format, arguments);
    va_end(arguments);
    liana__place place = liana__config_place(own->run->config, key);
    return liana__fail_at(own->error, &place, key, "%s", message);
}

static liana_status count_thinned(thinning *own)
{
    liana__run *run = own->run;
    const liana__source *source = run->training.source;
    size_t records = (size_t)source->num_records, classes = (size_t)run->num_classes;
    if (source->streams) {
        return refuse(own, "data.imbalance.ratio", "filtered or mixed examples cannot be left out by class");
    }
    if (!run->num_classes) return refuse(own, "data.imbalance.ratio", "the data have no classes; remove this key");
    own->labels = malloc((records + 1) * sizeof *own->labels);
    own->counts = calloc(2 * classes + 1, sizeof *own->counts);
    if (!own->labels || !own->counts) return liana__fail_memory(own->error, "labels");
    own->wanted = own->counts + classes;
    LIANA_TRY(liana__source_labels(source, run->config->data.label_offset, run->num_classes, own->labels, own->error));
    liana__count_labels(own->labels, records, run->num_classes, own->counts);
    for (size_t c = 0; c < classes; c++) own->num_used += own->counts[c] > 0;
    return LIANA_OK;
}

/* The share of the first class that class number `index` of those with examples has. */
static double share_of(const thinning *own, int64_t index)
{
    double ratio = own->run->config->data.imbalance.ratio;
    return own->num_used > 1 ? pow(ratio, -(double)index / (double)(own->num_used - 1)) : 1;
}

static liana_status find_sizes(const thinning *own)
{
    const liana__imbalance_config *config = &own->run->config->data.imbalance;
    double largest = INFINITY;
    int64_t index = 0;
    for (int64_t c = 0; c < own->run->num_classes; c++) {
        if (own->counts[c]) largest = fmin(largest, (double)own->counts[c] / share_of(own, index++));
    }
    largest = floor(largest * (1 + 1e-12));
    if (config->largest > 0 && (double)config->largest > largest) {
        return refuse(own, "data.imbalance.largest",
                      "found the number %lld, but with the ratio %g the first class can have at most %.0f examples",
                      (long long)config->largest, config->ratio, largest);
    }
    if (config->largest > 0) largest = (double)config->largest;
    index = 0;
    for (int64_t c = 0; c < own->run->num_classes; c++) {
        if (own->counts[c]) own->wanted[c] = (int64_t)fmax(1, round(largest * share_of(own, index++)));
    }
    return LIANA_OK;
}

/* Records whose label cannot be read stay: they are dealt with where they are read. */
static liana_status keep_records(const thinning *own)
{
    liana__run *run = own->run;
    size_t records = (size_t)run->training.source->num_records;
    uint64_t *kept = malloc((records + 1) * sizeof *kept);
    if (!kept) return liana__fail_memory(own->error, "records");
    size_t count = 0;
    for (size_t i = 0; i < records; i++) {
        int32_t label = own->labels[i];
        if (label >= 0 && own->wanted[label]-- <= 0) continue;
        kept[count++] = i;
    }
    const liana__part_options part = {.inner = run->training.source, .records = kept, .count = count, .owns = true};
    liana__source *thinned;
    LIANA_TRY(liana__source_part(&part, &thinned, own->error));
    run->training.source = thinned;
    return LIANA_OK;
}

static void tell_thinned(const thinning *own, const liana__run_options *options)
{
    enum { MOST_TOLD = 12 };
    LIANA__SCOPED(liana__text) text = {0};
    for (int64_t c = 0; c < own->run->num_classes && c < MOST_TOLD; c++) {
        liana__text_add(&text, "%s%lld", c ? ", " : "", (long long)own->wanted[c]);
    }
    if (own->run->num_classes > MOST_TOLD) liana__text_add(&text, ", ...");
    if (text.data) liana__run_note(options, "imbalance: the classes have %s training examples", text.data);
}

static liana_status thin(thinning *own, const liana__run_options *options)
{
    LIANA_TRY(count_thinned(own));
    LIANA_TRY(find_sizes(own));
    tell_thinned(own, options);
    return keep_records(own);
}

liana_status liana__run_thin_classes(liana__run *run, const liana__run_options *options, liana__error *error)
{
    thinning own = {.run = run, .error = error};
    const liana__imbalance_config *config = &run->config->data.imbalance;
    if (config->ratio <= 1) {
        return config->largest ? refuse(&own, "data.imbalance.largest",
                                        "it needs a data.imbalance.ratio above 1; remove it, or give one")
                               : LIANA_OK;
    }
    liana_status status = thin(&own, options);
    free(own.labels);
    free(own.counts);
    return status;
}
