/* outlet_scan.h - the files of an outlet's local folder, in the order in which they are sent. */
#ifndef LIANA_REMOTE_OUTLET_SCAN_H
#define LIANA_REMOTE_OUTLET_SCAN_H

#include "base/error.h"
#include "base/memory.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* A file that was replaced or has grown has another one. */
typedef struct liana__outlet_identity {
    uint64_t inode;
    int64_t seconds; /* the last change */
    int64_t nanoseconds;
    int64_t size;
} liana__outlet_identity;

/* False, and errno: the file cannot be asked. */
bool liana__outlet_identify(int descriptor, liana__outlet_identity *identity);

typedef struct liana__outlet_file {
    const char *name; /* below the folder: "checkpoints/step-1/state.json" */
    liana__outlet_identity identity;
    bool is_last; /* of its folder */
} liana__outlet_file;

/* `items` is malloc'ed; names are in the arena. */
typedef struct liana__outlet_files {
    liana__outlet_file *items;
    size_t count;
    size_t capacity;
} liana__outlet_files;

static inline void liana__outlet_files_free(liana__outlet_files *files)
{
    free(files->items);
}

/* Finds all files, in the order of sending: those of the folder itself, then those of each folder below it, the last
 * name first (the newest checkpoint). A file with the name `last` (may be NULL) comes after all others of its folder;
 * in the folder itself, after everything. Files below are looked for first, so a checkpoint that is found is never
 * newer than the lists next to it. Errors: IO_ERROR, OUT_OF_MEMORY. */
liana_status liana__outlet_scan(const char *folder, const char *last, liana__arena *arena, liana__outlet_files *files,
                                liana__error *error) LIANA_MUST_USE;

/* NULL: there is no such file. */
const liana__outlet_file *liana__outlet_find(const liana__outlet_files *files, const char *name);
/* Whether two files are in the same folder, and are sent together. */
bool liana__outlet_same_folder(const liana__outlet_file *a, const liana__outlet_file *b);

#endif
