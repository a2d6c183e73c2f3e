/* resume.h - a training goes on from the newest checkpoint of a folder that is whole. */
#ifndef LIANA_TRAIN_RESUME_H
#define LIANA_TRAIN_RESUME_H

#include "train/checkpoint/checkpoint.h"
#include "train/training/training.h"

/* Loads variables and state; *path (in the arena) is NULL if there is no checkpoint at all. Damaged ones are set aside,
 * not trusted and not removed, once it is known that an older one is whole: the updates after it are trained again.
 * `newer`: a checkpoint of another place that comes after all of them; NULL: there is none. Errors: those of
 * liana__checkpoint_load; DATA_LOSS if none is whole. */
liana_status liana__checkpoint_resume(const char *folder, const char *newer, liana__training *training,
                                      const liana__notes *notes, liana__arena *arena, const char **path,
                                      liana__error *error) LIANA_MUST_USE;

/* Loads the checkpoint at `path`, and sets aside newer ones in `folder` (with the ending ".rewound"), if it lies there.
 * Errors: those of liana__checkpoint_load; INVALID_CONFIG if it lies elsewhere, and the folder has checkpoints. */
liana_status liana__checkpoint_resume_from(const char *folder, const char *path, liana__training *training,
                                           const liana__notes *notes, liana__arena *arena, liana__error *error)
    LIANA_MUST_USE;

#endif
