/* run_follow.h - the evaluator of a run: evaluates each new checkpoint as it appears, until the run is over.
 *
 * It is no part of the training, which does not wait for it: a checkpoint that is removed before it could be read is
 * left out. The results are in the run folder's evaluations.json, oldest first:
 *
 *   {"evaluations": [{"checkpoint": "step-0000000007", "iteration": 7, "epoch": 1, "step": 0, "loss": 0.5, ...}, ...]}
 *
 * `iteration` counts all updates, `epoch` whole epochs, `step` updates of the epoch that was running. Checkpoints that
 * are listed there are not evaluated again, so an evaluator may be stopped and started. The folder may be a local one,
 * or on gs:// or s3://. */
#ifndef LIANA_TRAIN_RUN_FOLLOW_H
#define LIANA_TRAIN_RUN_FOLLOW_H

#include "train/run/run.h"

typedef struct liana__follow_options {
    const char *run; /* the folder or URL, as it was named */
    double interval; /* seconds between looks for new checkpoints */
    liana__remote_options remote;
    bool (*stop)(void *user); /* ends it with CANCELLED */
    void (*on_note)(void *user, const char *note);
    /* Called for each evaluation; `checkpoint` is its path or URL. May be NULL. */
    liana_status (*on_evaluation)(void *user, const char *checkpoint, const liana__totals *totals, liana__error *error);
    void *user;
} liana__follow_options;

/* Waits until there is a run with a checkpoint, and says so if it must wait. Errors: CANCELLED; those of the stores. */
liana_status liana__follow_wait(const liana__follow_options *options, liana__error *error) LIANA_MUST_USE;

/* Evaluates with a run that liana__run_open has opened with `validation`. Returns when the newest checkpoint is that of
 * an end of the training, and is evaluated. Errors: CANCELLED; those of the data, of the store, and of checkpoints of
 * another model; INVALID_DATA (a wrong evaluations.json). Damaged checkpoints are noted and left out. */
liana_status liana__run_follow(liana__run *run, const liana__follow_options *options, liana__error *error)
    LIANA_MUST_USE;

#endif
