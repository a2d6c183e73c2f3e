/* sampler.h - a sampler chooses the records of an epoch, where it is not each record once.
 *
 * Oversampling: an example of a class with n < N members comes N / n times: the whole part always, once more with the
 * probability of the fraction, drawn from its record address (seed, record, epoch). So all members of a class come
 * about equally often. The draws decide the length of an epoch.
 *
 * Weighted sampling: as many examples as there are records. Each is drawn separately, with the probability that its
 * class's weight gives. */
#ifndef LIANA_DATA_SAMPLER_H
#define LIANA_DATA_SAMPLER_H

#include "data/source/source.h"

typedef struct liana__sampler liana__sampler;

/* One of the two. */
typedef struct liana__sampler_options {
    int64_t target_count;  /* N; 0: no oversampling */
    const double *weights; /* [num_classes] weight of each record of a class, at least 0; NULL: no weighted sampling */
    uint64_t seed;
} liana__sampler_options;

/* The number of labels of each class, without -1. */
void liana__count_labels(const int32_t *labels, uint64_t num_labels, int64_t num_classes, int64_t *counts);

/* Creates a sampler. Labels are copied. A record with label -1 comes once in an epoch with oversampling, and leaves a
 * gap; with weights it never comes. Errors: OUT_OF_MEMORY; INVALID_CONFIG (an epoch would be longer than 2^31 examples;
 * no weight is above 0). */
liana_status liana__sampler_create(const int32_t *labels, uint64_t num_records, int64_t num_classes,
                                   const liana__sampler_options *options, liana__sampler **sampler, liana__error *error)
    LIANA_MUST_USE;
void liana__sampler_destroy(liana__sampler *sampler);

/* The number of examples in an epoch; the largest number that any epoch may have; whether all have the same. */
uint64_t liana__sampler_length(const liana__sampler *sampler, uint64_t epoch);
uint64_t liana__sampler_max_length(const liana__sampler *sampler);
bool liana__sampler_varies(const liana__sampler *sampler);

/* The records of an epoch, not yet shuffled: records[length]. */
void liana__sampler_fill(const liana__sampler *sampler, uint64_t epoch, uint32_t *records);

/* The number of examples of each class in an epoch. */
void liana__sampler_count(const liana__sampler *sampler, uint64_t epoch, int64_t *counts);

#endif
