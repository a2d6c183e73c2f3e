/* resume.h - a training goes on from the newest checkpoint of a folder that is whole. */
#ifndef LIANA_TRAIN_RESUME_H
#define LIANA_TRAIN_RESUME_H

#include "train/checkpoint/checkpoint.h"
#include "train/training/training.h"

/* Loads variables and state; *path (in the arena) is NULL if there is no checkpoint at all. Damaged ones are set aside,
 * not trusted and not removed, once it is known that an older one is whole: the updates after it are trained again.
 * `newer`: a checkpoint of another place that comes after all of them; NULL: missing. Errors: those of
 * liana__checkpoint_load; DATA_LOSS if none is whole. */
liana_status liana__checkpoint_resume(const char *folder, const char *newer, liana__training *training,
                                      const liana__notes *notes, liana__arena *arena, const char **path,
                                      liana__error *error) LIANA_MUST_USE;

/* Loads the checkpoint at `path`, and sets aside newer ones in `folder` (with the ending ".rewound"), if it lies there.
 * Errors: those of liana__checkpoint_load; INVALID_CONFIG if it lies elsewhere, and the folder has checkpoints. */
liana_status liana__checkpoint_resume_from(const char *folder, const char *path, liana__training *training,
                                           const liana__notes *notes, liana__arena *arena, liana__error *error)
    LIANA_MUST_USE;

/* ---- shared checkpoint ---- */

/* The chief's checkpoints, on all processes of a cluster: only the chief reaches the folder. */

/* All processes get a checkpoint that process `from` has at *path (NULL: missing). On the others *path becomes
 * that of a copy, in a new folder of TMPDIR, which liana__checkpoint_unshare removes. All name the same process.
 * Errors: those of files and of the cluster; UNAVAILABLE on all if that process dies. */
liana_status liana__checkpoint_share(liana__cluster *cluster, size_t from, liana__arena *arena, const char **path,
                                     liana__error *error) LIANA_MUST_USE;
void liana__checkpoint_unshare(const liana__cluster *cluster, size_t from, const char *path);

/* Whether liana__checkpoint_load would find the checkpoint whole. Nothing is changed. */
liana_status liana__checkpoint_verify(const char *path, const liana__value *matches, liana__error *error)
    LIANA_MUST_USE;

/* The settings that a training takes over from its newest checkpoint before it is compiled. */
typedef struct liana__recorded {
    char precision[16];       /* "": there is no checkpoint */
    int64_t recompute_memory; /* -1: none is recorded */
} liana__recorded;

/* Reads it from a folder (NULL: missing); of a cluster, the chief's. `cluster` NULL: this process is alone. */
liana_status liana__checkpoint_recorded(const char *folder, liana__cluster *cluster, liana__arena *arena,
                                        liana__recorded *recorded, liana__error *error) LIANA_MUST_USE;

#endif
