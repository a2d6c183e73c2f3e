/* hdf5_internal.h - what a Keras file needs of an HDF5 file, and the two that give it. For hdf5*.c only.
 *
 * Files in the layout that HDF5 has written since 1998 and still writes unless told otherwise (superblock version 0 or
 * 1) are read by hdf5_classic.c: libhdf5 1.10 overruns its buffers when their structure is damaged, for nothing in them
 * is checksummed. Files in the newer, checksummed layouts are left to libhdf5 (hdf5_library.c). */
#ifndef LIANA_FORMATS_HDF5_INTERNAL_H
#define LIANA_FORMATS_HDF5_INTERNAL_H

#include "base/file.h"
#include "formats/hdf5.h"

/* A group or a dataset; what the number means is the source's business. */
typedef int64_t liana__hdf5_node;

typedef struct liana__hdf5_source liana__hdf5_source;

/* Takes one text of an attribute. */
typedef liana_status (*liana__hdf5_take_text)(void *user, const char *text, size_t length, liana__error *error);

/* Errors are phrases about the node ("has no shape"): the caller knows its name. */
struct liana__hdf5_source {
    liana__hdf5_node root;
    void (*close)(liana__hdf5_source *source);
    /* The node at a path ("a/b") below a group. Errors: NOT_FOUND, or why it cannot be reached. */
    liana_status (*find)(liana__hdf5_source *source, liana__hdf5_node group, const char *name, liana__hdf5_node *node,
                         liana__error *error);
    void (*release)(liana__hdf5_source *source, liana__hdf5_node node);
    /* Gives the texts of an attribute, one or an array of them, to `take`; *found says whether there is one. */
    liana_status (*texts)(liana__hdf5_source *source, liana__hdf5_node node, const char *attribute,
                          liana__hdf5_take_text take, void *user, bool *found, liana__error *error);
    /* Sets dtype, rank, shape and num_elements of a dataset. */
    liana_status (*describe)(liana__hdf5_source *source, liana__hdf5_node node, liana__hdf5_weight *weight,
                             liana__error *error);
    /* Reads all elements of a dataset that was described so. */
    liana_status (*read)(liana__hdf5_source *source, liana__hdf5_node node, const liana__hdf5_weight *weight,
                         float *values, liana__error *error);
};

/* Bytes that the texts of one attribute may take. */
enum { LIANA__HDF5_MAX_ATTRIBUTE = 64 << 20 };

/* Sets a weight's shape. Errors: OUT_OF_RANGE for a rank above LIANA__HDF5_MAX_RANK, or more elements than a file of
 * that size can hold: deflate, the filter that packs tightest, makes 1032 bytes of one at most. */
liana_status liana__hdf5_set_shape(liana__hdf5_weight *weight, int rank, const uint64_t *dims, uint64_t file_size,
                                   liana__error *error) LIANA_MUST_USE;

/* Reads a file in the classic layout from a mapping that outlives the source. */
liana_status liana__hdf5_classic_open(const liana__mapping *mapping, liana__hdf5_source **source, liana__error *error)
    LIANA_MUST_USE;

/* Any file, through libhdf5. Errors: UNIMPLEMENTED in a build without it. */
liana_status liana__hdf5_library_open(const char *path, uint64_t file_size, liana__hdf5_source **source,
                                      liana__error *error) LIANA_MUST_USE;

#endif
