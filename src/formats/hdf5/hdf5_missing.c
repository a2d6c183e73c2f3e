/* A build without libhdf5 refuses to read newer layouts and to write. */
#ifndef LIANA_HAVE_HDF5
#include "formats/hdf5/hdf5_internal.h"

liana_status liana__hdf5_make_classic(const char *bytes, size_t size, char **classic, size_t *classic_size,
                                      liana__error *error)
{
    (void)bytes;
    (void)size;
    (void)classic;
    (void)classic_size;
    return liana__fail(error, LIANA_UNIMPLEMENTED,
                       "this build of liana has no libhdf5, which is needed for the newer HDF5 layouts; build it with "
                       "-DLIANA_HDF5=ON (Debian: libhdf5-dev), or rewrite the file with h5repack");
}

liana_status liana__hdf5_new_create(const char *name, liana__hdf5_new **tree, liana__error *error)
{
    (void)tree;
    return liana__fail(error, LIANA_UNIMPLEMENTED,
                       "'%s': this build of liana cannot write HDF5; build it with -DLIANA_HDF5=ON and libhdf5 "
                       "(Debian: libhdf5-dev)",
                       name);
}

/* Without a tree that was made these are never called. */
void liana__hdf5_new_free(liana__hdf5_new *tree)
{
    (void)tree;
}

void liana__hdf5_new_expect(liana__hdf5_new *tree, size_t data_size)
{
    (void)tree;
    (void)data_size;
}

liana_status liana__hdf5_new_group(liana__hdf5_new *tree, const char *path, liana__error *error)
{
    return liana__hdf5_new_create(path, &tree, error);
}

liana_status liana__hdf5_new_text(liana__hdf5_new *tree, const char *path, const char *attribute, const char *text,
                                  liana__error *error)
{
    (void)attribute;
    (void)text;
    return liana__hdf5_new_create(path, &tree, error);
}

liana_status liana__hdf5_new_texts(liana__hdf5_new *tree, const char *path, const char *attribute,
                                   const char *const *texts, size_t count, liana__error *error)
{
    (void)attribute;
    (void)texts;
    (void)count;
    return liana__hdf5_new_create(path, &tree, error);
}

liana_status liana__hdf5_new_dataset(liana__hdf5_new *tree, const char *path, const liana__hdf5_data *data,
                                     const void *values, liana__error *error)
{
    (void)data;
    (void)values;
    return liana__hdf5_new_create(path, &tree, error);
}

liana_status liana__hdf5_new_bytes(liana__hdf5_new *tree, const char **bytes, size_t *size, liana__error *error)
{
    (void)bytes;
    (void)size;
    return liana__hdf5_new_create("HDF5", &tree, error);
}
#endif
