/* remote_checkpoints.h - checkpoints in buckets: which are complete, and local copies of them.
 *
 * A checkpoint's state.json is sent after its variables and removed before them. So one that has both is complete. */
#ifndef LIANA_TRAIN_REMOTE_CHECKPOINTS_H
#define LIANA_TRAIN_REMOTE_CHECKPOINTS_H

#include "remote/outlet.h"
#include "train/checkpoint/checkpoint.h"

/* Which checkpoint is the newest. */
typedef enum liana__newest_checkpoint {
    LIANA__NEWEST_NONE,
    LIANA__NEWEST_FETCHED, /* one of the bucket, copied now */
    LIANA__NEWEST_LOCAL,   /* one of an interrupted run of this machine, perhaps unsent; all files there are as old */
} liana__newest_checkpoint;

/* Brings the newest complete checkpoints below `below` ("checkpoints/", or "") into the outlet's local folder: `keep`
 * of them, or 3 if `keep` is 0 (all are kept). `names` lists the bucket's folder. Local ones that are the bucket's, and
 * those that were not sent, stay. Incomplete ones, and with `keep` older ones, are removed from the bucket when the
 * next checkpoint is sent. */
liana_status liana__checkpoints_fetch(liana__outlet *outlet, const char *below, const liana__paths *names, int64_t keep,
                                      liana__newest_checkpoint *newest, liana__error *error) LIANA_MUST_USE;

/* The names of the complete checkpoints in such a list ("step-0000000012"), oldest first. In the arena. */
liana_status liana__checkpoints_complete(const liana__paths *names, const char *below, liana__arena *arena,
                                         liana__paths *complete, liana__error *error) LIANA_MUST_USE;

/* Makes a run folder on gs:// or s3:// a local one, in the view of `remote`: the files next to the checkpoints, and one
 * checkpoint. `checkpoint` is its name or "best", NULL for the newest, "" for none. *folder is in the arena. Errors:
 * NOT_FOUND (no run, no such checkpoint), INVALID_ARGUMENT (a web server), and those of liana__remote_resolve. */
liana_status liana__remote_run(liana__remote *remote, const char *url, const char *checkpoint, liana__arena *arena,
                               const char **folder, liana__error *error) LIANA_MUST_USE;

#endif
