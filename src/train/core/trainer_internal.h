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
    liana__component_name names[LIANA__MAX_COMPONENTS]; /* that leaves may read */
    const void
        *stand_ins[LIANA__MAX_COMPONENTS]; /* the rows of such a component where a batch has none; NULL: nothing */
    size_t num_names;
    liana__leaf_sums sums;
    liana__whole_plan whole;         /* the strategy borrows it */
    size_t num_staged, num_launched; /* updates of an execution */
    float *penalties;                /* [whole.most_steps]: of those that were launched last */
    liana__trainer_update update;
    liana__program *penalty; /* of the weights; NULL: they have none */
    float *first_sum;        /* on the host: loss and metrics */
    char *no_targets;        /* zeros for a batch: predictions come without targets, and nobody reads their sums */
    float *no_weights;       /* ones for a batch */
    float *counts;           /* of masked outputs: how many elements of the batch count; NULL: no output is masked */
    float *scales;           /* LIANA__SCALES */
    liana__fault fault;      /* of the last step */
    liana__leaf_list leaves; /* of the running batch: those that have examples */
    const liana__sum_watch *sum_watch; /* hears of the sums of training batches; NULL: nobody does */
};

/* Whether a batch is what the trainer takes. Errors: INVALID_ARGUMENT. */
liana_status liana__trainer_check_batch(const liana__trainer *trainer, const liana__batch *batch, bool training,
                                        liana__error *error) LIANA_MUST_USE;

/* Checks a batch, and lists its leaves. */
liana_status liana__trainer_begin_batch(liana__trainer *trainer, const liana__batch *batch, bool training,
                                        liana__leaf_batch *leaves, liana__error *error) LIANA_MUST_USE;

/* Returns `status`. The error of a failure gets the name of the layer whose place it names (layers/model_place.h). */
liana_status liana__trainer_name_layer(const liana__trainer *trainer, liana_status status, liana__error *error);

/* Builders leave their message in the context. */
liana_status liana__trainer_take_error(const liana__trainer *trainer, liana_status status, liana__error *error);

/* Lets somebody hear of the sums of training batches as they are made, in one process; borrowed. */
void liana__trainer_watch_sums(liana__trainer *trainer, const liana__sum_watch *watch);

/* Of the plans: `user` is the trainer. The leaf's sum that the update reads under a weight's name. */
size_t liana__trainer_find_sum(void *user, const char *input);
liana_status liana__trainer_prepare_update(liana__trainer *own, liana__error *error) LIANA_MUST_USE;
liana_status liana__trainer_update_graph(void *user, liana_graph **graph, liana__error *error) LIANA_MUST_USE;

/* What the device records of the callers. */
void liana__trainer_record(const liana__trainer *trainer, liana__event_kind kind, uint64_t begin, int64_t number);
uint64_t liana__trainer_clock(const liana__trainer *trainer);

/* What the last step is looked at with. */
liana__fault_check liana__trainer_check(const liana__trainer *trainer);

/* An update in three parts: leaves and their sum, checks, the update. */
liana_status liana__trainer_step_by_parts(liana__trainer *trainer, const liana__batch *batch, const float *scalars,
                                          liana__error *error) LIANA_MUST_USE;

/* ---- trainer_whole.c ---- */

/* Whether updates can be programs of a device, and the plan of these. */
bool liana__trainer_plan_whole(liana__trainer *trainer, size_t num_sum_rounds, liana__whole_plan *plan);
/* NULL: they are not. */
liana__whole *liana__trainer_whole(const liana__trainer *trainer);
/* An update as one program. If its sums are not finite it has changed nothing: it is done again by its parts, which say
 * what is wrong. */
liana_status liana__trainer_step_as_a_whole(liana__trainer *trainer, const liana__batch *batch, const float *scalars,
                                            liana__error *error) LIANA_MUST_USE;

#endif
