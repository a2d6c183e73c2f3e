/* Leaves out training examples, so that classes differ in size. Sizes fall geometrically from class to class, as in the
 * long-tailed sets of Cui, Jia, Lin, Song and Belongie, "Class-balanced loss based on effective number of samples"
 * (2019). Of each class the first records are kept, whatever the seed: runs with different seeds have the same data. */
#include "train/run/run_internal.h"

#include "base/format.h"
#include "data/source/part.h"

#include <math.h>
#include <stdlib.h>

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

static liana_status count_classes(thinning *own)
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

static void tell(const thinning *own, const liana__run_options *options)
{
    enum { MOST_TOLD = 12 };
    liana__text text = {0};
    for (int64_t c = 0; c < own->run->num_classes && c < MOST_TOLD; c++) {
        liana__text_add(&text, "%s%lld", c ? ", " : "", (long long)own->wanted[c]);
    }
    if (own->run->num_classes > MOST_TOLD) liana__text_add(&text, ", ...");
    if (text.data) liana__run_note(options, "imbalance: the classes have %s training examples", text.data);
    liana__text_free(&text);
}

static liana_status thin(thinning *own, const liana__run_options *options)
{
    LIANA_TRY(count_classes(own));
    LIANA_TRY(find_sizes(own));
    tell(own, options);
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
