/* belongs.h - whether a checkpoint is the one that its name says, and of the training that is to go on from it. */
#ifndef LIANA_TRAIN_CHECKPOINT_BELONGS_H
#define LIANA_TRAIN_CHECKPOINT_BELONGS_H

#include "train/training/training_state.h"

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

#endif
