/* trainer_internal.h - what a trainer is made of. For the files of the trainer. */
#ifndef LIANA_TRAIN_TRAINER_INTERNAL_H
#define LIANA_TRAIN_TRAINER_INTERNAL_H

#include "train/core/leaf_list.h"
#include "train/core/trainer.h"
#include "train/core/trainer_update.h"

struct liana__trainer {
    liana__device *device;
    liana__trainer_options options;
    liana__variables *variables;
    const liana__strategy *strategy;
    liana__strategy_instance *instance;
    int64_t microbatch;
    liana__component_name names[LIANA__NUM_COMPONENTS];
    liana__leaf_sums sums;
    liana__whole_plan whole; /* the strategy borrows it */
    liana__trainer_update update;
    liana__program *penalty; /* of the weights; NULL: they have none */
    float *first_sum;        /* on the host: loss and metrics */
    char *no_targets;        /* zeros for a batch: predictions come without targets, and nobody reads their sums */
    float *no_weights;       /* ones for a batch */
    float *counts;           /* of masked outputs: how many elements of the batch count; NULL: no output is masked */
    float *scales;           /* LIANA__COMPONENT_SCALES */
    liana__fault fault;      /* of the last step */
    liana__leaf_list leaves; /* of the running batch: those that have examples */
};

/* Whether a batch is what the trainer takes. Errors: INVALID_ARGUMENT. */
liana_status liana__trainer_check_batch(const liana__trainer *trainer, const liana__trainer_batch *batch, bool training,
                                        liana__error *error) LIANA_MUST_USE;

#endif
