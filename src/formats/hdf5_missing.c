#ifndef LIANA_HAVE_HDF5
#include "formats/hdf5.h"

static liana_status fail_missing(const char *path, liana__error *error)
{
    return liana__fail(error, LIANA_UNIMPLEMENTED,
                       "'%s': this build of liana has no HDF5; build it with -DLIANA_HDF5=ON and libhdf5 (Debian: "
                       "libhdf5-dev)",
                       path);
}

liana_status liana__hdf5_open(const char *path, liana__hdf5 **file, liana__error *error)
{
    *file = NULL;
    return fail_missing(path, error);
}

void liana__hdf5_close(liana__hdf5 *file)
{
    (void)file;
}

/* No file can be open in this build: the functions below are only there to be linked. */
const liana__hdf5_contents *liana__hdf5_get_contents(const liana__hdf5 *file)
{
    (void)file;
    return NULL;
}

const liana__hdf5_layer *liana__hdf5_find_layer(const liana__hdf5 *file, const char *name)
{
    (void)file;
    (void)name;
    return NULL;
}

liana_status liana__hdf5_read(const liana__hdf5 *file, const liana__hdf5_weight *weight, float *values,
                              liana__error *error)
{
    (void)file;
    (void)values;
    return fail_missing(weight->name, error);
}

liana_status liana__hdf5_write(const char *path, const liana__hdf5_new_layer *layers, size_t num_layers,
                               const char *model_config, liana__error *error)
{
    (void)layers;
    (void)num_layers;
    (void)model_config;
    return fail_missing(path, error);
}
#endif
