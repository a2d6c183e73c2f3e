/* watch.h - how a training handles numbers that are not finite.
 *
 * The trainer finds them in each step (trainer.h). Sums go bad before the update, so the weights are still good, and
 * the step is run again node by node at once. An update that gives bad weights has overwritten its inputs. So the watch
 * keeps a snapshot of all variables on the host: from it, and the same batches again, it makes the weights of before
 * that update. The snapshot is taken at the begin of each epoch and after every SNAPSHOT_STEPS steps of it, and when a
 * callback has changed weights. */
#ifndef LIANA_TRAIN_WATCH_H
#define LIANA_TRAIN_WATCH_H

#include "data/loader/loader.h"
#include "train/callbacks/callback.h"

typedef enum liana__on_bad_numbers {
    LIANA__ON_BAD_NUMBERS_FAIL,    /* the training ends */
    LIANA__ON_BAD_NUMBERS_SKIP,    /* the update is left out */
    LIANA__ON_BAD_NUMBERS_RESTORE, /* ... and the variables are those of the snapshot, with a smaller rate */
} liana__on_bad_numbers;

typedef struct liana__numbers_options {
    liana__on_bad_numbers policy;
    int64_t most;       /* updates that may be skipped in a row, or restores without a new snapshot between them */
    double rate_factor; /* of a restore; above 0, below 1 */
    const char *folder; /* for bundles; NULL: none are written */
} liana__numbers_options;

enum { LIANA__SNAPSHOT_STEPS = 100, LIANA__WATCHED_LOSSES = 8 };

/* The state of liana__callback_bad_numbers. Zero-initialise; free with liana__watch_free. */
typedef struct liana__watch {
    const liana__numbers_options *options;
    const liana__variables *variables; /* the training's */
    void **values;                     /* the snapshot, by variable; NULL: none was taken */
    size_t num_values;
    size_t *sizes; /* in bytes, of each */
    /* Snapshots of earlier stages, which had other variables: saved states may refer to them. */
    struct liana__retired {
        void **values;
        size_t count;
    } * retired;
    size_t num_retired, retired_capacity;
    void **unfit;        /* the variables before the step, if they were not finite even then; else NULL */
    uint64_t generation; /* of the cluster, in which it was taken */
    bool reaches;        /* from it, the steps below lead to the weights of now */
    int64_t epoch;       /* when it was taken, as these are in the state */
    int64_t step;
    int64_t applied; /* updates */
    /* The steps since: their rates (NaN: no update was applied) and the numbers that their updates had. */
    double rates[LIANA__SNAPSHOT_STEPS];
    int64_t updates[LIANA__SNAPSHOT_STEPS];
    size_t num_steps;
    double losses[LIANA__WATCHED_LOSSES]; /* of the last good updates, the newest last */
    size_t num_losses;
    int64_t in_row;            /* bad updates since a good one, or restores since a snapshot */
    int64_t skipped, restored; /* in the running epoch */
} liana__watch;

void liana__watch_free(liana__watch *watch);

/* Makes room for a snapshot of these variables. Errors: OUT_OF_MEMORY. */
liana_status liana__watch_reserve(liana__watch *watch, const liana__variables *variables, liana__error *error)
    LIANA_MUST_USE;
/* Whether the snapshot, if there is one, is of these variables: another stage has others. */
bool liana__watch_fits(const liana__watch *watch, const liana__variables *variables);

/* Where a step is. */
typedef struct liana__watched_step {
    liana__watch *watch;
    liana__training *training;
    liana__loader *loader;
    uint64_t data_epoch;
    const liana__notes *notes;
    int64_t update; /* its number, as the trainer got it */
    double learning_rate;
    bool has_control; /* of the training: it goes back by itself */
} liana__watched_step;

/* Before a step: takes a snapshot, if it is time, or if processes have died since: then others hold other things.
 * Errors: OUT_OF_MEMORY, those of reading the device. */
liana_status liana__watch_before_step(liana__watch *watch, liana__training *training, liana__error *error)
    LIANA_MUST_USE;
/* After a good step, whose loss (the mean of its examples) is given. */
void liana__watch_after_step(liana__watch *watch, int64_t update, double learning_rate, double loss);

/* Whether the steps from the snapshot can be done again. */
bool liana__watch_can_replay(const liana__watch *watch);

/* A bad step: explains it, writes a bundle, and follows the policy. OK: the training goes on, and the state counts the
 * step. Errors: OUT_OF_RANGE with all that was found. `watch` NULL: it is only explained. */
liana_status liana__watch_meet(const liana__watched_step *step, const liana__batch *batch, liana__error *error)
    LIANA_MUST_USE;
/* The same after an update that gave bad weights, if that can be replayed; all batches are released. The loader is
 * behind the batch afterwards. */
liana_status liana__watch_replay(const liana__watched_step *step, liana__error *error) LIANA_MUST_USE;

/* A batch of a validation, counted from 1, whose loss is not finite, as `totals` show: explains it and writes a
 * bundle, unless `batch` is NULL. OK after a note: the policy is not FAIL, or a control of the training will go
 * back. Errors: OUT_OF_RANGE. */
liana_status liana__watch_meet_validation(const liana__watched_step *step, const liana__batch *batch,
                                          const liana__totals *totals, int64_t number, liana__error *error)
    LIANA_MUST_USE;

/* The error for a single batch, outside of a fit; an update that gave bad weights is not run again. Errors:
 * OUT_OF_RANGE. */
liana_status liana__watch_explain(liana__training *training, const liana__batch *batch, double learning_rate,
                                  liana__error *error) LIANA_MUST_USE;

#endif
