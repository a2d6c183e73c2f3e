/* collect.h - makes an incident of a training's step whose numbers went bad. */
#ifndef LIANA_TRAIN_COLLECT_H
#define LIANA_TRAIN_COLLECT_H

#include "data/loader/loader.h"
#include "train/training/incident.h"
#include "train/training/training.h"

/* The step. */
typedef struct liana__bad_step {
    const liana__training *training;
    const liana__batch *batch;
    int64_t epoch, step, update; /* from 1; updates in all, those that were taken back among them */
    int64_t applied;             /* the update's number for the optimizer */
    double learning_rate;
    bool of_validation;   /* the batch is one of a validation, and `step` counts those */
    bool masked;          /* shards of training are those of devices with static shards */
    const double *losses; /* of the last good updates, the newest last */
    size_t num_losses;
    const liana__source *source; /* of the examples; NULL: positions are all that is known */
    /* The value of a variable before the update, for FAULT_UPDATE: host data by the variable's index; NULL: as it is on
     * the device. */
    const void *(*before)(const void *user, size_t variable);
    const void *user;
} liana__bad_step;

/* Finds the program that went bad - of the shards the first one - and examines it. The trainer has just done the step.
 * Where nothing goes bad again, the incident is that of the last program tried, and its finding says so. Free the
 * incident in any case. Errors: those of building and running graphs, OUT_OF_MEMORY. */
liana_status liana__incident_collect(const liana__bad_step *step, const liana__fault *fault, liana__incident *incident,
                                     liana__error *error) LIANA_MUST_USE;

/* The graph of a shard of a batch with all that it reads, and its layers noted; facts and finding are NULL. `step` has
 * a training and a batch. Free the incident in any case. Errors: those of building graphs, OUT_OF_MEMORY. */
liana_status liana__incident_of_shard(const liana__bad_step *step, const liana__leaf_batch *shards, size_t number,
                                      liana__incident *incident, liana__error *error) LIANA_MUST_USE;

#endif
