/* temporary.h - folders that a process needs while it runs. One that is killed cannot remove its own folder: so names
 * have the process, and the maker of the next one removes those of processes that have ended. */
#ifndef LIANA_TRAIN_TEMPORARY_H
#define LIANA_TRAIN_TEMPORARY_H

#include "base/error.h"
#include "base/memory.h"

enum { LIANA__TEMPORARY = 512 };

/* TMPDIR or /tmp. */
const char *liana__temporary_parent(void);
/* Makes a folder for this user alone, and removes folders that were left behind. `path` is empty after an error.
 * Errors: IO_ERROR. */
liana_status liana__temporary_make(const char *parent, char path[LIANA__TEMPORARY], liana__error *error) LIANA_MUST_USE;
/* The same in TMPDIR or /tmp. *path is in the arena. Errors: OUT_OF_MEMORY, too. */
liana_status liana__temporary_folder(liana__arena *arena, const char **path, liana__error *error) LIANA_MUST_USE;
/* Removes this user's folders of processes of this machine that have ended. */
void liana__temporary_sweep(const char *parent);

/* ---- folder name ---- */

/* Names of folders that look like files of a format that liana does not write. */

/* Refuses "model.h5", "model.keras", "model.onnx" and the like as the name of a folder: somebody expects a file of that
 * format. `written`: the files that would be written there, "a folder with model.json and weights.safetensors". Errors:
 * UNIMPLEMENTED. */
liana_status liana__folder_name_check(const char *folder, const char *written, liana__error *error) LIANA_MUST_USE;

#endif
