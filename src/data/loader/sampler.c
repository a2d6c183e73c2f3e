/* Oversampling and weighted sampling: which records an epoch has. */
#include "data/loader/sampler.h"

#include "base/memory.h"
#include "base/random.h"

#include <stdlib.h>
#include <string.h>

/* Uses of the stream of records. */
enum { SALT_REPEATS, SALT_WEIGHTED };

struct liana__sampler {
    uint64_t seed;
    uint64_t num_records;
    int64_t num_classes;
    int32_t *labels;
    /* Oversampling, by class: how often each member comes in any case, and the chance of once more. */
    bool repeats;
    int64_t *whole;
    double *chance;
    uint64_t certain; /* examples without chance */
    uint64_t longest;
    /* Weighted sampling: the weights of records 0..i, added up. */
    double *cumulative;
};

void liana__count_labels(const int32_t *labels, uint64_t num_labels, int64_t num_classes, int64_t *counts)
{
    for (int64_t c = 0; c < num_classes; c++) counts[c] = 0;
    for (uint64_t i = 0; i < num_labels; i++) {
        if (labels[i] >= 0) counts[labels[i]]++;
    }
}

static liana_status plan_repeats(liana__sampler *sampler, int64_t target, liana__error *error)
{
    size_t classes = (size_t)sampler->num_classes;
    int64_t *counts = calloc(classes + 1, sizeof *counts);
    sampler->whole = calloc(classes + 1, sizeof *sampler->whole);
    sampler->chance = calloc(classes + 1, sizeof *sampler->chance);
    if (!counts || !sampler->whole || !sampler->chance) {
        free(counts);
        return liana__fail_memory(error, "oversampling");
    }
    liana__count_labels(sampler->labels, sampler->num_records, sampler->num_classes, counts);
    for (uint64_t i = 0; i < sampler->num_records; i++) sampler->certain += sampler->labels[i] < 0;
    double longest = (double)sampler->certain;
    for (size_t c = 0; c < classes; c++) {
        bool is_short = counts[c] > 0 && counts[c] < target;
        sampler->whole[c] = is_short ? target / counts[c] : 1;
        sampler->chance[c] = is_short ? (double)(target % counts[c]) / (double)counts[c] : 0;
        sampler->certain += (uint64_t)(sampler->whole[c] * counts[c]);
        longest += (double)counts[c] * (double)(sampler->whole[c] + (sampler->chance[c] > 0));
    }
    free(counts);
    if (longest > INT32_MAX) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "an epoch would have up to %.0f examples, at most %d are possible; lower the target",
                           longest, INT32_MAX);
    }
    sampler->longest = (uint64_t)longest;
    sampler->repeats = true;
    return LIANA_OK;
}

static liana_status plan_weights(liana__sampler *sampler, const double *weights, liana__error *error)
{
    sampler->cumulative = malloc((size_t)(sampler->num_records + 1) * sizeof *sampler->cumulative);
    if (!sampler->cumulative) return liana__fail_memory(error, "weighted sampling");
    double sum = 0;
    for (uint64_t i = 0; i < sampler->num_records; i++) {
        if (sampler->labels[i] >= 0) sum += weights[sampler->labels[i]];
        sampler->cumulative[i] = sum;
    }
    sampler->longest = sampler->num_records;
    if (sum > 0) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_CONFIG, "no class with examples has a weight above 0");
}

liana_status liana__sampler_create(const int32_t *labels, uint64_t num_records, int64_t num_classes,
                                   const liana__sampler_options *options, liana__sampler **out, liana__error *error)
{
    *out = NULL;
    if (num_records == 0 || num_records > INT32_MAX) {
        return liana__fail(error, LIANA_INVALID_CONFIG, "%llu records cannot be sampled, expected 1 to %d",
                           (unsigned long long)num_records, INT32_MAX);
    }
    liana__sampler *sampler = calloc(1, sizeof *sampler);
    if (!sampler) return liana__fail_memory(error, "sampling");
    sampler->seed = options->seed;
    sampler->num_records = num_records;
    sampler->num_classes = num_classes;
    sampler->labels = malloc((size_t)num_records * sizeof *labels);
    liana_status status = sampler->labels ? LIANA_OK : liana__fail_memory(error, "labels");
    if (status == LIANA_OK) {
        memcpy(sampler->labels, labels, (size_t)num_records * sizeof *labels);
        status = options->weights ? plan_weights(sampler, options->weights, error)
                                  : plan_repeats(sampler, options->target_count, error);
    }
    if (status == LIANA_OK) *out = sampler;
    if (status != LIANA_OK) liana__sampler_destroy(sampler);
    return status;
}

