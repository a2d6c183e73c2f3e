/* checkpoint.h - checkpoints: the state of a run on disk, complete or not there.
 *
 * A checkpoint is a folder `step-00000123` in the run's `checkpoints` folder. It has `variables.safetensors` (weights
 * and optimizer slots) and `state.json` (the position of the run, the sums of the running epoch, the history). It is
 * written under another name, synced and renamed. So after a power cut it is complete, or not there. */
#ifndef LIANA_TRAIN_CHECKPOINT_H
#define LIANA_TRAIN_CHECKPOINT_H

#include "backends/variables.h"
#include "base/file.h"
#include "train/core/training_state.h"

/* Writes a checkpoint for state->iteration (if a callback changed weights since that update, "-changed" is behind the
 * number), and removes all but the newest `keep` ones (0: keeps all). */
liana_status liana__checkpoint_save(const char *folder, const liana__variables *variables,
                                    const liana__training_state *state, int64_t keep, liana__error *error)
    LIANA_MUST_USE;

/* The path of the newest checkpoint in a folder, in the arena; NULL: there is none, or no folder. */
liana_status liana__checkpoint_newest(const char *folder, liana__arena *arena, const char **path, liana__error *error)
    LIANA_MUST_USE;

/* The paths of all checkpoints, oldest first. */
liana_status liana__checkpoint_list(const char *folder, liana__arena *arena, liana__paths *paths, liana__error *error)
    LIANA_MUST_USE;

/* The names of a checkpoint's files. */
extern const char *const liana__checkpoint_variables;
extern const char *const liana__checkpoint_state;
/* Whether a name is that of a checkpoint ("step-0000000123"). */
bool liana__checkpoint_is_name(const char *name);

/* Renames a damaged checkpoint to its name and ".damaged". So it is no longer the newest. */
liana_status liana__checkpoint_set_aside(const char *path, liana__error *error) LIANA_MUST_USE;

/* The precision of the newest readable checkpoint in a folder, in the arena; NULL: there is none. */
const char *liana__checkpoint_precision(const char *folder, liana__arena *arena);

/* The same for recompute_memory; -1: there is none, or an older liana wrote it. */
int64_t liana__checkpoint_recompute_memory(const char *folder, liana__arena *arena);

/* The stage of a checkpoint, from 0 (train/core/training_stages.h); -1: it cannot be read. */
int64_t liana__checkpoint_stage(const char *path);

/* Loads a checkpoint into variables of the same names and types. `state` may be NULL: then only the variables are
 * loaded, and stored variables that `variables` lacks are skipped (optimizer slots, when a model only predicts).
 * Errors, with the file and the tensor: DATA_LOSS for any damage (a missing, truncated or changed file, found by its
 * checksum), before any variable is written; INVALID_DATA (of another model or version). */
liana_status liana__checkpoint_load(const char *path, liana__variables *variables, liana__training_state *state,
                                    liana__error *error) LIANA_MUST_USE;

#endif
