/* model_file.h - a file of a model: JSON with the architecture, a whole model of Keras (`.keras`, `.h5`), or ONNX. */
#ifndef LIANA_TRAIN_MODEL_FILE_H
#define LIANA_TRAIN_MODEL_FILE_H

#include "layers/model.h"
#include "step/exchange.h"

/* ---- reading ---- */

/* A file without its weights. Everything is in the arena. */
typedef struct liana__model_file {
    const char *path;
    liana__value *architecture;   /* with its "keras_version", if the file says it anywhere */
    const liana__value *settings; /* the compile settings; NULL: none */
    const char *own;              /* liana's own facts, JSON; NULL: none */
    bool is_onnx;                 /* there is no architecture: liana__model_file_fill reads the file */
    bool has_weights;             /* it is a whole model: liana__weights_load reads them from the same file */
} liana__model_file;

/* Opens a file by its first bytes. `path` outlives it. Errors: those of reading it; INVALID_DATA (a file of weights
 * alone, or of another kind); UNIMPLEMENTED (a pickle, a SavedModel, a checkpoint). */
liana_status liana__model_file_open(const char *path, liana__arena *arena, liana__model_file *file, liana__error *error)
    LIANA_MUST_USE;

/* Adds the layers to an empty model. It also keeps the losses and metrics that Keras compiled the model with, and the
 * facts that liana_model_save writes. A loss or metric that liana does not have is told, and left out. Errors: those of
 * the layers, with the file and the layer. */
liana_status liana__model_file_fill(const liana__model_file *file, liana_model *model, const liana__notes *notes,
                                    liana__error *error) LIANA_MUST_USE;

/* ---- writing ---- */

/* Whether a name ends as that of a file that a model is written to: .keras, .h5, .hdf5, .weights.h5, .safetensors,
 * .json; .tfjs is a folder. */
bool liana__model_file_is_named(const char *path);
/* Writes such a file, whole or not at all: a model that was checked (liana__model_check_used), with all values. Compile
 * settings that Keras cannot say are told, and left out. In the form of Keras 2 only .h5, .hdf5 and .json are written.
 * Errors: UNIMPLEMENTED, with all layers that Keras cannot say, before anything is written; IO_ERROR, OUT_OF_MEMORY. */
liana_status liana__model_file_write(liana_model *model, const char *path, liana__keras_form in,
                                     const liana__notes *notes, liana__error *error) LIANA_MUST_USE;
/* Fails, since that name is of no form of Keras 2. */
liana_status liana__model_fail_older(const char *path, liana__error *error);
/* The weights and liana's own facts as safetensors. */
liana_status liana__model_weights_write(const liana_model *model, const char *path, liana__arena *arena,
                                        liana__error *error) LIANA_MUST_USE;

/* ---- files and folders ---- */

/* As liana_model_load and liana_model_save, for the model of a context that is in a call. */
liana_status liana__model_read_any(liana_model *model, const char *path, const liana__notes *notes, liana__arena *arena,
                                   liana__error *error) LIANA_MUST_USE;
liana_status liana__model_write_any(liana_model *model, const char *path, liana__keras_form in,
                                    const liana__notes *notes, liana__error *error) LIANA_MUST_USE;

#endif
