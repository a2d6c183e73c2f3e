/* run_report.h - the pictures of a run: what it says of images that it did not learn from, and how it learnt. */
#ifndef LIANA_REPORT_RUN_REPORT_H
#define LIANA_REPORT_RUN_REPORT_H

#include "train/run/run.h"

/* Draws up to 24 validation images, taken evenly from all of them, with what the run's model says of each (.png or
 * .svg). The run is open with its validation data, a checkpoint is loaded. Errors: those of the data, the model and
 * liana__grid_write. */
liana_status liana__report_predictions(liana__run *run, const char *path, liana__error *error) LIANA_MUST_USE;

/* Draws loss and metrics of a run folder's history.json, epoch by epoch. `arena` is for what is read. Errors:
 * NOT_FOUND, INVALID_DATA (name the history), and those of liana__curves_write. */
liana_status liana__report_curves(const char *history_path, const char *path, liana__arena *arena, liana__error *error)
    LIANA_MUST_USE;

#endif
