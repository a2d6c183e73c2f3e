/* hdf5_internal.h - the interface to an HDF5 file that a Keras file needs, and its two implementations. For hdf5*.c
 * only.
 *
 * hdf5_classic.c reads the layout that HDF5 has written since 1998, and still writes by default (superblock version 0
 * or 1). Nothing in these files has a checksum, and libhdf5 1.10 overruns its buffers if their structure is damaged.
 * hdf5_library.c reads the newer layouts, which have checksums, with libhdf5. */
#ifndef LIANA_FORMATS_HDF5_INTERNAL_H
#define LIANA_FORMATS_HDF5_INTERNAL_H

#include "base/file.h"
#include "formats/hdf5.h"

/* A group or a dataset. Only the source knows the meaning of the number. */
typedef int64_t liana__hdf5_node;

typedef struct liana__hdf5_source liana__hdf5_source;

/* Receives one text of an attribute. */
typedef liana_status (*liana__hdf5_take_text)(void *user, const char *text, size_t length, liana__error *error);

/* Errors are phrases about a node ("has no shape"); the caller knows its name. */
struct liana__hdf5_source {
    liana__hdf5_node root;
    void (*close)(liana__hdf5_source *source);
    /* Finds the node at a path ("a/b") below a group. Errors: NOT_FOUND, or why it cannot be reached. */
    liana_status (*find)(liana__hdf5_source *source, liana__hdf5_node group, const char *name, liana__hdf5_node *node,
                         liana__error *error);
    void (*release)(liana__hdf5_source *source, liana__hdf5_node node);
    /* Gives the texts of an attribute (one, or an array) to `take`. *found: whether the attribute exists. */
    liana_status (*texts)(liana__hdf5_source *source, liana__hdf5_node node, const char *attribute,
                          liana__hdf5_take_text take, void *user, bool *found, liana__error *error);
    /* Sets dtype, rank, shape and num_elements of a dataset. */
    liana_status (*describe)(liana__hdf5_source *source, liana__hdf5_node node, liana__hdf5_weight *weight,
                             liana__error *error);
    /* Reads all elements of a dataset that `describe` has described. */
    liana_status (*read)(liana__hdf5_source *source, liana__hdf5_node node, const liana__hdf5_weight *weight,
                         float *values, liana__error *error);
};

/* The largest number of bytes for the texts of one attribute. */
enum { LIANA__HDF5_MAX_ATTRIBUTE = 64 << 20 };

/* Sets a weight's shape. Errors: OUT_OF_RANGE for a rank above LIANA__HDF5_MAX_RANK, or for more elements than a file
 * of that size can hold. Deflate, the filter that compresses most, makes at most 1032 bytes of one. */
liana_status liana__hdf5_set_shape(liana__hdf5_weight *weight, int rank, const uint64_t *dims, uint64_t file_size,
                                   liana__error *error) LIANA_MUST_USE;

/* Reads a file in the classic layout from its bytes, which outlive the source. */
liana_status liana__hdf5_classic_open(const uint8_t *bytes, size_t size, liana__hdf5_source **source,
                                      liana__error *error) LIANA_MUST_USE;

/* Opens any file with libhdf5. Errors: UNIMPLEMENTED in a build without it. */
liana_status liana__hdf5_library_open(const char *path, uint64_t file_size, liana__hdf5_source **source,
                                      liana__error *error) LIANA_MUST_USE;

#endif
