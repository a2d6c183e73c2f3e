/* fit.h - the loop of a training: epochs of updates, an evaluation after each. Everything else that happens meanwhile
 * is a callback (train/callbacks). */
#ifndef LIANA_TRAIN_FIT_H
#define LIANA_TRAIN_FIT_H

#include "data/loader/loader.h"
#include "train/job/job_options.h"

typedef struct liana__fit_options {
    liana__loader *training;
    liana__loader *validation; /* NULL: none */
    const liana__job_options *job;
    /* In place of job->validation_freq: updates from one validation to the next; the last is at the end. An epoch's
     * results have the validation that followed its last update, if there was one. 0: by epochs. */
    int64_t validation_freq_steps;
    liana__training_length length; /* of the whole fit, from its initial epoch on */
    bool resumed;                  /* the state is that of a checkpoint */
    bool *seen_classes;            /* by class: becomes true when an example of it was trained on; NULL: nobody asks */
    /* Saves the training's state and variables; NULL: nothing is saved. A failure ends the fit. */
    liana_status (*save)(void *user, liana__error *error);
    /* A collective operation, before a fit that was interrupted saves: *hands_over says that the save is for a next
     * round of the cluster, which goes on with other processes. No callback hears of it. NULL: it never is. */
    liana_status (*hand_over)(void *user, bool *hands_over, liana__error *error);
    /* Writes the model as it is now into a file, for callbacks. NULL: nobody can. */
    liana_status (*write_model)(void *user, const char *path, liana__error *error);
    void *user;
    liana__callback_list *callbacks; /* NULL: none */
    const char *folder;              /* for files of callbacks; NULL: none */
    liana__strings class_names;      /* for callbacks; empty: not known */
    /* Opens the training data anew, each example once, in order and not augmented; *loader stays the user's. NULL: they
     * cannot be read so. */
    liana_status (*open_examples)(void *user, liana__loader **loader, liana__error *error);
    liana__notes notes;
} liana__fit_options;

/* With steps_per_execution above 1, updates are done in groups, which begin and end a step for callbacks; so weights,
 * rates and ends change between groups only. A group ends early at the end of an epoch, at a validation, and after an
 * update whose numbers went bad. Where the trainer was made with as many steps, and its device can do it, a group is
 * one execution. Otherwise its updates are done one by one, to the same bits.
 *
 * Trains from training->state until its length is reached or a callback stops it, and keeps the state up to date.
 *
 * Where it ends in the middle of an epoch, that epoch is validated and told as the others are. The state stays in the
 * middle: a longer fit goes on from there, and ends in the same bits as one that was as long at once.
 *
 * Errors: those of the data (named by file and record) and of callbacks, OUT_OF_RANGE for numbers that are not finite
 * (train/callbacks/watch.h), CANCELLED if a callback interrupted it. */
liana_status liana__fit(liana__training *training, const liana__fit_options *options, liana__error *error)
    LIANA_MUST_USE;

/* Calls `save` where the checkpoints are: in the process itself, or in the chief of its cluster. The others then give
 * it their slices. All fail if it fails. */
liana_status liana__fit_save(liana__training *training, liana_status (*save)(void *user, liana__error *error),
                             void *user, liana__error *error) LIANA_MUST_USE;

/* Whether a training of this length is over in a state, as far as it can be told without its data: it ended, and
 * neither is it longer now, nor is the callback gone that ended it. One that ended at a time of the clock is over if
 * that time, or the one that is now given, is past. */
bool liana__fit_is_over(const liana__training_state *state, const liana__training_length *length,
                        const liana__callback_list *callbacks);

/* Receives the predictions of a batch, in order: [batch->count, liana__trainer_row_size]. Where several processes share
 * the batch, each of them gets all of it (train/objective/gathered_rows.h): then of components it has those of targets
 * only. */
typedef liana_status (*liana__on_outputs)(void *user, const liana__batch *batch, const float *outputs,
                                          liana__error *error);

/* The same, without outputs: NULL. */
liana_status liana__evaluate_steps(liana__trainer *trainer, liana__loader *loader, int64_t max_steps,
                                   liana__totals *totals, liana__on_outputs on_step, void *user, liana__error *error)
    LIANA_MUST_USE;

/* Runs over one epoch of a loader (epoch 0) as in inference, or over its first max_steps batches (0: all); on_outputs
 * may be NULL. `totals` is zeros at first; the caller frees it, after a failure too. */
liana_status liana__evaluate(liana__trainer *trainer, liana__loader *loader, int64_t max_steps, liana__totals *totals,
                             liana__on_outputs on_outputs, void *user, liana__error *error) LIANA_MUST_USE;
/* The same over another epoch of the loader: an augmentation has other draws there. */
liana_status liana__evaluate_epoch(liana__trainer *trainer, liana__loader *loader, uint64_t epoch, int64_t max_steps,
                                   liana__totals *totals, liana__on_outputs on_outputs, void *user, liana__error *error)
    LIANA_MUST_USE;

/* ---- fit plan ---- */

/* How many updates and epochs a fit has: arithmetic of its data, its length and its state. */

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
