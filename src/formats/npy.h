/* npy.h - numpy's files of one array (.npy).
 *
 * Writer: format 1.0, float32 or int32, little-endian, in C order. Rows are written as they come. Their number stands
 * in the header, which is written again at the end. Reader: formats 1.0 to 3.0, numbers of any size, in both orders. */
#ifndef LIANA_FORMATS_NPY_H
#define LIANA_FORMATS_NPY_H

#include "base/file.h"

#include <liana/array.h>

enum { LIANA__NPY_MOST_DIMS = 8 };

typedef struct liana__npy {
    liana__file_writer file;
    liana_dtype dtype;
    int64_t dims[LIANA__NPY_MOST_DIMS]; /* of a row */
    int num_dims;
    int64_t num_rows; /* so far */
} liana__npy;

/* Opens a file for rows of this shape; num_dims 0: of one number, then the array has one axis. It appears at `path`
 * when it is finished. Errors: IO_ERROR, INVALID_ARGUMENT (a pipe, or a device, whose begin cannot be written
 * again). */
liana_status liana__npy_begin(liana__npy *npy, const char *path, const int64_t *dims, int num_dims, liana__error *error)
    LIANA_MUST_USE;
/* The same for numbers of another dtype: LIANA_F32 or LIANA_S32. */
liana_status liana__npy_begin_of(liana__npy *npy, const char *path, liana_dtype dtype, const int64_t *dims,
                                 int num_dims, liana__error *error) LIANA_MUST_USE;
/* Adds rows, one behind the other. */
liana_status liana__npy_write(liana__npy *npy, const void *rows, int64_t num_rows, liana__error *error) LIANA_MUST_USE;
/* Both end the writer; after a failure of the first as well. */
liana_status liana__npy_finish(liana__npy *npy, liana__error *error) LIANA_MUST_USE;
void liana__npy_abandon(liana__npy *npy);

/* ---- reading ---- */

enum { LIANA__NPY_MOST_AXES = 32 };

/* An open file. */
typedef struct liana__npy_array {
    int descriptor;
    const char *path; /* borrowed */
    liana_dtype dtype;
    bool big_endian;
    bool fortran; /* the first axis changes fastest */
    int64_t dims[LIANA__NPY_MOST_AXES];
    int num_dims;
    int64_t row_values; /* values of a row along the first axis; with no axis 1 */
    uint64_t begin;     /* where the values begin, in bytes */
    uint64_t bytes;     /* of the values */
} liana__npy_array;

/* Opens a file and checks its header against its size. Errors, with the path: NOT_FOUND, IO_ERROR, INVALID_DATA (not
 * such a file, a header that numpy does not write), DATA_LOSS (fewer values than the shape says), UNIMPLEMENTED (texts,
 * dates, complex numbers, records, and Python's objects, which are never read: to read them is to run code). */
liana_status liana__npy_open(const char *path, liana__npy_array *array, liana__error *error) LIANA_MUST_USE;
/* Reads row `index` along the first axis: values [row_values] in C order, in the machine's byte order. The array has an
 * axis, and the index is below its length. Errors: IO_ERROR, DATA_LOSS (the file is shorter now). */
liana_status liana__npy_read_row(const liana__npy_array *array, int64_t index, void *values, liana__error *error)
    LIANA_MUST_USE;
/* Harmless for zeros. */
void liana__npy_close(liana__npy_array *array);

#endif
