/* npy.h - writer of numpy's files of one array (.npy, format 1.0): float32, little-endian, in C order.
 *
 * Rows are written as they come. Their number stands in the header, which is written again at the end. */
#ifndef LIANA_FORMATS_NPY_H
#define LIANA_FORMATS_NPY_H

#include "base/file.h"

enum { LIANA__NPY_MOST_DIMS = 8 };

typedef struct liana__npy {
    liana__file_writer file;
    int64_t dims[LIANA__NPY_MOST_DIMS]; /* of a row */
    int num_dims;
    int64_t num_rows; /* so far */
} liana__npy;

/* Opens a file for rows of this shape; num_dims 0: of one number, then the array has one axis. It appears at `path`
 * when it is finished. Errors: IO_ERROR, INVALID_ARGUMENT (a pipe, or a device, whose begin cannot be written
 * again). */
liana_status liana__npy_begin(liana__npy *npy, const char *path, const int64_t *dims, int num_dims, liana__error *error)
    LIANA_MUST_USE;
/* Adds rows, one behind the other. */
liana_status liana__npy_write(liana__npy *npy, const float *rows, int64_t num_rows, liana__error *error) LIANA_MUST_USE;
/* Both end the writer; after a failure of the first as well. */
liana_status liana__npy_finish(liana__npy *npy, liana__error *error) LIANA_MUST_USE;
void liana__npy_abandon(liana__npy *npy);

#endif
