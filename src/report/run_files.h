/* run_files.h - the files of a run folder: its settings, its history, its times. */
#ifndef LIANA_REPORT_RUN_FILES_H
#define LIANA_REPORT_RUN_FILES_H

#include "base/error.h"
#include "base/value.h"

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

/* A number of epoch `index`; NaN: there is none. */
double liana__run_files_number(const liana__value *epochs, size_t index, const char *key);

/* The keys of the epochs of all runs that are measures of training: "loss", "accuracy" (the validation's are these with
 * val_ before them), in the order of the first run. *keys is in the arena. Errors: OUT_OF_MEMORY. */
liana_status liana__run_files_measures(const liana__run_files *runs, size_t count, liana__arena *arena,
                                       const char *const **keys, size_t *num_keys, liana__error *error) LIANA_MUST_USE;

#endif
