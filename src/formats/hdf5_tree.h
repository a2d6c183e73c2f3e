/* hdf5_tree.h - an HDF5 file as a tree: groups and datasets, found by their paths, with attributes of text.
 *
 * Reading: liana's own reader reads files in HDF5's classic layout (superblock 0 or 1: nearly all Keras files). It
 * checks them throughout, and may run on any thread. Newer layouts are read by libhdf5 in a process of their own, with
 * limits on memory and time, which makes a classic file of them. So a hostile file cannot harm the caller.
 *
 * Writing is libhdf5's. Debian's libhdf5 is NOT thread-safe: only one thread of the whole process may be inside the
 * functions liana__hdf5_new_*, or open a file of a newer layout. libhdf5's own error printing is switched off inside
 * these functions, and restored after them. A build without libhdf5 reads the classic layout, and fails with
 * UNIMPLEMENTED for the rest. */
#ifndef LIANA_FORMATS_HDF5_TREE_H
#define LIANA_FORMATS_HDF5_TREE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LIANA__HDF5_MAX_RANK = 8 };

/* What a dataset is. */
typedef struct liana__hdf5_data {
    const char *dtype; /* its type in the file: "float32", "float64", "float16", "bfloat16", "int64", ...; static */
    int rank;
    int64_t shape[LIANA__HDF5_MAX_RANK];
    size_t num_elements;
} liana__hdf5_data;

/* A group or a dataset of an open file. */
typedef uint64_t liana__hdf5_node;

typedef struct liana__hdf5_tree liana__hdf5_tree;

/* Opens a file; its bytes are read into memory. Errors, with the file: NOT_FOUND, IO_ERROR; INVALID_DATA (not HDF5);
 * DATA_LOSS (truncated, or damaged); OUT_OF_RANGE, UNAVAILABLE (libhdf5's process needed too much memory or time);
 * UNIMPLEMENTED. */
liana_status liana__hdf5_tree_open(const char *path, liana__hdf5_tree **tree, liana__error *error) LIANA_MUST_USE;
/* The same of the bytes of a file in malloc'ed memory, which the tree takes, also when it fails. `name` is for
 * messages. */
liana_status liana__hdf5_tree_take(const char *name, char *bytes, size_t size, liana__hdf5_tree **tree,
                                   liana__error *error) LIANA_MUST_USE;
void liana__hdf5_tree_close(liana__hdf5_tree *tree);

/* Reads a file of the classic layout again through libhdf5, which knows what the reader here refuses as UNIMPLEMENTED:
 * links within the file, groups of newer layouts. Nodes of before are not valid any more. false: it was read so
 * already, or cannot be. */
bool liana__hdf5_tree_rewrite(liana__hdf5_tree *tree, const char *name);

liana__hdf5_node liana__hdf5_tree_root(const liana__hdf5_tree *tree);

/* The messages of the functions below are phrases about a node ("has no shape"); the caller knows its name. Links into
 * other files are never followed. */

/* Finds the node at a path ("a/b") below a group. Errors: NOT_FOUND, or why it cannot be reached. */
liana_status liana__hdf5_tree_find(const liana__hdf5_tree *tree, liana__hdf5_node group, const char *path,
                                   liana__hdf5_node *node, liana__error *error) LIANA_MUST_USE;

/* Receives one node in a group. */
typedef liana_status (*liana__hdf5_take_child)(void *user, const char *name, liana__hdf5_node child, bool is_group,
                                               liana__error *error);
/* Gives what is in a group to `take`, in the order of names (as strcmp). Links to other places are left out. A hostile
 * file may have circles; listing has an end, as all groups together may be listed about four times. */
liana_status liana__hdf5_tree_children(liana__hdf5_tree *tree, liana__hdf5_node group, liana__hdf5_take_child take,
                                       void *user, liana__error *error) LIANA_MUST_USE;

/* Receives one text of an attribute. */
typedef liana_status (*liana__hdf5_take_text)(void *user, const char *text, size_t length, liana__error *error);
/* Gives the texts of an attribute (one, or an array) to `take`. *found: whether the attribute exists. */
liana_status liana__hdf5_tree_texts(const liana__hdf5_tree *tree, liana__hdf5_node node, const char *attribute,
                                    liana__hdf5_take_text take, void *user, bool *found, liana__error *error)
    LIANA_MUST_USE;

/* Sets what a dataset is. Errors: INVALID_DATA (no dataset, not made of numbers, stored in another file); OUT_OF_RANGE
 * (rank above LIANA__HDF5_MAX_RANK, more elements than the file can hold); DATA_LOSS. */
liana_status liana__hdf5_tree_describe(const liana__hdf5_tree *tree, liana__hdf5_node node, liana__hdf5_data *data,
                                       liana__error *error) LIANA_MUST_USE;
/* Reads all elements of a dataset, row-major, converted. `values` has room for those that liana__hdf5_tree_describe
 * counted. s64 is for datasets of integers. */
liana_status liana__hdf5_tree_read_f32(const liana__hdf5_tree *tree, liana__hdf5_node node,
                                       const liana__hdf5_data *data, float *values, liana__error *error) LIANA_MUST_USE;
liana_status liana__hdf5_tree_read_s64(const liana__hdf5_tree *tree, liana__hdf5_node node,
                                       const liana__hdf5_data *data, int64_t *values, liana__error *error)
    LIANA_MUST_USE;

/* ---- writing ---- */

/* A tree that is being made, in memory. The first error stays: later calls do nothing and return it. */
typedef struct liana__hdf5_new liana__hdf5_new;

/* `name` is for messages, and outlives the tree. Errors: OUT_OF_MEMORY, UNIMPLEMENTED. */
liana_status liana__hdf5_new_create(const char *name, liana__hdf5_new **tree, liana__error *error) LIANA_MUST_USE;
void liana__hdf5_new_free(liana__hdf5_new *tree);
/* Says how many bytes of data will come, so that the memory need not grow. Before the first group. */
void liana__hdf5_new_expect(liana__hdf5_new *tree, size_t data_size);

/* Makes a group; "" is the root, which is there. Groups above it are made if need be. Errors: INVALID_ARGUMENT (it is
 * there already). */
liana_status liana__hdf5_new_group(liana__hdf5_new *tree, const char *path, liana__error *error);
/* Gives a group or a dataset an attribute: one text of any length, as h5py writes a str; ... */
liana_status liana__hdf5_new_text(liana__hdf5_new *tree, const char *path, const char *attribute, const char *text,
                                  liana__error *error);
/* ... or a list, as numpy's array of bytes; a long list is in pieces (`name0`, `name1`, ...), as Keras writes it.
 * Errors: INVALID_ARGUMENT (an empty text, one that is too long). */
liana_status liana__hdf5_new_texts(liana__hdf5_new *tree, const char *path, const char *attribute,
                                   const char *const *texts, size_t count, liana__error *error);
/* Makes a dataset of values in the dtype that data->dtype says; data->num_elements is not read. */
liana_status liana__hdf5_new_dataset(liana__hdf5_new *tree, const char *path, const liana__hdf5_data *data,
                                     const void *values, liana__error *error);
/* Gives the bytes of the file, borrowed from the tree, to which nothing is added any more. The same tree gives the same
 * bytes. */
liana_status liana__hdf5_new_bytes(liana__hdf5_new *tree, const char **bytes, size_t *size, liana__error *error)
    LIANA_MUST_USE;

#endif
