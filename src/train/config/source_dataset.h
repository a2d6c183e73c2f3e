/* source_dataset.h - makes a dataset of a source of the configuration. */
#ifndef LIANA_TRAIN_SOURCE_DATASET_H
#define LIANA_TRAIN_SOURCE_DATASET_H

#include "data/dataset/dataset_source.h"
#include "train/config/config.h"

typedef struct liana__source_request {
    liana_context *context;
    /* Opens the files of a source that has no member sources. */
    liana_status (*open)(void *user, const liana__source_config *where, liana__source **source, liana__error *error);
    void *user;
    int64_t label_offset;
    /* Shuffle the sources of sample_from anew in each epoch; repeat each one that has ended. */
    bool shuffle;
    bool repeat;
    uint64_t seed;
} liana__source_request;

/* Makes the dataset, with filter, take_while, unique, rejection_resample, map, window, shard, skip, take and snapshot,
 * in this order. Errors: those of opening, INVALID_CONFIG (a
 * function that is not registered), those of the stages. */
liana_status liana__source_dataset(const liana__source_request *request, const liana__source_config *where,
                                   const char *key, liana_dataset **dataset, liana__error *error) LIANA_MUST_USE;

#endif
