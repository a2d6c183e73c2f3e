/* tfjs_folder.h - a layers model of TensorFlow.js: a folder with model.json and shards of weights. */
#ifndef LIANA_TRAIN_TFJS_FOLDER_H
#define LIANA_TRAIN_TFJS_FOLDER_H

#include "layers/model.h"

/* What stands in model.json beside the weights. */
typedef struct liana__tfjs_parts {
    liana__value *architecture;   /* in the form LIANA__TFJS */
    const liana__value *settings; /* the compile settings; NULL: none */
    const char *keras_version;
    const char *facts_key, *facts; /* liana's own facts */
} liana__tfjs_parts;

/* The length of the folder in a path: without '/' at its end, and without its own model.json ("web.tfjs/model.json", as
 * TensorFlow.js names a model). */
size_t liana__tfjs_folder_length(const char *path);

/* Writes the folder, or leaves what was there: a model with all values. Parts that TensorFlow.js cannot say were found
 * before (liana__model_check_keras). Errors: INVALID_ARGUMENT (a file is there, or a folder with other files),
 * IO_ERROR, OUT_OF_MEMORY. */
liana_status liana__tfjs_folder_write(const liana_model *model, const liana__tfjs_parts *parts, const char *path,
                                      liana__arena *arena, liana__error *error) LIANA_MUST_USE;

#endif
