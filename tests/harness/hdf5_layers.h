/* hdf5_layers.h - the layers of a Keras weight file by name. */
#ifndef LIANA_TESTS_HDF5_LAYERS_H
#define LIANA_TESTS_HDF5_LAYERS_H

#include "formats/hdf5.h"

#include <string.h>

/* The layer of that name, or NULL. */
static inline const liana__hdf5_layer *liana__test_find_layer(const liana__hdf5 *file, const char *name)
{
    const liana__hdf5_contents *contents = liana__hdf5_get_contents(file);
    for (size_t i = 0; i < contents->num_layers; i++) {
        if (strcmp(contents->layers[i].name, name) == 0) return &contents->layers[i];
    }
    return NULL;
}

#endif
