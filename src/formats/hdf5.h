/* hdf5.h - Keras's weight files: layers, their weights in order, and the arrays.
 *
 * Contents: reads what all versions of Keras write:
 * - save_weights('x.h5') and save('x.h5') of Keras 1, 2 and 3. The root, or the group `model_weights` of a whole-model
 *   file, has the attribute `layer_names`. Each layer is a group with the attribute `weight_names`. Each weight is a
 *   dataset, with a name relative to the layer's group. Long lists of names are in pieces (`layer_names0`,
 *   `layer_names1`, ...), since an HDF5 attribute has at most 64 kB. The names of weights differ between versions
 *   ("conv1/kernel:0", "convolution2d_1_W"), but their order in a layer does not: so load by layer name and position.
 *   Keras 1 files of the backend "theano" have flipped kernels; see `backend`.
 * - save_weights('x.weights.h5') of Keras 3, and the same inside of a `.keras` archive, also as tf.keras 2.12 and later
 *   wrote it: a layer's weights are `layers/dense_1/vars/0`, `1`, ... Newer versions keep the layer's name; see
 *   `has_names`.
 *
 * formats/hdf5_tree.h says which layouts of HDF5 are read, and by whom. */
#ifndef LIANA_FORMATS_HDF5_H
#define LIANA_FORMATS_HDF5_H

#include "formats/hdf5_tree.h"

/* The attribute of an HDF5 file, and the key in an archive's metadata.json, that keeps liana's own facts. */
#define LIANA__HDF5_OWN "liana"

/* The path of the optimizer in Keras 3's layout, and the layer of its variables in messages. */
#define LIANA__HDF5_OPTIMIZER "optimizer"

typedef struct liana__hdf5_weight {
    const char *name;  /* as in weight_names; in Keras 3's layout its path below the layer, without `vars`: "0" */
    const char *layer; /* the name of its layer */
    liana__hdf5_data data;
    liana__hdf5_node node;
} liana__hdf5_weight;

typedef struct liana__hdf5_layer {
    const char *name; /* in Keras 3's layout without names: the last part of its path, "dense_1" */
    const char *path; /* Keras 3's layout: "layers/functional/layers/dense_1"; else NULL */
    const char
        *model; /* Keras 3's layout: the nested model that it belongs to, "outer/encoder"; NULL: none, or unknown */
    const liana__hdf5_weight *weights;
    size_t num_weights;
} liana__hdf5_layer;

typedef struct liana__hdf5 liana__hdf5;

/* The contents of a file; borrowed from the open file. */
typedef struct liana__hdf5_contents {
    const liana__hdf5_layer
        *layers; /* in the order of layer_names, or of their paths; those without weights included */
    size_t num_layers;
    size_t num_weights; /* of all layers */
    /* The variables of the optimizer, in its order: "0", "1", ... in Keras 3's layout, else their names, such as
     * "adam/iteration". NULL: the file has none, or they cannot be listed. */
    const liana__hdf5_layer *optimizer;
    const char *optimizer_fault; /* why they cannot be listed; NULL: they can */
    bool is_keras3;              /* Keras 3's layout: layers have paths */
    bool has_names;              /* ... and the file keeps the names of all layers with weights */
    bool is_archive;             /* a .keras archive */
    const char *model_config;    /* the architecture as JSON, in a whole-model file or an archive; else NULL */
    const char *training_config; /* the compile settings as JSON, in a whole-model file; else NULL */
    const char *own;             /* liana's own facts about the model as JSON, if liana wrote the file; else NULL */
    const char *keras_version;   /* "2.11.0"; NULL if the file does not say (Keras 1) */
    const char *backend;         /* "tensorflow", "theano"; NULL if the file does not say */
} liana__hdf5_contents;

/* Opens an HDF5 file or a `.keras` archive, as the first bytes say, and reads all names and shapes, but no arrays.
 * Errors, each with the file and, where it applies, the layer and the weight: those of liana__hdf5_tree_open and
 * liana__zip_open; INVALID_DATA (not a Keras file, a named layer or weight is missing or of another kind); OUT_OF_RANGE
 * (more than 100,000 layers or 1,000,000 weights); UNIMPLEMENTED (an archive whose weights are no HDF5 file). */
