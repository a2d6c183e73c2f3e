/* run_plot.h - figures of several runs: their measures by epoch, and learning-rate schedules by update. */
#ifndef LIANA_REPORT_RUN_PLOT_H
#define LIANA_REPORT_RUN_PLOT_H

#include "base/value.h"
#include "report/pictures.h"

/* ---- run files ---- */

/* The settings, the history and the times in a run folder. */

typedef struct liana__run_files {
    const char *folder;
    const char *name;           /* as short as it tells this run from the others */
    const liana__value *config; /* config.yaml */
    const liana__value *epochs; /* of history.json: a list of at least one map */
    const liana__value *times;  /* of timing.json: a list, which may be empty */
} liana__run_files;

/* Reads the files of `count` run folders. Runs in sweeps are called "SETTING/seed-1", others by their folder.
 * Everything is in the arena. Errors: INVALID_CONFIG for a folder without config.yaml or history.json; INVALID_DATA. */
liana_status liana__run_files_read(const char *const *folders, size_t count, liana__arena *arena,
                                   liana__run_files **runs, liana__error *error) LIANA_MUST_USE;

/* A number of epoch `index`; NaN: missing. */
double liana__run_files_number(const liana__value *epochs, size_t index, const char *key);

/* The keys of the epochs of all runs that are measures of training: "loss", "accuracy" (the validation's are these with
 * val_ before them), in the order of the first run. *keys is in the arena. Errors: OUT_OF_MEMORY. */
liana_status liana__run_files_measures(const liana__run_files *runs, size_t count, liana__arena *arena,
                                       const char *const **keys, size_t *num_keys, liana__error *error) LIANA_MUST_USE;

/* ---- run plot ---- */

enum { LIANA__PLOT_MOST_RUNS = LIANA__FIGURE_INKS };

/* Draws a panel for each measure, as the runs' histories have them, and one for the learning rate. Of two runs the
 * first is dashed and the second solid, and colours are training and validation; of any other number colours are runs,
 * training is dashed and validation solid. The last values of shorter runs are drawn on to the end of the longest.
 * `measures`: those to draw, "learning_rate" among them; num_measures 0: all. Errors: INVALID_CONFIG for a measure that
 * no run has, with the nearest name; those of liana__figure_write. */
liana_status liana__plot_runs(const liana__run_files *runs, size_t count, const char *const *measures,
                              size_t num_measures, const char *path, liana__arena *arena, liana__error *error)
    LIANA_MUST_USE;

/* The rate of each update, from 0. */
typedef struct liana__plotted_rate {
    const char *name;
    const double *updates, *rates; /* [count] */
    size_t count;
} liana__plotted_rate;

/* Draws schedules, up to LIANA__PLOT_MOST_RUNS. Errors: those of liana__figure_write. */
liana_status liana__plot_rates(const liana__plotted_rate *rates, size_t count, const char *path, liana__error *error)
    LIANA_MUST_USE;

#endif
