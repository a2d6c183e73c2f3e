/* history.h - the history of a run: its results, epoch by epoch. */
#ifndef LIANA_TRAIN_HISTORY_H
#define LIANA_TRAIN_HISTORY_H

#include "base/value.h"
#include "distribute/cluster/span_counts.h"
#include "train/objective/trainer.h"

/* Values that were measured over some examples, finished. */
typedef struct liana__measured {
    double values[LIANA__MAX_VALUES]; /* as liana__objective.value_names */
    int64_t count;                    /* of examples; 0: nothing was measured */
    int64_t bad_records;              /* positions whose records were left out; not part of count */
} liana__measured;

liana__measured liana__totals_finish(const liana__totals *totals);

typedef struct liana__history_epoch {
    int64_t global_step; /* updates done in all by its end, over all stages; 0: an older liana did not record it */
    liana__measured training;
    liana__measured validation; /* count 0: there was none */
    double learning_rate;       /* of the epoch's last update */
    /* The response to numbers that were not finite (train/callbacks/watch.h). */
    int64_t skipped_updates, restores;
    liana__span_counts gradients; /* where workers were not in step */
    /* Metrics that have a number for each class, [num_listed] of the objective; NULL: there are none. They are in the
     * history's arena. */
    const double *training_lists, *validation_lists;
} liana__history_epoch;

/* Times, which differ from run to run; so they are kept apart from the history. */
typedef struct liana__timing_epoch {
    double seconds; /* of training, without validation */
    int64_t images; /* images of that time; fewer than the epoch's after a resume */
    double wait;    /* seconds of waiting for input */
} liana__timing_epoch;

typedef struct liana__history {
    liana__history_epoch *epochs;
    liana__timing_epoch *timings;
    size_t count;
    int64_t first_epoch; /* that the first one is, counted from 0: the initial epoch of the fit */
    size_t epoch_capacity;
    size_t timing_capacity;
    liana__arena arena; /* of the epochs' lists */
} liana__history;

/* Measures of an epoch with its lists, in the history's arena. False: out of memory. */
bool liana__history_measure(liana__history *history, const liana__totals *totals, liana__measured *measured,
                            const double **lists);
void liana__history_free(liana__history *history);
bool liana__history_add(liana__history *history, const liana__history_epoch *epoch, const liana__timing_epoch *timing);

/* {"epochs": [{"epoch", "global_step", "loss", "accuracy", "val_loss", "val_accuracy", "learning_rate", "bad_records",
 * "val_bad_records"}, ...]}; keys with val_ only if there was a validation, "global_step" only where it is known.
 * Metrics with a number for each class are lists. `objective` has the names. */
liana__value *liana__history_value(const liana__history *history, const liana__objective *objective,
                                   liana__arena *arena);
/* Whether a key of an epoch is something that was measured: a loss or a metric, of the validation too. */
bool liana__history_is_measure(const char *key);
/* {"epochs": [{"epoch", "seconds", "examples_per_second", "input_wait", "images_per_second"}, ...]}; the last is an
 * older name of the third */
liana__value *liana__timing_value(const liana__history *history, liana__arena *arena);

/* The exact state, for checkpoints. liana__totals_read writes into totals of the same objective. Reading errors:
 * INVALID_DATA. */
liana__value *liana__totals_state(const liana__totals *totals, liana__arena *arena);
liana__value *liana__history_state(const liana__history *history, const liana__objective *objective,
                                   liana__arena *arena);
liana_status liana__totals_read(const liana__value *value, liana__totals *totals, liana__error *error) LIANA_MUST_USE;
liana_status liana__history_read(const liana__value *value, const liana__objective *objective, liana__history *history,
                                 liana__error *error) LIANA_MUST_USE;

/* The list "epochs" of history.json or timing.json, each a map. Errors: INVALID_DATA if the file has no such list, or
 * one with fewer than `least`; those of liana__json_read. */
liana_status liana__history_file_epochs(const char *path, size_t least, liana__arena *arena,
                                        const liana__value **epochs, liana__error *error) LIANA_MUST_USE;

/* ---- gradient counts ---- */

/* The counts of gradients in history and checkpoints where the workers of a cluster are not in step. */

/* {"reproducible": false, "computed", "used", "dropped", "skipped", "mean_staleness", "largest_staleness", ...}, set as
 * "gradients" of the map. Nothing, where no gradients were counted. */
void liana__gradient_counts_set(const liana__span_counts *counts, liana__value *map, liana__arena *arena);
/* Zeros, where the map has none. */
liana__span_counts liana__gradient_counts_read(const liana__value *map);

#endif
