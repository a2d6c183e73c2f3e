/* folder_name.h - names of folders that look like files of a format that liana does not write. */
#ifndef LIANA_TRAIN_FOLDER_NAME_H
#define LIANA_TRAIN_FOLDER_NAME_H

#include "base/error.h"

/* Refuses "model.h5", "model.keras", "model.onnx" and the like as the name of a folder: somebody expects a file of that
 * format. `written`: the files that would be written there, "a folder with model.json and weights.safetensors". Errors:
 * UNIMPLEMENTED. */
liana_status liana__folder_name_check(const char *folder, const char *written, liana__error *error) LIANA_MUST_USE;

#endif