void liana__sampler_destroy(liana__sampler *sampler)
{
    if (!sampler) return;
    free(sampler->labels);
    free(sampler->whole);
    free(sampler->chance);
    free(sampler->cumulative);
    free(sampler);
}

/* [0, 1) for an index of an epoch. */
static double draw(liana__philox_key key, uint64_t index, uint64_t epoch)
{
    uint32_t counter[4] = {(uint32_t)index, (uint32_t)(index >> 32), (uint32_t)epoch, (uint32_t)(epoch >> 32)};
    uint32_t words[4];
    liana__philox(key, counter, words);
    return liana__uniform_double(words[0], words[1]);
}

/* Whether a record comes once more than in any case. */
static bool comes_again(const liana__sampler *sampler, liana__philox_key key, uint64_t record, uint64_t epoch)
{
    double chance = sampler->labels[record] < 0 ? 0 : sampler->chance[sampler->labels[record]];
    return chance > 0 && draw(key, record, epoch) < chance;
}

uint64_t liana__sampler_length(const liana__sampler *sampler, uint64_t epoch)
{
    if (!sampler->repeats) return sampler->num_records;
    liana__philox_key key = liana__philox_make_key(sampler->seed, LIANA__STREAM_RECORD, SALT_REPEATS);
    uint64_t length = sampler->certain;
    for (uint64_t i = 0; i < sampler->num_records; i++) length += comes_again(sampler, key, i, epoch);
    return length;
}

uint64_t liana__sampler_max_length(const liana__sampler *sampler)
{
    return sampler->longest;
}

bool liana__sampler_varies(const liana__sampler *sampler)
{
    return sampler->longest != sampler->certain && sampler->repeats;
}

/* The first record whose cumulative weight is above `value`. */
static uint64_t find_weight(const liana__sampler *sampler, double value)
{
    uint64_t low = 0, high = sampler->num_records - 1;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (sampler->cumulative[middle] > value) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

void liana__sampler_fill(const liana__sampler *sampler, uint64_t epoch, uint32_t *records)
{
    uint32_t salt = sampler->repeats ? SALT_REPEATS : SALT_WEIGHTED;
    liana__philox_key key = liana__philox_make_key(sampler->seed, LIANA__STREAM_RECORD, salt);
    if (!sampler->repeats) {
        double sum = sampler->cumulative[sampler->num_records - 1];
        for (uint64_t i = 0; i < sampler->num_records; i++) {
            records[i] = (uint32_t)find_weight(sampler, draw(key, i, epoch) * sum);
        }
        return;
    }
    for (uint64_t i = 0; i < sampler->num_records; i++) {
        int64_t whole = sampler->labels[i] < 0 ? 1 : sampler->whole[sampler->labels[i]];
        int64_t times = whole + comes_again(sampler, key, i, epoch);
        for (int64_t k = 0; k < times; k++) *records++ = (uint32_t)i;
    }
}

void liana__sampler_count(const liana__sampler *sampler, uint64_t epoch, int64_t *counts)
{
    for (int64_t c = 0; c < sampler->num_classes; c++) counts[c] = 0;
    if (sampler->repeats) {
        liana__philox_key key = liana__philox_make_key(sampler->seed, LIANA__STREAM_RECORD, SALT_REPEATS);
        for (uint64_t i = 0; i < sampler->num_records; i++) {
            int32_t label = sampler->labels[i];
            if (label >= 0) counts[label] += sampler->whole[label] + comes_again(sampler, key, i, epoch);
        }
        return;
    }
    liana__philox_key key = liana__philox_make_key(sampler->seed, LIANA__STREAM_RECORD, SALT_WEIGHTED);
    double sum = sampler->cumulative[sampler->num_records - 1];
    for (uint64_t i = 0; i < sampler->num_records; i++) {
        counts[sampler->labels[find_weight(sampler, draw(key, i, epoch) * sum)]]++;
    }
}
