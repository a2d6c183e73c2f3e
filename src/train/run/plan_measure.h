/* plan_measure.h - measures on this machine a worker's part of a step of a cluster. */
#ifndef LIANA_TRAIN_PLAN_MEASURE_H
#define LIANA_TRAIN_PLAN_MEASURE_H

#include "train/run/run.h"
#include "train/training/cluster_time.h"

/* Another training of the same configuration, with a context of its own. */
typedef struct liana__plan_companion {
    liana_context *context;
    const liana__config *config;
} liana__plan_companion;

/* A training that is planned. */
typedef struct liana__plan_training {
    liana_context *context;
    const liana__config *config;
    const liana__plan_companion
        *companions; /* set by the caller after opening: they train while this one is measured */
    size_t num_companions;
    liana__run run; /* opened as for training in one process */
    liana__plan_update update;
    int64_t batch_size, microbatch; /* of the configuration, or the default */
    int64_t num_examples;           /* of an epoch */
} liana__plan_training;

/* Opens it, without a cluster: train.strategy and cluster are not looked at. Everything is borrowed. Close it in any
 * case. Errors: those of opening a run; UNIMPLEMENTED if the update cannot be cut into slices. */
liana_status liana__plan_open(liana_context *context, const liana__config *config, liana__plan_training *training,
                              liana__error *error) LIANA_MUST_USE;
void liana__plan_close(liana__plan_training *training);

/* Whether an epoch has enough examples to measure shards of this size. */
bool liana__plan_can_measure(const liana__plan_training *training, int64_t microbatch);

/* Trains with batches of one shard of `microbatch` examples, of a shard for each thread, and of two for each, each for
 * at least `seconds`. Meanwhile the companions train: workers that share a machine share its memory and caches, and
 * slow each other down. Nothing is written. Errors: those of opening a run and of training. */
liana_status liana__plan_measure(const liana__plan_training *training, int64_t microbatch, double seconds,
                                 liana__plan_work *work, liana__error *error) LIANA_MUST_USE;

#endif
