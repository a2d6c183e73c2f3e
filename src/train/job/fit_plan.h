/* fit_plan.h - how many updates and epochs a fit has: arithmetic of its data, its length and its state. */
#ifndef LIANA_TRAIN_FIT_PLAN_H
#define LIANA_TRAIN_FIT_PLAN_H

#include "data/loader/loader.h"
#include "train/training/training.h"

typedef struct liana__fit_plan {
    int64_t epochs;         /* 0: not known */
    int64_t last_iteration; /* where the fit ends; INT64_MAX: not known */
} liana__fit_plan;

/* Data are drawn anew in each epoch, those of earlier fits included: the loader's number of an epoch. */
uint64_t liana__fit_data_epoch(const liana__training_state *state, int64_t epoch);

/* The epochs that a fit has at most: those asked for, without those that stages gave up. 0: no such limit. */
int64_t liana__fit_most_epochs(const liana__training_state *state, const liana__training_length *length);

/* Where a fit ends, and the lengths of its schedule. Where epochs differ in length, the schedule's epochs are like the
 * first one, and it ends when the fit does. A fit after others goes on where their schedule was, as if they had been
 * one longer fit. A longer fit that goes on from a checkpoint has a schedule as if it had been as long at once. */
liana__fit_plan liana__fit_plan_make(const liana__training_state *state, const liana__loader *loader,
                                     const liana__training_length *length, liana_learning_rate *learning_rate);

/* The lengths of the schedule of the running stage, which ends before epoch `end`. */
void liana__fit_plan_stage(const liana__training_state *state, const liana__loader *loader, int64_t end,
                           liana_learning_rate *learning_rate);

#endif
