/* sampler.h - which records an epoch consists of, where that is not each of them once.
 *
 * Oversampling: an example of a class with n < N members comes N / n times: the whole part of that always, once more by
 * chance, drawn from its record address (seed, record, epoch). So the members of a class come about as often each, and
 * the length of an epoch is what the draws make it. Weighted sampling: as many examples as there are records, each
 * drawn for itself with the probability that its class's weight gives its record. */
#ifndef LIANA_DATA_SAMPLER_H
#define LIANA_DATA_SAMPLER_H

#include "data/source/source.h"

typedef struct liana__sampler liana__sampler;

/* One of the two. */
typedef struct liana__sampler_options {
    int64_t target_count;  /* N; 0: no oversampling */
    const double *weights; /* [num_classes] of each record of a class, at least 0; NULL: no weighted sampling */
    uint64_t seed;
} liana__sampler_options;

/* Reads the labels of all records: labels[num_records]. With the source's skip_damage a bad record has -1: it comes
 * once in an epoch with oversampling, and leaves a gap there, and never with weights. Errors: those of reading and of
 * liana__source_label. */
liana_status liana__source_labels(const liana__source *source, int64_t offset, int64_t num_classes, int32_t *labels,
                                  liana__error *error) LIANA_MUST_USE;

/* How many labels of each class there are, -1 aside. */
void liana__count_labels(const int32_t *labels, uint64_t num_labels, int64_t num_classes, int64_t *counts);

/* Labels are copied. Errors: OUT_OF_MEMORY; INVALID_CONFIG (an epoch would be longer than 2^31 examples, no weight is
 * above 0). */
liana_status liana__sampler_create(const int32_t *labels, uint64_t num_records, int64_t num_classes,
                                   const liana__sampler_options *options, liana__sampler **sampler, liana__error *error)
    LIANA_MUST_USE;
void liana__sampler_destroy(liana__sampler *sampler);

/* The exact number of examples of an epoch, the most that any may have, and whether all have the same. */
uint64_t liana__sampler_length(const liana__sampler *sampler, uint64_t epoch);
uint64_t liana__sampler_max_length(const liana__sampler *sampler);
bool liana__sampler_varies(const liana__sampler *sampler);

/* The records of an epoch, in an order that is not yet shuffled: records[length]. */
void liana__sampler_fill(const liana__sampler *sampler, uint64_t epoch, uint32_t *records);

/* How many examples of each class an epoch has. */
void liana__sampler_count(const liana__sampler *sampler, uint64_t epoch, int64_t *counts);

#endif
