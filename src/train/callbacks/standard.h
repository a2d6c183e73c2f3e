/* standard.h - the callbacks that every training has: history, the length by the clock, progress, what is
 * done about bad numbers, and when checkpoints are saved. */
#ifndef LIANA_TRAIN_STANDARD_H
#define LIANA_TRAIN_STANDARD_H

#include "train/callbacks/callback.h"
#include "train/callbacks/monitor.h"
#include "train/callbacks/progress.h"

/* When the state is saved, besides the end and a stop. Borrowed. */
typedef struct liana__checkpointing_options {
    bool every_epoch;
    int64_t every_steps;         /* 0: not by steps */
    double every_minutes;        /* 0: not by time */
    int64_t keep;                /* number of newest ones to keep, for the one who saves; 0: all */
    double keep_every_hours;     /* after so many hours of training one is saved that is kept for good; 0: none is */
    liana__monitor_options best; /* what tells the best one; monitor NULL: none is */
} liana__checkpointing_options;

extern const liana__callback liana__callback_history, liana__callback_max_minutes, liana__callback_stop_at,
    liana__callback_checkpointing, liana__callback_bad_numbers, liana__callback_best_checkpoint;

/* Options may be NULL where nobody asks for them. */
typedef struct liana__standard_callbacks {
    const liana__checkpointing_options *checkpointing;
    const double *max_minutes; /* of training and validation, over all parts of a run; 0: no limit */
    const int64_t *stop_at;    /* when it ends, in seconds since 1970; 0: no such limit */
    const liana__progress_options *progress;
    const struct liana__numbers_options *numbers; /* what bad numbers lead to (train/numbers/watch.h) */
} liana__standard_callbacks;

/* Adds the history before the list's callbacks are added, and the others after them: what they ask for at an event is
 * then seen by progress and by checkpoints of the same event. Errors: OUT_OF_MEMORY. */
liana_status liana__callbacks_begin(liana__callback_list *list, liana__error *error) LIANA_MUST_USE;
liana_status liana__callbacks_finish(liana__callback_list *list, const liana__standard_callbacks *options,
                                     liana__error *error) LIANA_MUST_USE;

#endif
