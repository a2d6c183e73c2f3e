/* checkpoint.h - checkpoints: the state of a run on disk, complete or not there.
 *
 * A checkpoint is a folder `step-00000123` in the run's `checkpoints` folder. It has `variables.safetensors` (weights
 * and optimizer slots) and `state.json` (the position of the run, the sums of the running epoch, the history). It is
 * written under another name, synced and renamed. So after a power cut it is complete, or not there. */
#ifndef LIANA_TRAIN_CHECKPOINT_H
#define LIANA_TRAIN_CHECKPOINT_H

#include "base/file.h"
#include "base/value.h"
#include "train/training/training_state.h"

/* Writes a checkpoint for state->iteration (if a callback changed weights since that update, "-changed" is behind the
 * number), and removes all but the newest `keep` ones (0: keeps all), the best one (state->best_checkpoint) and those
 * that are kept for good. */
liana_status liana__checkpoint_save(const char *folder, const liana__variables *variables,
                                    const liana__training_state *state, int64_t keep, liana__error *error)
    LIANA_MUST_USE;

/* Removes all but the newest `keep` ones, the best one and those that are kept for good, as a save does. */
liana_status liana__checkpoints_remove_old(const char *folder, const liana__training_state *state, int64_t keep,
                                           liana__error *error) LIANA_MUST_USE;

/* Removes unfinished saves of processes that have ended. For the holder of the folder, before its first save. */
liana_status liana__checkpoints_remove_unfinished(const char *folder, liana__error *error) LIANA_MUST_USE;

/* The path of the newest checkpoint in a folder, in the arena; NULL: missing, or no folder. */
liana_status liana__checkpoint_newest(const char *folder, liana__arena *arena, const char **path, liana__error *error)
    LIANA_MUST_USE;

/* The name of the checkpoint that the state as it is now is saved as. */
enum { LIANA__CHECKPOINT_NAME = 64 };
void liana__checkpoint_name(const liana__training_state *state, char name[LIANA__CHECKPOINT_NAME]);

/* A checkpoint that a user named: "best" (the one that checkpoint.best chose), a name in the folder, or a path to any.
 * *path is in the arena. Errors: NOT_FOUND, with the names that there are. */
liana_status liana__checkpoint_find(const char *folder, const char *wanted, liana__arena *arena, const char **path,
                                    liana__error *error) LIANA_MUST_USE;

/* The name of the checkpoint that the run keeps as its best one (checkpoint.best), as its newest one says, in the
 * arena; NULL: none. Whether it is still there is not checked. */
const char *liana__checkpoint_best(const char *folder, liana__arena *arena);

/* The paths of all checkpoints, oldest first. */
liana_status liana__checkpoint_list(const char *folder, liana__arena *arena, liana__paths *paths, liana__error *error)
    LIANA_MUST_USE;

/* The names of a checkpoint's files. */
extern const char *const liana__checkpoint_variables;
extern const char *const liana__checkpoint_state;

/* Renames a checkpoint to its name and `ending`, such as ".damaged". So it is no longer the newest. */
liana_status liana__checkpoint_set_aside(const char *path, const char *ending, liana__error *error) LIANA_MUST_USE;

/* The precision of the newest readable checkpoint in a folder, in the arena; NULL: missing. */
const char *liana__checkpoint_precision(const char *folder, liana__arena *arena);

/* The same for recompute_memory; -1: missing, or an older liana wrote it. */
int64_t liana__checkpoint_recompute_memory(const char *folder, liana__arena *arena);

/* The stage of a checkpoint, from 0 (train/training/training_stages.h); -1: it cannot be read. */
int64_t liana__checkpoint_stage(const char *path);

/* Where a training was when it was saved. */
typedef struct liana__checkpoint_place {
    int64_t iteration; /* updates in all */
    int64_t epoch;     /* whole epochs of its fit */
    int64_t step;      /* updates in the epoch that was running */
} liana__checkpoint_place;

/* Errors: DATA_LOSS if state.json cannot be read. */
liana_status liana__checkpoint_read_place(const char *path, liana__checkpoint_place *place, liana__error *error)
    LIANA_MUST_USE;

/* Whether the variables of a checkpoint are those that its state recorded. The two files need not lie in one folder.
 * Errors, with the file: DATA_LOSS (damaged, also the state), INVALID_DATA (of a newer version), OUT_OF_MEMORY. */
liana_status liana__checkpoint_check(const char *state_path, const char *variables_path, liana__error *error)
    LIANA_MUST_USE;

/* Whether a checkpoint is of the training with these settings. Errors: DATA_LOSS. */
liana_status liana__checkpoint_matches(const char *path, const liana__value *matches, liana__error *error)
    LIANA_MUST_USE;

/* Loads a checkpoint into variables of the same names and types. `state` may be NULL: then only the variables are
 * loaded, and stored variables that `variables` lacks are skipped (optimizer slots, when a model only predicts).
 * Errors, with the file and the tensor: DATA_LOSS for any damage (a missing, truncated or changed file, found by its
 * checksum, or something else in its place), for a checkpoint under another one's name, and for one of another training
 * (state->matches), before any variable is written; INVALID_DATA (of another model or version). */
liana_status liana__checkpoint_load(const char *path, liana__variables *variables, liana__training_state *state,
                                    liana__error *error) LIANA_MUST_USE;

/* ---- belongs ---- */

/* Whether a checkpoint is the one that its name says, and of the training that is to go on from it. */

/* Whether a name is that of a checkpoint ("step-0000000123"). */
bool liana__checkpoint_is_name(const char *name);

/* The folder at `path` must have the name that its state (state.json) records, unless it has a name of its own, such as
 * "best-of-may". Errors: DATA_LOSS, with both names. */
liana_status liana__checkpoint_check_name(const char *path, const liana__value *state, liana__error *error)
    LIANA_MUST_USE;

/* Each setting that the state records must equal that of `matches` (NULL: any). A setting that only one of them knows
 * is of a liana of another version. Errors: DATA_LOSS, with the first setting that differs. */
liana_status liana__checkpoint_check_settings(const char *path, const liana__value *state, const liana__value *matches,
                                              liana__error *error) LIANA_MUST_USE;

/* The settings of a training that has no configuration: its seed. They are in the arena. Errors: OUT_OF_MEMORY. */
liana_status liana__checkpoint_note_seed(liana__training_state *state, uint64_t seed, liana__arena *arena,
                                         liana__error *error) LIANA_MUST_USE;

/* ---- checkpoint format ---- */

/* The common part of writing and reading checkpoints. */

#define LIANA__CHECKPOINT_PREFIX "step-"
#define LIANA__CHECKPOINT_CHANGED "-changed"     /* behind the number: a callback changed weights after the update */
#define LIANA__CHECKPOINT_CALLBACKS "callbacks/" /* before the names of their arrays */
#define LIANA__CHECKPOINT_CHECKSUM "crc32c"
enum { LIANA__CHECKPOINT_VERSION = 1 };

/* The checksum of the state, written without the checksum itself. Writing is deterministic: a state that was read is
 * written in the same way. False: out of memory. */
bool liana__checkpoint_checksum(const liana__value *state, uint32_t *checksum);

/* Whether a checkpoint is whole as far as its state.json tells, and of this place in a training. */
bool liana__checkpoint_is_at(const char *path, int64_t epoch, int64_t step, bool ended);

#endif
