/* fit.h - the loop of a training: epochs of updates, an evaluation after each, and calls to save between. */
#ifndef LIANA_TRAIN_FIT_H
#define LIANA_TRAIN_FIT_H

#include "data/loader/loader.h"
#include "train/core/training.h"

typedef enum liana__fit_event_kind {
    LIANA__FIT_STEP,       /* an update is done */
    LIANA__FIT_VALIDATION, /* a batch of validation is done */
    LIANA__FIT_PREDICTION, /* a batch of the predictions after the last epoch is done; from liana__run_train */
    LIANA__FIT_EPOCH,      /* an epoch is done, validation included */
    LIANA__FIT_CHECKPOINT, /* the state was saved */
} liana__fit_event_kind;

/* What a progress display needs. */
typedef struct liana__fit_event {
    liana__fit_event_kind kind;
    int64_t epoch; /* from 1 */
    int64_t epochs;
    int64_t step; /* done in this epoch, or batches of validation done */
    int64_t steps;
    double seconds; /* since the epoch's training, or its validation, began; of training for an EPOCH */
    double wait;    /* of which spent waiting for input */
    int64_t images; /* in that time */
    const liana__totals *training;
    const liana__totals *validation; /* count 0: none yet */
    double learning_rate;
} liana__fit_event;

typedef struct liana__fit_options {
    liana__loader *training;
    liana__loader *validation; /* NULL: none */
    int64_t batch_size;
    int64_t epochs;
    bool *seen_classes; /* by class: becomes true when an example of it was trained on; NULL: nobody asks */
    /* When the state is to be saved, besides the end and a stop. */
    bool every_epoch;
    int64_t every_steps;
    double every_minutes;
    /* Saves the training's state and variables; NULL: nothing is saved. A failure ends the fit. */
    liana_status (*save)(void *user, liana__error *error);
    /* Called after each event. Returning false stops the run in good order: with a checkpoint, and CANCELLED; out of a
     * validation too, which is then done again. */
    bool (*on_event)(void *user, const liana__fit_event *event);
    void *user;
} liana__fit_options;

/* Trains from training->state to the end of the last epoch, and keeps the state up to date. Errors: those
 * of the data (named by file and record), OUT_OF_RANGE when the loss is no longer finite, CANCELLED. */
liana_status liana__fit(liana__training *training, const liana__fit_options *options, liana__error *error)
    LIANA_MUST_USE;

/* What receives the predictions of a batch, in order: [batch->count, liana__trainer_row_size]. */
typedef liana_status (*liana__on_outputs)(void *user, const liana__batch *batch, const float *outputs,
                                          liana__error *error);

/* Runs over one epoch of a loader (epoch 0) as in inference; on_outputs may be NULL. `totals` is zeros at first; the
 * caller frees it, after a failure too. */
liana_status liana__evaluate(liana__trainer *trainer, liana__loader *loader, bool has_labels, liana__totals *totals,
                             liana__on_outputs on_outputs, void *user, liana__error *error) LIANA_MUST_USE;

#endif
