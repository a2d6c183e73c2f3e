/* bundle.h - incidents as folders, for `liana replay`. A folder has graph.bin (ir/graph_file.h), tensors.safetensors
 * ("inputs/NAME" and "variables/NAME"), report.json (version, facts, finding, checksum of the tensors) and report.txt,
 * for people. It is written under another name, synced and renamed. */
#ifndef LIANA_TRAIN_BUNDLE_H
#define LIANA_TRAIN_BUNDLE_H

#include "data/loader/loader.h"
#include "step/incident.h"
#include "train/training/training.h"

/* The newest version, which is written. */
enum { LIANA__BUNDLE_VERSION = 1 };

/* The most bundles of one folder; then no more are written. */
enum { LIANA__MOST_BUNDLES = 8 };

/* Writes an examined incident to `folder`/bad-numbers-UPDATE, or -2, -3, ... behind it if there is one. *path, in the
 * incident's arena, is that folder; NULL: there are MOST_BUNDLES already. Errors: IO_ERROR, OUT_OF_MEMORY. */
liana_status liana__bundle_write(liana__incident *incident, const char *folder, const char **path, liana__error *error)
    LIANA_MUST_USE;

/* Reads one; `recorded` receives the finding of the report, in the incident's arena, and the incident has none. Free it
 * in any case. Errors, with the file: NOT_FOUND, IO_ERROR, DATA_LOSS (damaged), INVALID_DATA (no bundle, or of a newer
 * version), OUT_OF_RANGE (a file that claims to be larger than is read), UNIMPLEMENTED (a dtype of safetensors that
 * liana does not have), OUT_OF_MEMORY. */
liana_status liana__bundle_read(liana_context *context, const char *path, liana__incident *incident,
                                const liana__value **recorded, liana__error *error) LIANA_MUST_USE;

/* ---- incident report ---- */

/* The findings about a step of a training, for people. */

/* Facts and finding as a text of several lines. Running out of memory leaves it empty. */
void liana__incident_report(const liana__incident *incident, liana__text *text);

/* ---- collect ---- */

/* Makes an incident of a training's step whose numbers went bad. */

/* The step. */
typedef struct liana__bad_step {
    const liana__training *training;
    const liana__batch *batch;
    int64_t epoch, step, update; /* from 1; updates in all, those that were taken back among them */
    int64_t applied;             /* the update's number for the optimizer */
    double learning_rate;
    bool of_validation;   /* the batch is one of a validation, and `step` counts those */
    bool masked;          /* training shards are those of devices with static shapes */
    const double *losses; /* of the last good updates, the newest last */
    size_t num_losses;
    const liana__source *source; /* of the examples; NULL: positions are all that is known */
    /* The value of a variable before the update, for FAULT_UPDATE: host data by the variable's index; NULL: as it is on
     * the device. */
    const void *(*before)(const void *user, size_t variable);
    const void *user;
} liana__bad_step;

/* As liana__rerun_find, with all that the training knows. */
liana_status liana__incident_collect(const liana__bad_step *step, const liana__fault *fault, liana__incident *incident,
                                     liana__error *error) LIANA_MUST_USE;

/* As liana__rerun_shard; `step` has a training and a batch. */
liana_status liana__incident_of_shard(const liana__bad_step *step, const liana__leaf_batch *shards, size_t number,
                                      liana__incident *incident, liana__error *error) LIANA_MUST_USE;

#endif
