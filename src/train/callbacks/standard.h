/* standard.h - the callbacks that every training has: history, the length by the clock, progress, the policy for bad
 * numbers, and checkpoints. */
#ifndef LIANA_TRAIN_STANDARD_H
#define LIANA_TRAIN_STANDARD_H

#include "train/callbacks/callback.h"

/* ---- progress ---- */

/* The events of a training as a display wants them: one function, which may stop the training. */

typedef enum liana__fit_event_kind {
    LIANA__FIT_STEP,       /* an update is done */
    LIANA__FIT_VALIDATION, /* a batch of validation is done */
    LIANA__FIT_PREDICTION, /* a batch of the predictions after the last epoch is done; from liana__run_train */
    LIANA__FIT_EPOCH,      /* an epoch is done, validation included */
    LIANA__FIT_CHECKPOINT, /* the state was saved */
} liana__fit_event_kind;

/* The state of a progress display. */
typedef struct liana__fit_event {
    liana__fit_event_kind kind;
    int64_t epoch;  /* from 1 */
    int64_t epochs; /* 0: not known */
    int64_t step;   /* done in this epoch, or batches of validation done */
    int64_t steps;
    int64_t global_step; /* updates done in all, over all stages */
    int64_t updates;     /* of a STEP: those done since the one before */
    double seconds;      /* since the epoch's training, or its validation, began; of training for an EPOCH */
    double wait;         /* of which spent waiting for input */
    int64_t images;      /* in that time */
    const liana__totals *training;
    const liana__totals *validation; /* count 0: none yet */
    double learning_rate;
    struct liana__fit_requests *requests; /* what the receiver asks for, beside a stop */
} liana__fit_event;

/* Of a STEP. */
typedef struct liana__fit_requests {
    bool checkpoint; /* the state is to be saved after this update */
    double paused;   /* seconds that the training has waited for the receiver, which count as no training */
} liana__fit_requests;

typedef struct liana__progress_options {
    /* Called after each event. Returning false stops the run in good order: with a checkpoint, and CANCELLED; out of a
     * validation too, which is then done again. */
    bool (*on_event)(void *user, const liana__fit_event *event);
    void *user;
} liana__progress_options;

extern const liana_callback_type liana__callback_progress;

/* ---- standard ---- */

/* When the state is saved. It is also saved at the end and at a stop. Borrowed. */
typedef struct liana__checkpointing_options {
    bool every_epoch;
    int64_t every_steps;         /* 0: not by steps */
    double every_minutes;        /* 0: not by time */
    int64_t keep;                /* number of newest ones to keep, for the saver; 0: all */
    double keep_every_hours;     /* hours between saves that are kept for good; 0: none is */
    liana__monitor_options best; /* which one is the best; monitor NULL: none is */
} liana__checkpointing_options;

extern const liana_callback_type liana__callback_history, liana__callback_max_minutes, liana__callback_stop_at,
    liana__callback_checkpointing, liana__callback_bad_numbers, liana__callback_best_checkpoint;

#endif
