/* A build without libhdf5 refuses to read and write. */
#ifndef LIANA_HAVE_HDF5
#include "formats/hdf5_internal.h"

liana_status liana__hdf5_library_open(const char *path, uint64_t file_size, liana__hdf5_source **source,
                                      liana__error *error)
{
    (void)path;
    (void)file_size;
    (void)source;
    return liana__fail(error, LIANA_UNIMPLEMENTED,
                       "this build of liana has no libhdf5, which is needed for the newer HDF5 layouts; build it with "
                       "-DLIANA_HDF5=ON (Debian: libhdf5-dev), or rewrite the file with h5repack");
}

liana_status liana__hdf5_write(const char *path, const liana__hdf5_new_layer *layers, size_t num_layers,
                               const char *model_config, liana__error *error)
{
    (void)layers;
    (void)num_layers;
    (void)model_config;
    return liana__fail(error, LIANA_UNIMPLEMENTED,
                       "'%s': this build of liana cannot write HDF5; build it with -DLIANA_HDF5=ON and libhdf5 "
                       "(Debian: libhdf5-dev)",
                       path);
}
#endif
