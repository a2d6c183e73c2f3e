/* run_plot.h - figures of several runs: their measures by epoch, and learning-rate schedules by update. */
#ifndef LIANA_REPORT_RUN_PLOT_H
#define LIANA_REPORT_RUN_PLOT_H

#include "report/pictures.h"
#include "report/run_files.h"

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
