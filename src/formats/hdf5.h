/* hdf5.h - Keras weight files (.h5): layers, their weights in order, and the arrays.
 *
 * Contents: reads the files that Keras 1, Keras 2, tf.keras and keras-applications write with save_weights('x.h5')
 * or save('x.h5'). The root, or the group `model_weights` of a whole-model file, has the attribute `layer_names`. Each
 * layer is a group with the attribute `weight_names`. Each weight is a dataset, with a name relative to the layer's
 * group. Long lists of names are in pieces (`layer_names0`, `layer_names1`, ...), since an HDF5 attribute has at most
 * 64 kB. The names of weights differ between versions ("conv1/kernel:0", "convolution2d_1_W"), but their order in a
 * layer does not: so load by layer name and position. Keras 1 files of the backend "theano" have flipped kernels; see
 * `backend`.
 *
 * Layouts: liana itself reads files in HDF5's classic layout (superblock 0 or 1: nearly all Keras files), checks
 * them throughout, and may do so on any thread. libhdf5 reads newer layouts, and writes all files. Debian's libhdf5 is
 * NOT thread-safe: only one thread of the whole process may be inside liana__hdf5_write, or inside any function for
 * such a file. libhdf5's own error printing is switched off inside these functions, and restored after them.
 *
 * A build without libhdf5 reads the classic layout, and fails with UNIMPLEMENTED for the rest. */
#ifndef LIANA_FORMATS_HDF5_H
#define LIANA_FORMATS_HDF5_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

enum { LIANA__HDF5_MAX_RANK = 8 };

typedef struct liana__hdf5_weight {
    const char *name;  /* as in weight_names */
    const char *layer; /* the name of its layer */
    const char *dtype; /* its type in the file: "float32", "float64", "float16", "int64", ... */
    int rank;
    int64_t shape[LIANA__HDF5_MAX_RANK];
    size_t num_elements;
} liana__hdf5_weight;

typedef struct liana__hdf5_layer {
    const char *name;
    const liana__hdf5_weight *weights;
    size_t num_weights;
} liana__hdf5_layer;

typedef struct liana__hdf5 liana__hdf5;

/* The contents of a file; borrowed from the open file. */
typedef struct liana__hdf5_contents {
    const liana__hdf5_layer *layers; /* in the order of layer_names; layers without weights included */
    size_t num_layers;
    size_t num_weights;        /* of all layers */
    const char *model_config;  /* the architecture as JSON, in a whole-model file; else NULL */
    const char *keras_version; /* "2.11.0"; NULL if the file does not say (Keras 1) */
    const char *backend;       /* "tensorflow", "theano"; NULL if the file does not say */
} liana__hdf5_contents;

/* Opens a file, and reads all names and shapes, but no arrays. Links into other files are not followed. Errors, each
 * with the file and, where it applies, the layer and the weight: NOT_FOUND, IO_ERROR; DATA_LOSS (truncated, or damaged
 * as libhdf5 finds); INVALID_DATA (not HDF5, not a Keras file, a named layer or weight is missing or of another kind);
 * OUT_OF_RANGE (more than 100,000 layers or 1,000,000 weights, rank above 8, an array larger than the file could hold);
 * UNIMPLEMENTED (a Keras 3 .weights.h5). */
liana_status liana__hdf5_open(const char *path, liana__hdf5 **file, liana__error *error) LIANA_MUST_USE;
void liana__hdf5_close(liana__hdf5 *file);

const liana__hdf5_contents *liana__hdf5_get_contents(const liana__hdf5 *file);
/* Reads one array, row-major, converted to float32. `values` has room for weight->num_elements. Errors: DATA_LOSS, with
 * the file, the layer and the weight. */
liana_status liana__hdf5_read(const liana__hdf5 *file, const liana__hdf5_weight *weight, float *values,
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

/* Writes a weight file as Keras 2 does (same weights, same bytes), atomically and synced. With a model_config (JSON) it
 * is a whole-model file: the weights are under `model_weights`. The file is first made in memory. Errors:
 * INVALID_ARGUMENT (a repeated or empty name, a bad shape), IO_ERROR, OUT_OF_MEMORY. */
liana_status liana__hdf5_write(const char *path, const liana__hdf5_new_layer *layers, size_t num_layers,
                               const char *model_config, liana__error *error) LIANA_MUST_USE;

#endif
