/* sweep.h - a sweep: runs of one configuration with changes, each over several seeds, and the YAML file that describes
 * them.
 *
 * A sweep's folder has for each setting a folder, and in it for each seed: seed-N.yaml (the configuration), seed-N (the
 * run folder), seed-N.log (the training's output) and seed-N.done (it has ended well). Beside them are results.csv,
 * results.json and results.md. */
#ifndef LIANA_TRAIN_SWEEP_H
#define LIANA_TRAIN_SWEEP_H

#include "train/config/config.h"

enum { LIANA__SWEEP_MOST_RUNS = 10000 };

/* A set of changes. */
typedef struct liana__sweep_setting {
    const char *name;  /* of its folder */
    const char *about; /* a sentence; NULL: none */
    const liana__config_change *changes;
    size_t num_changes;
} liana__sweep_setting;

typedef struct liana__sweep_run {
    size_t setting;
    int64_t seed;
    const char *name;   /* "SETTING/seed-1" */
    const char *folder; /* the run folder */
    const char *config; /* the configuration's file */
    const char *log;
    const char *done; /* this file is there if the run has ended well */
} liana__sweep_run;

/* A question that two settings answer. */
typedef struct liana__sweep_comparison {
    const char *question;
    size_t first, second;
} liana__sweep_comparison;

/* Which of a run's epochs counts. */
typedef enum liana__sweep_value {
    LIANA__SWEEP_LAST, /* the last one */
    LIANA__SWEEP_BEST, /* for each metric its best one */
} liana__sweep_value;

typedef struct liana__sweep {
    const char *file, *base, *folder;
    const char *title;      /* NULL: none */
    int64_t jobs;           /* runs at a time */
    int64_t threads;        /* of all runs together; 0: as usual */
    liana__strings metrics; /* keys of the history: "val_loss"; empty: all of the validation, else of the training */
    int value;              /* liana__sweep_value */
    liana__sweep_setting *settings;
    size_t num_settings;
    int64_t num_seeds;
    liana__place seeds_place;
    liana__sweep_run *runs; /* setting by setting */
    size_t num_runs;
    liana__sweep_comparison *comparisons;
    size_t num_comparisons;
    bool allow_plugins; /* of the contexts that read configurations; set by the caller */
} liana__sweep;

/* The table of the keys of a sweep's file, for lists. */
const liana__fields *liana__sweep_fields(void);

/* Reads a sweep's file. `folder` (NULL: the file's `output`) is the sweep's folder. Paths are relative to the folder of
 * the file. Everything is in the arena. Errors: INVALID_CONFIG with file, line and column; OUT_OF_MEMORY. */
liana_status liana__sweep_read(const char *path, const char *folder, liana__arena *arena, liana__sweep *sweep,
                               liana__error *error) LIANA_MUST_USE;

/* The configuration of a run. The context loads the plugins that it names, if it allows them. Runs may name other
 * plugins, so each has a context of its own. Errors: those of
 * liana__config_load_changed. */
liana_status liana__sweep_config(const liana__sweep *sweep, const liana__sweep_run *run, liana_context *context,
                                 liana__arena *arena, liana__config *config, liana__error *error) LIANA_MUST_USE;

/* Makes all checks that are possible before the first run: the configuration of every run, and that a run that is there
 * already has the same one. Errors: INVALID_CONFIG, with the key and both values where a run's configuration was
 * another. */
liana_status liana__sweep_check(const liana__sweep *sweep, liana__error *error) LIANA_MUST_USE;

/* Writes the configuration of a run into the sweep's folder. */
liana_status liana__sweep_write_config(const liana__sweep *sweep, const liana__sweep_run *run, liana__error *error)
    LIANA_MUST_USE;

/* ---- results ---- */

/* The measurements of the runs of a sweep: a table of mean and spread over the seeds of each setting. */

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
