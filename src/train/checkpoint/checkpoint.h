/* checkpoint.h - the state of a run on disk, complete or not there.
 *
 * A checkpoint is a folder `step-00000123` in the run's `checkpoints` folder with `variables.safetensors` (weights and
 * optimizer slots) and `state.json` (where the run is, the sums of the running epoch, the history). It is written under
 * another name, synced and renamed, so that a power cut leaves it whole or leaves none. */
#ifndef LIANA_TRAIN_CHECKPOINT_H
#define LIANA_TRAIN_CHECKPOINT_H

#include "base/file.h"
#include "train/checkpoint/data_state.h"
#include "train/checkpoint/history.h"
#include "train/core/variables.h"

/* Where a run is: what it needs to go on, beside the variables. */
typedef struct liana__run_state {
    int64_t epoch;         /* from 0: the one that is running, or is to begin */
    int64_t step;          /* updates done in it */
    int64_t iteration;     /* updates done in all */
    liana__totals running; /* of the running epoch */
    liana__history history;
    /* The instruction set of the run that saved it, once it is loaded. Another one rounds differently. */
    char isa[32];
    int64_t recompute_memory; /* the MiB for whose sake parts are computed twice; 0: none are */
    liana__data_state *data;  /* that it is trained on, which a checkpoint that is loaded must be of; NULL: any */
    char precision[16]; /* what it was trained in, as configurations spell it; float32 where nothing is recorded */
} liana__run_state;

/* Writes a checkpoint for state->iteration and removes all but the newest `keep` (0: keeps all). */
liana_status liana__checkpoint_save(const char *folder, const liana__variables *variables,
                                    const liana__run_state *state, size_t num_metrics, int64_t keep,
                                    liana__error *error) LIANA_MUST_USE;

/* The path of the newest checkpoint in a folder, in the arena; NULL if there is none (or no folder). */
liana_status liana__checkpoint_newest(const char *folder, liana__arena *arena, const char **path, liana__error *error)
    LIANA_MUST_USE;

/* The paths of all of them, oldest first. */
liana_status liana__checkpoint_list(const char *folder, liana__arena *arena, liana__paths *paths, liana__error *error)
    LIANA_MUST_USE;

/* Renames a damaged checkpoint, to its name and ".damaged", so that it is the newest no longer. */
liana_status liana__checkpoint_set_aside(const char *path, liana__error *error) LIANA_MUST_USE;

/* The precision that the newest checkpoint of a folder which can be read was trained in, in the arena; NULL if there is
 * none. */
const char *liana__checkpoint_precision(const char *folder, liana__arena *arena);

/* The same of recompute_memory; -1 if there is none, or it was written by an older liana. */
int64_t liana__checkpoint_recompute_memory(const char *folder, liana__arena *arena);

/* Loads a checkpoint into variables of the same names and types. Errors: DATA_LOSS for any damage (a file that is
 * missing, cut short or changed, by its checksum), before any variable is written; INVALID_DATA (another model's, or
 * another version's). They name the file and the tensor. `state` may be NULL, to load the variables only; variables
 * that `variables` lacks are then skipped (optimizer slots, when a model only predicts). */
liana_status liana__checkpoint_load(const char *path, liana__variables *variables, size_t num_metrics,
                                    liana__run_state *state, liana__error *error) LIANA_MUST_USE;

#endif