liana_status liana__hdf5_open(const char *path, liana__hdf5 **file, liana__error *error) LIANA_MUST_USE;
/* The same for what stands beside the weights: there are no layers. An archive's weights are not read, and need not be
 * there; nor does an HDF5 file need any. */
liana_status liana__hdf5_open_description(const char *path, liana__hdf5 **file, liana__error *error) LIANA_MUST_USE;
void liana__hdf5_close(liana__hdf5 *file);

const liana__hdf5_contents *liana__hdf5_get_contents(const liana__hdf5 *file);
/* Reads one array, row-major, converted to float32. `values` has room for weight->data.num_elements. Errors: DATA_LOSS,
 * with the file, the layer and the weight. */
liana_status liana__hdf5_read(const liana__hdf5 *file, const liana__hdf5_weight *weight, float *values,
                              liana__error *error) LIANA_MUST_USE;
/* The same of integers, unchanged. Errors: those, and INVALID_DATA for an array of other numbers. */
liana_status liana__hdf5_read_s64(const liana__hdf5 *file, const liana__hdf5_weight *weight, int64_t *values,
                                  liana__error *error) LIANA_MUST_USE;

/* A weight to be written. */
typedef struct liana__hdf5_new_weight {
    const char *name; /* Keras 2 writes "layer/kernel:0" */
    int rank;
    int64_t shape[LIANA__HDF5_MAX_RANK];
    const float *values;
} liana__hdf5_new_weight;

typedef struct liana__hdf5_new_layer {
    const char *name;
    const liana__hdf5_new_weight *weights;
    size_t num_weights;
} liana__hdf5_new_layer;

/* A variable of an optimizer to be written. */
typedef struct liana__hdf5_variable {
    const char *name; /* "adam/dense_kernel_momentum"; not read in Keras 3's layout */
    liana__hdf5_data data;
    const void *values; /* in its dtype */
} liana__hdf5_variable;

/* What stands beside the weights in a whole-model file. */
typedef struct liana__hdf5_description {
    const char *model_config;              /* JSON */
    const char *training_config;           /* JSON; NULL: none */
    const char *own;                       /* JSON; NULL: none */
    const char *keras_version;             /* NULL: "2.11.0" */
    const liana__hdf5_variable *optimizer; /* in its order */
    size_t num_optimizer;                  /* 0: nothing is written of it */
} liana__hdf5_description;

/* Writes a weight file in the layout of Keras 2, which is that of a whole-model file of Keras 3 as well (same weights,
 * same bytes), atomically and synced. With a description it is a whole-model file: the weights are under
 * `model_weights`. The file is first made in memory. Errors: INVALID_ARGUMENT (a repeated or empty name, a bad shape),
 * IO_ERROR, OUT_OF_MEMORY. */
liana_status liana__hdf5_write(const char *path, const liana__hdf5_new_layer *layers, size_t num_layers,
                               const liana__hdf5_description *whole, liana__error *error) LIANA_MUST_USE;

/* A layer in Keras 3's layout. */
typedef struct liana__keras3_layer {
    const char *path; /* "layers/dense_1" */
    const char *name;
    const liana__hdf5_data *weights;
    const void *const *values; /* of each weight, in its dtype */
    size_t num_weights;
    const char *variable; /* the name of its only weight, instead of "0"; NULL: they are numbered */
} liana__keras3_layer;

/* Makes a tree of weights as Keras 3 does: its bytes (liana__hdf5_new_bytes) are those of a `.weights.h5` file, or of
 * the entry `model.weights.h5` of a `.keras` archive. `model_name` is Keras's name of the model. The optimizer is a
 * layer too, with the path "optimizer". `path` is for messages, and outlives the tree. Errors: INVALID_ARGUMENT (two
 * layers with one path, a bad shape), OUT_OF_MEMORY, UNIMPLEMENTED. */
liana_status liana__keras3_weights_make(const char *path, const char *model_name, const liana__keras3_layer *layers,
                                        size_t num_layers, liana__hdf5_new **weights, liana__error *error)
    LIANA_MUST_USE;

#endif
