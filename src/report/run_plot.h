/* run_plot.h - figures of several runs: their measures by epoch, and learning-rate schedules by update. */
#ifndef LIANA_REPORT_RUN_PLOT_H
#define LIANA_REPORT_RUN_PLOT_H

#include "base/value.h"
#include "report/pictures.h"
#include "train/config/differences.h"
#include "train/run/run.h"

/* ---- run files ---- */

/* The settings, the history and the times in a run folder. */

typedef struct liana__run_files {
    const char *folder;
    const char *name;              /* as short as it tells this run from the others */
    const liana__value *config;    /* config.yaml */
    const liana__value *epochs;    /* of history.json: a list of at least one map */
    const liana__value *times;     /* of timing.json: a list, which may be empty */
    const liana__value *decisions; /* of train.control, in history.json; NULL: none */
} liana__run_files;

/* Whether a folder is that of a run: it has a config.yaml. */
bool liana__is_run_folder(const char *folder);
/* Folders of runs that a folder stands for: itself, or those in it, as a sweep has them; sorted, in the arena. Errors:
 * INVALID_CONFIG if there are none, IO_ERROR, OUT_OF_MEMORY. */
liana_status liana__find_run_folders(const char *folder, liana__arena *arena, const char ***found, size_t *count,
                                     liana__error *error) LIANA_MUST_USE;

/* Reads the files of `count` run folders. Runs in sweeps are called "SETTING/seed-1", others by their folder.
 * Everything is in the arena. Errors: INVALID_CONFIG for a folder without config.yaml or history.json; INVALID_DATA. */
liana_status liana__run_files_read(const char *const *folders, size_t count, liana__arena *arena,
                                   liana__run_files **runs, liana__error *error) LIANA_MUST_USE;

/* Epochs that were not validated get the measurement of an evaluator (evaluations.json) at their end, if there was one.
 * Errors: INVALID_DATA. */
liana_status liana__run_files_add_evaluations(liana__run_files *run, liana__arena *arena, liana__error *error)
    LIANA_MUST_USE;

/* The decisions of train.control, with the measure that they watched: "loss". In the arena. */
typedef struct liana__run_decisions {
    const char *measure;
    const liana__curve_mark *marks;
    size_t count; /* 0: there are none */
} liana__run_decisions;
liana__run_decisions liana__run_files_decisions(const liana__run_files *run, liana__arena *arena);

/* The same for a page: a run that has no history yet, or a damaged one, has no epochs, and `notes` [count] says why;
 * NULL there: nothing is missing. Errors: INVALID_CONFIG for a folder without config.yaml; those of config.yaml. */
liana_status liana__run_files_read_any(const char *const *folders, size_t count, liana__arena *arena,
                                       liana__run_files **runs, const char ***notes, liana__error *error)
    LIANA_MUST_USE;

/* A number of epoch `index`; NaN: missing. */
double liana__run_files_number(const liana__value *epochs, size_t index, const char *key);

/* The keys of the epochs of all runs that are measures of training: "loss", "accuracy" (the validation's are these with
 * val_ before them), in the order of the first run. *keys is in the arena. Errors: OUT_OF_MEMORY. */
liana_status liana__run_files_measures(const liana__run_files *runs, size_t count, liana__arena *arena,
                                       const char *const **keys, size_t *num_keys, liana__error *error) LIANA_MUST_USE;

/* The best finite value of a key, by the direction that its name says, and its epoch from 1; 0: there is none. */
typedef struct liana__best_value {
    double value, last; /* `last`: that of the last epoch that has one */
    size_t epoch;
} liana__best_value;
liana__best_value liana__run_files_best(const liana__run_files *run, const char *key);

/* The seconds of an epoch: the mean of those after the first; NaN: there are none. */
double liana__run_files_seconds(const liana__run_files *run);

/* The settings at which runs differ, without those that say where a run is or change no result. Free them. Errors:
 * those of liana__differences_find. */
liana_status liana__run_files_differences(const liana__run_files *runs, size_t count, liana__arena *arena,
                                          liana__differences *differences, liana__error *error) LIANA_MUST_USE;

/* ---- run plot ---- */

enum { LIANA__PLOT_MOST_RUNS = LIANA__FIGURE_INKS };

/* Makes a panel for each measure, as the runs' histories have them, and one for the learning rate. Of one or two runs
 * colours are training and validation, and of two the first is dashed; of more runs colours are runs, training is
 * dashed and validation solid. The last values of shorter runs are drawn on to the end of the longest. `measures`:
 * those to draw, "learning_rate" among them; num_measures 0: all. Errors: INVALID_CONFIG for a measure that no run
 * has, with the nearest name; OUT_OF_MEMORY. */
liana_status liana__run_figure(const liana__run_files *runs, size_t count, const char *const *measures,
                               size_t num_measures, liana__arena *arena, liana__figure *figure, liana__error *error)
    LIANA_MUST_USE;
/* Draws it. Errors: those above and of liana__figure_write. */
liana_status liana__plot_runs(const liana__run_files *runs, size_t count, const char *const *measures,
                              size_t num_measures, const char *path, liana__arena *arena, liana__error *error)
    LIANA_MUST_USE;

/* Seconds, examples a second and seconds of waiting for input, by epoch. No panels: there are no times. Errors:
 * OUT_OF_MEMORY. */
liana_status liana__time_figure(const liana__run_files *runs, size_t count, liana__arena *arena, liana__figure *figure,
                                liana__error *error) LIANA_MUST_USE;

/* The rate of each update, from 0. */
typedef struct liana__plotted_rate {
    const char *name;
    const double *updates, *rates; /* [count] */
    size_t count;
} liana__plotted_rate;

/* The rates of all updates of a run that is open for training, or of evenly chosen ones of very many. Errors:
 * INVALID_CONFIG if the number of updates is not known; `config` is its name there. OUT_OF_MEMORY. */
liana_status liana__plan_rates(const liana__run *run, const char *config, liana__arena *arena,
                               liana__plotted_rate *plotted, liana__error *error) LIANA_MUST_USE;
/* Schedules as a figure, in the arena. Errors: OUT_OF_MEMORY. */
liana_status liana__rate_figure(const liana__plotted_rate *rates, size_t count, liana__arena *arena,
                                liana__figure *figure, liana__error *error) LIANA_MUST_USE;
/* Draws schedules, up to LIANA__PLOT_MOST_RUNS. Errors: those of liana__figure_write. */
liana_status liana__plot_rates(const liana__plotted_rate *rates, size_t count, const char *path, liana__error *error)
    LIANA_MUST_USE;

#endif
