/* hdf5_internal.h - what the parts of the readers of HDF5 files share. For hdf5*.c only. */
#ifndef LIANA_FORMATS_HDF5_INTERNAL_H
#define LIANA_FORMATS_HDF5_INTERNAL_H

#include "formats/hdf5_tree.h"

/* The largest number of bytes for the texts of one attribute. */
enum { LIANA__HDF5_MAX_ATTRIBUTE = 64 << 20 };

/* Sets a dataset's shape. Errors: OUT_OF_RANGE for a rank above LIANA__HDF5_MAX_RANK, or for more elements than a file
 * of that size can hold. Deflate, the filter that compresses most, makes at most 1032 bytes of one. */
liana_status liana__hdf5_set_shape(liana__hdf5_data *data, int rank, const uint64_t *dims, uint64_t file_size,
                                   liana__error *error) LIANA_MUST_USE;

/* Makes a classic file, in malloc'ed memory, of a file in any layout, through libhdf5 in a process of its own. Errors:
 * those of opening such a file, without its name. */
liana_status liana__hdf5_make_classic(const char *bytes, size_t size, char **classic, size_t *classic_size,
                                      liana__error *error) LIANA_MUST_USE;

/* The same in this process, which is to end after it: its memory is not freed. libhdf5 is loaded. */
liana_status liana__hdf5_copy_as_classic(const char *bytes, size_t size, const char **classic, size_t *classic_size,
                                         liana__error *error) LIANA_MUST_USE;

#endif
