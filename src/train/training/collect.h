/* collect.h - makes an incident of a training's step whose numbers went bad. */
#ifndef LIANA_TRAIN_COLLECT_H
#define LIANA_TRAIN_COLLECT_H

#include "data/loader/loader.h"
#include "step/rerun.h"
#include "train/training/training.h"

/* The step. */
typedef struct liana__bad_step {
    const liana__training *training;
    const liana__batch *batch;
    int64_t epoch, step, update; /* from 1; updates in all, those that were taken back among them */
    int64_t applied;             /* the update's number for the optimizer */
    double learning_rate;
    bool of_validation;   /* the batch is one of a validation, and `step` counts those */
    bool masked;          /* training shards are those of devices with static shapes */
    const double *losses; /* of the last good updates, the newest last */
    size_t num_losses;
    const liana__source *source; /* of the examples; NULL: positions are all that is known */
    /* The value of a variable before the update, for FAULT_UPDATE: host data by the variable's index; NULL: as it is on
     * the device. */
    const void *(*before)(const void *user, size_t variable);
    const void *user;
} liana__bad_step;

/* As liana__rerun_find, with all that the training knows. */
liana_status liana__incident_collect(const liana__bad_step *step, const liana__fault *fault, liana__incident *incident,
                                     liana__error *error) LIANA_MUST_USE;

/* As liana__rerun_shard; `step` has a training and a batch. */
liana_status liana__incident_of_shard(const liana__bad_step *step, const liana__leaf_batch *shards, size_t number,
                                      liana__incident *incident, liana__error *error) LIANA_MUST_USE;

#endif
