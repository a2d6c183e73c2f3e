/* shards.h - a folder of TFRecord shards with their classes.txt, which appear together or not at all.
 *
 * The files are FOLDER/PREFIXnn-COUNT.tfrec, or the same in FOLDER/train, FOLDER/val and FOLDER/test. COUNT is the
 * number of records. Everything is first written below FOLDER/.unfinished, and moved to its place at the end. So an
 * earlier run's files stay complete until the new ones are. After a failure, such as a full disk, nothing has changed.
 * (While both exist, they take the space of both.)
 *
 * A folder on gs:// or s3:// is first made on this machine, and sent at the end. There, classes.txt is removed first
 * and sent last, so a folder that has one is complete. */
#ifndef LIANA_DATA_SHARDS_H
#define LIANA_DATA_SHARDS_H

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "remote/outlet.h"

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
    liana__outlet *outlet; /* `folder` is its local folder; NULL: a local folder was named */
    bool replaces_names;   /* the bucket has a classes.txt */
    liana__arena arena;
} liana__shards;

/* Makes the folder if it is missing; it may be a URL. Refuses one that is not empty, unless `overwrite` is set: then
 * shards with this prefix and classes.txt will be replaced, and other files stay. `how` tells the user how to set it
 * ("--overwrite"). Folder and prefix must outlive the shards. After a failure there is nothing to abandon. Errors:
 * INVALID_CONFIG (not empty; a prefix with a '/'), IO_ERROR, NOT_FOUND, OUT_OF_MEMORY. */
liana_status liana__shards_begin(liana__shards *shards, const char *folder, const char *prefix, bool overwrite,
                                 const char *how, liana__error *error) LIANA_MUST_USE;

/* The path for shard `index` of `num_shards`, with `count` records, of a split (NULL: there are no splits). In the
 * shards' arena. */
liana_status liana__shards_path(liana__shards *shards, const char *split, size_t index, size_t num_shards, size_t count,
                                const char **path, liana__error *error) LIANA_MUST_USE;

/* Writes classes.txt, one name a line. */
liana_status liana__shards_class_names(liana__shards *shards, const liana__text *lines, liana__error *error)
    LIANA_MUST_USE;

/* Moves the new files to their places and removes those that they replace; classes.txt comes last, so a folder that has
 * one is complete. If this fails, abandon the shards. */
liana_status liana__shards_commit(liana__shards *shards, liana__error *error) LIANA_MUST_USE;

/* Removes the written files, and the folder if it was made for them. */
void liana__shards_abandon(liana__shards *shards);

#endif
