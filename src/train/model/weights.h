/* weights.h - a model's weights from a file, by layer name. */
#ifndef LIANA_TRAIN_WEIGHTS_H
#define LIANA_TRAIN_WEIGHTS_H

#include "layers/model.h"

typedef struct liana__weights_report {
    size_t num_layers; /* loaded */
    size_t num_weights;
    liana__strings missing; /* layers of the model that have weights but are not in the file */
    liana__strings unused;  /* layers of the file that the model does not have */
} liana__weights_report;

/* Reads (also by URL) a Keras HDF5 file (.h5: of weights, or of a whole model, also where the layers lie in a model
 * within the model) or a safetensors file ("layer/weight" as in liana's checkpoints); which of the two, the first bytes
 * say. Layers are matched by name; within a layer, HDF5 weights by their order (the names differ between versions of
 * Keras) and safetensors by name. values[w] has room for weight w of the model and is left as it is where the layer is
 * missing.
 *
 * The first `num_required` layers of the model must be in the file (so that a backbone is never left half loaded);
 * later ones (a new head) may be missing. No layer may differ in number or shape of weights, and at least one must be
 * found.
 *
 * Errors: those of opening the file; INVALID_DATA with the layers that are missing, and the shapes found and expected,
 * or for a value that is not finite; UNIMPLEMENTED for a file of Keras's Theano backend, whose kernels are flipped. The
 * values are undefined after an error. `report` may be NULL; its strings live in the arena. */
liana_status liana__weights_load(const liana_model *model, const char *path, size_t num_required, float *const *values,
                                 liana__arena *arena, liana__weights_report *report, liana__error *error)
    LIANA_MUST_USE;

#endif
