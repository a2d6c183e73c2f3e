/* version_scan.h - what lies in the folders of models: versions, whether they are whole, whether they have changed. */
#ifndef LIANA_SERVE_PREDICT_VERSION_SCAN_H
#define LIANA_SERVE_PREDICT_VERSION_SCAN_H

#include "base/file.h"

typedef struct liana__version_found {
    int64_t number;
    const char *path;
    uint64_t stamp; /* another one: its files were changed */
} liana__version_found;

/* The versions of a model, the newest first: folders that are called 1, 2, ... in `folder`; or `folder` itself, which
 * may also be a file: version 1, or the number that it is called. All in the arena. *count 0: there is none. */
liana_status liana__versions_find(const char *folder, liana__arena *arena, liana__version_found **found, size_t *count,
                                  liana__error *error) LIANA_MUST_USE;
/* Whether `folder` holds versions, and whether it is a model itself. */
bool liana__has_versions(const char *folder);
bool liana__is_model_place(const char *path);
/* The state of a version's files. 0: it is gone. */
uint64_t liana__version_stamp(const char *path);
/* Whether all files are there. With a SHA256SUMS, each file must have its sum. Errors: UNAVAILABLE (files are missing
 * or unlike their sums: they may still be copied), IO_ERROR. */
liana_status liana__version_check(const char *path, liana__error *error) LIANA_MUST_USE;

#endif
