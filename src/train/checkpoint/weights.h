/* weights.h - loads a model's weights from a file, by layer name. */
#ifndef LIANA_TRAIN_WEIGHTS_H
#define LIANA_TRAIN_WEIGHTS_H

#include "backends/variables.h"
#include "formats/hdf5.h"
#include "formats/safetensors.h"
#include "formats/tensorflow/tf_checkpoint.h"
#include "layers/model.h"
#include "train/checkpoint/optimizer_state.h"
#include "train/checkpoint/torch_names.h"

/* ---- weight source ---- */

/* A file of weights in any of the formats: layers with arrays, by name and order. */

typedef struct liana__source_weight {
    const char *short_name; /* without the layer: "kernel" */
    int rank;
    const int64_t *shape;
    const void *entry; /* the format's own record; NULL: the weight has these values */
    const float *values;
    bool is_transposed; /* its elements are in PyTorch's order */
} liana__source_weight;

typedef struct liana__source_layer {
    const char *name;
    const char *model; /* the file's layer, if that is a nested model to which this layer belongs; else NULL */
    const char *path;  /* Keras 3's layout: its place in the file, "layers/dense_1"; else NULL */
    const char *owner; /* the layer in the name of its first weight, which may be inside a nested model of one layer */
    liana__source_weight *weights;
    size_t num_weights;
} liana__source_layer;

typedef struct liana__weight_source {
    const char *path;
    bool by_name; /* weights are matched by their names, not by their order */
    liana__source_layer *layers;
    size_t num_layers;
    size_t *places; /* while layers are added: numbers of layers from 1, by the hashes of their names */
    size_t num_places;
    bool has_scopes;  /* TensorFlow's names may begin with scopes, or with the model ("sequential/dense/kernel") */
    bool has_modules; /* PyTorch's names and layouts */
    const liana__torch_network *network; /* of torchvision or timm, or NULL */
    const char *prefix;                  /* before the names of its tensors */
    bool is_known;                       /* the network is that and no other */
    /* One of them. */
    liana__hdf5 *hdf5;
    bool is_safetensors;
    liana__safetensors safetensors;
    liana__tf_checkpoint tensorflow;
    liana_context *onnx_context; /* of the model below */
    liana_model *onnx;           /* the model of an ONNX file, with its values; NULL: another format */
    liana__arena arena;
} liana__weight_source;

/* A weight of a file's layer by the order of the model's layer; in the layout of Keras 3 by its place in a held layer,
 * whose group need not stand where its weights do. */
const liana__source_weight *liana__source_weight_at(const liana__source_layer *layer, const liana__weight *weight,
                                                    size_t index);

/* Whether a layer of the file (NULL: no) has the weights and shapes of the model's. */
bool liana__source_layer_fits(const liana_model *model, const liana__layer *layer, const liana__source_layer *from);

/* Opens a source, in the format that the first bytes show: Keras HDF5 of any version, .keras, safetensors; or a
 * TensorFlow checkpoint; or an ONNX file (.onnx), whose layers have the names that liana__model_from_onnx gives them.
 * `path` must outlive the source.
 *
 * Keras 3 finds weights by the place of their layer among the layers of its class, not by names; older files keep no
 * names, and automatic names depend on what else a program made. If `model` is given, the layers at the places of the
 * model's layers get the model's names: if the file keeps no names; or if all shapes agree, and the names are not those
 * of the first num_required layers, or of some others at other places. NULL: the file's names stay. */
liana_status liana__weight_source_open(const char *path, const liana_model *model, size_t num_required,
                                       liana__weight_source *source, liana__error *error) LIANA_MUST_USE;
void liana__weight_source_close(liana__weight_source *source);
/* The layer of that name, or NULL. "encoder/dense" is also found as the layer "dense" of the file's nested model
 * "encoder", and "dense" in any nested model, if it is in one only. "conv1/conv" is also found as Keras 3's name of it,
 * "conv1_conv". In a TensorFlow checkpoint the name may be the end of a longer one, of one layer only. Of a network of
 * PyTorch it is the module that is Keras's layer. */
const liana__source_layer *liana__weight_source_find(const liana__weight_source *source, const char *layer);
/* The end of a message about missing layers: how the network of the file differs from Keras's of that name. */
typedef struct liana__difference_text {
    char text[512];
} liana__difference_text;
liana__difference_text liana__weight_source_difference(const liana__weight_source *source);
/* What the file leaves open, in a sentence; else NULL. */
const char *liana__weight_source_note(const liana__weight_source *source);
/* Reads one array as f32. */
liana_status liana__weight_source_read(const liana__weight_source *source, const liana__source_weight *weight,
                                       float *values, liana__error *error) LIANA_MUST_USE;

/* ---- weights ---- */

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
 * it is not changed. Without `values` (NULL) names and shapes are compared, and nothing is read. The first
 * `num_required` layers of the model must be in the file, so that a backbone is never half loaded; later ones (a new
 * head) may be missing. No layer may differ in the number or shape of its weights. At least one must be found.
 *
 * Errors: those of opening the file; INVALID_DATA with the missing layers, and the shapes found and expected, or for a
 * value that is not finite; UNIMPLEMENTED for a file of Keras's Theano backend, whose kernels are flipped. After an
 * error the values are undefined. `report` may be NULL; its strings are in the arena. */
liana_status liana__weights_load(const liana_model *model, const char *path, size_t num_required, float *const *values,
                                 liana__arena *arena, liana__weights_report *report, liana__error *error)
    LIANA_MUST_USE;

/* The same of a whole-model file on this machine, which the model was made from, with the state of its optimizer: begun
 * by liana__optimizer_state_create; NULL: it is not wanted. */
liana_status liana__weights_load_whole(const liana_model *model, const char *path, float *const *values,
                                       liana__optimizer_state *state, liana__arena *arena,
                                       liana__weights_report *report, liana__error *error) LIANA_MUST_USE;

/* Reads a weight of the source for one of the model that has its shape. Errors: those of reading; INVALID_DATA for a
 * value that is not finite. */
liana_status liana__weights_read_one(const liana__weight_source *source, const liana__source_weight *from,
                                     const liana_model *model, const liana__weight *weight, float *values,
                                     liana__error *error) LIANA_MUST_USE;

/* ---- model values ---- */

/* The weights that a model keeps on the host between fits. */

/* Copies the values to the variables of the same names, and back. */
liana_status liana__model_values_write(const liana_model *model, liana__variables *variables, liana__error *error)
    LIANA_MUST_USE;
liana_status liana__model_states_write(const liana_model *model, liana__variables *variables, liana__error *error)
    LIANA_MUST_USE;
liana_status liana__model_states_read(liana_model *model, const liana__variables *variables, liana__error *error)
    LIANA_MUST_USE;
liana_status liana__model_values_read(liana_model *model, const liana__variables *variables, liana__error *error)
    LIANA_MUST_USE;

/* Lets `read` change copies of the values. If it succeeds, they take the place of the values; else nothing is
 * changed. */
typedef liana_status (*liana__values_reader)(liana_model *model, const void *options, float *const *values,
                                             liana__arena *arena, liana__error *error);
liana_status liana__model_values_change(liana_model *model, liana__values_reader read, const void *options,
                                        liana__arena *arena, liana__error *error) LIANA_MUST_USE;

#endif
