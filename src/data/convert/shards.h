/* shards.h - a folder of TFRecord shards and their classes.txt, which appear together or not at all.
 *
 * FOLDER/PREFIXnn-COUNT.tfrec, or the same in FOLDER/train, FOLDER/val and FOLDER/test; the number of records is in
 * each name. Everything is written below FOLDER/.unfinished first and moved to its place at the end, so what an earlier
 * run left there stays whole until the new files are: after a failure, on a full disk for instance, nothing has
 * changed. (While both are there they take the room of both.) */
#ifndef LIANA_DATA_SHARDS_H
#define LIANA_DATA_SHARDS_H

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>

/* The folders of the splits in their order: "train", "val", "test". */
enum { LIANA__NUM_SPLITS = 3 };
extern const char *const liana__split_folders[LIANA__NUM_SPLITS];

typedef struct liana__shards {
    const char *folder;
    const char *prefix;
    char *staging;
    bool made_folder;
    liana__arena arena;
} liana__shards;

/* Makes the folder, if it is missing, and refuses one that has anything in it unless `overwrite` is set: then shards of
 * this prefix and classes.txt will be replaced, and other files stay. `how` says how the user sets it ("--overwrite").
 * Folder and prefix must outlive the shards. After a failure there is nothing to abandon.
 * Errors: INVALID_CONFIG (not empty; a prefix with a '/'), IO_ERROR, NOT_FOUND, OUT_OF_MEMORY. */
liana_status liana__shards_begin(liana__shards *shards, const char *folder, const char *prefix, bool overwrite,
                                 const char *how, liana__error *error) LIANA_MUST_USE;

/* Where to write shard `index` of `num_shards`, with `count` records, of a split (NULL: there are no splits). In the
 * shards' arena. */
liana_status liana__shards_path(liana__shards *shards, const char *split, size_t index, size_t num_shards, size_t count,
                                const char **path, liana__error *error) LIANA_MUST_USE;

/* Writes classes.txt: lines of names. */
liana_status liana__shards_class_names(liana__shards *shards, const liana__text *lines, liana__error *error)
    LIANA_MUST_USE;

/* Moves the new files to their places and removes those they replace, classes.txt last: a folder that has one is whole.
 * Abandon the shards if it fails. */
liana_status liana__shards_commit(liana__shards *shards, liana__error *error) LIANA_MUST_USE;

/* Removes what was written, and the folder if it was made for it. */
void liana__shards_abandon(liana__shards *shards);

#endif
