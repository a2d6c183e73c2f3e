/* weights.h - loads a model's weights from a file, by layer name. */
#ifndef LIANA_TRAIN_WEIGHTS_H
#define LIANA_TRAIN_WEIGHTS_H

#include "layers/model.h"
#include "train/checkpoint/weight_source.h"

typedef struct liana__weights_report {
    size_t num_layers; /* loaded */
    size_t num_weights;
    liana__strings missing; /* layers of the model with weights that are not in the file */
    liana__strings unused;  /* layers of the file that the model does not have */
    const char *note;       /* what the file leaves open, in a sentence; else NULL */
} liana__weights_report;

/* Reads a Keras HDF5 file (.h5: of weights, or of a whole model, also if its layers are in a model inside the model) or
 * a safetensors file ("layer/weight" as in liana's checkpoints; or PyTorch's names and layouts) or a TensorFlow
 * checkpoint. The path may be a URL. The first bytes tell the
 * format.
 *
 * Layers are matched by name. Within a layer, HDF5 weights are matched by their order (their names differ between
 * versions of Keras), and safetensors by name. values[w] has room for weight w of the model; if the layer is missing,
 * it is not changed. The first `num_required` layers of the model must be in the file, so that a backbone is never half
 * loaded; later ones (a new head) may be missing. No layer may differ in the number or shape of its weights. At least
 * one must be found.
 *
 * Errors: those of opening the file; INVALID_DATA with the missing layers, and the shapes found and expected, or for a
 * value that is not finite; UNIMPLEMENTED for a file of Keras's Theano backend, whose kernels are flipped. After an
 * error the values are undefined. `report` may be NULL; its strings are in the arena. */
liana_status liana__weights_load(const liana_model *model, const char *path, size_t num_required, float *const *values,
                                 liana__arena *arena, liana__weights_report *report, liana__error *error)
    LIANA_MUST_USE;

/* Reads a weight of the source for one of the model that has its shape. Errors: those of reading; INVALID_DATA for a
 * value that is not finite. */
liana_status liana__weights_read_one(const liana__weight_source *source, const liana__source_weight *from,
                                     const liana_model *model, const liana__weight *weight, float *values,
                                     liana__error *error) LIANA_MUST_USE;

#endif
