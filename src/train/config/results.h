/* results.h - the results of the runs of a sweep: a table of mean and spread over the seeds of each setting. */
#ifndef LIANA_TRAIN_SWEEP_RESULTS_H
#define LIANA_TRAIN_SWEEP_RESULTS_H

#include "train/config/sweep.h"

/* A metric over the seeds of a setting, or of one run. */
typedef struct liana__sweep_measure {
    int64_t count; /* of finished runs that measured it */
    double mean;   /* NaN: none did */
    double spread; /* sample standard deviation; NaN: fewer than two runs */
} liana__sweep_measure;

typedef struct liana__sweep_results {
    const liana__sweep *sweep;
    size_t num_metrics;
    const char *const *metrics;
    double *last; /* [num_runs, num_metrics]; NaN: the run is not finished, or has no such value */
    double *best;
    bool *finished; /* [num_runs] */
    size_t num_finished;
} liana__sweep_results;

/* Reads the histories of the finished runs. Metrics are those of the sweep, else all that the first finished run has of
 * the validation (without one: of the training). Everything is in the arena. Errors: INVALID_DATA, IO_ERROR,
 * OUT_OF_MEMORY; NOT_FOUND for a run that is marked as finished but has no history. */
liana_status liana__sweep_results_read(const liana__sweep *sweep, liana__arena *arena, liana__sweep_results *results,
                                       liana__error *error) LIANA_MUST_USE;

/* Over the seeds of a setting, of the epoch that the sweep's `value` says. */
liana__sweep_measure liana__sweep_measure_of(const liana__sweep_results *results, size_t setting, size_t metric);

/* The tables as text. Markdown and the terminal's have a row for each setting ("0.912 ± 0.004"), CSV one for each run
 * with last and best values, JSON both. Nothing in them depends on times or on the order in which runs ended. */
void liana__sweep_results_markdown(const liana__sweep_results *results, liana__text *text);
void liana__sweep_results_plain(const liana__sweep_results *results, liana__text *text);

/* Writes results.csv, results.json and results.md into the sweep's folder. */
liana_status liana__sweep_results_write(const liana__sweep_results *results, liana__error *error) LIANA_MUST_USE;

#endif
