/* hdf5_keras.h - what the readers of Keras's two layouts share. For hdf5*.c only. */
#ifndef LIANA_FORMATS_HDF5_KERAS_H
#define LIANA_FORMATS_HDF5_KERAS_H

#include "base/memory.h"
#include "formats/hdf5.h"

enum { LIANA__HDF5_MAX_LAYERS = 100000, LIANA__HDF5_MAX_WEIGHTS = 1000000 };

struct liana__hdf5 {
    char *path;
    liana__hdf5_tree *tree;
    bool describes;           /* without layers and weights */
    liana__hdf5_node weights; /* the group that has layer_names */
    liana__hdf5_contents contents;
    liana__arena arena;
};

/* The file has an optimizer with these variables, or they cannot be listed: then the layers are read all the same, and
 * the contents say why. `found` is the status and error of listing them. Errors: OUT_OF_MEMORY. */
liana_status liana__hdf5_keep_optimizer(liana__hdf5 *file, const liana__hdf5_weight *variables, size_t count,
                                        liana_status found, liana__error *error) LIANA_MUST_USE;

/* Reads the contents of a file in Keras 3's layout; contents.is_keras3 says whether it is one. */
liana_status liana__hdf5_read_keras3(liana__hdf5 *file, liana__error *error) LIANA_MUST_USE;

#endif
