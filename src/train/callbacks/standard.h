/* standard.h - the callbacks that every training has: history, the length by the clock, progress, the policy for bad
 * numbers, and checkpoints. */
#ifndef LIANA_TRAIN_STANDARD_H
#define LIANA_TRAIN_STANDARD_H

#include "train/callbacks/callback.h"
#include "train/callbacks/monitor.h"
#include "train/callbacks/progress.h"

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
