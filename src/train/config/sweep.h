/* sweep.h - a sweep: runs of one configuration with changes, each over several seeds; the contents of its YAML file.
 *
 * A sweep's folder has for each setting a folder, and in it for each seed: seed-N.yaml (the configuration), seed-N (the
 * run folder), seed-N.log (the training's output) and seed-N.done (it has ended well). The folder also has results.csv,
 * results.json and results.md (train/config/results.h). */
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

#endif
