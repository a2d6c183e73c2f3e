/* checkpoint.h - the state of a run on disk, complete or not there.
 *
 * A checkpoint is a folder `step-00000123` in the run's `checkpoints` folder with `variables.safetensors` (weights and
 * optimizer slots) and `state.json` (where the run is, the sums of the running epoch, the history). It is written under
 * another name, synced and renamed, so that a power cut leaves it whole or leaves none. */
#ifndef LIANA_TRAIN_CHECKPOINT_H
#define LIANA_TRAIN_CHECKPOINT_H

#include "backends/variables.h"
#include "base/file.h"
#include "train/core/training_state.h"

/* Writes a checkpoint for state->iteration and removes all but the newest `keep` (0: keeps all). */
liana_status liana__checkpoint_save(const char *folder, const liana__variables *variables,
                                    const liana__training_state *state, size_t num_metrics, int64_t keep,
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
                                    liana__training_state *state, liana__error *error) LIANA_MUST_USE;

#endif
