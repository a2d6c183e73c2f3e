/* shared_checkpoint.h - the chief's checkpoints, on all processes of a cluster: only the chief reaches the folder. */
#ifndef LIANA_TRAIN_SHARED_CHECKPOINT_H
#define LIANA_TRAIN_SHARED_CHECKPOINT_H

#include "train/training/training.h"

/* All processes get a checkpoint that process `from` has at *path (NULL: there is none). On the others *path becomes
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

/* Reads it from a folder (NULL: there is none); of a cluster, the chief's. `cluster` NULL: this process is alone. */
liana_status liana__checkpoint_recorded(const char *folder, liana__cluster *cluster, liana__arena *arena,
                                        liana__recorded *recorded, liana__error *error) LIANA_MUST_USE;

#endif
