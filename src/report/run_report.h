/* run_report.h - the pictures of a run: its predictions for images that it was not trained on, and its training
 * curves. */
#ifndef LIANA_REPORT_RUN_REPORT_H
#define LIANA_REPORT_RUN_REPORT_H

#include "train/run/run.h"

/* Draws up to 24 validation images, chosen evenly from all of them, with the model's predictions (.png or .svg). The
 * run is open with its validation data, and a checkpoint is loaded. Errors: those of the data, the model and
 * liana__grid_write. */
liana_status liana__report_predictions(liana__run *run, const char *path, liana__error *error) LIANA_MUST_USE;

/* Draws loss and metrics of a run folder's history.json, by epoch. `arena` is for the file's values. Errors: NOT_FOUND,
 * INVALID_DATA (with the history's path), and those of liana__curves_write. */
liana_status liana__report_curves(const char *history_path, const char *path, liana__arena *arena, liana__error *error)
    LIANA_MUST_USE;

#endif
