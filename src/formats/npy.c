/* Files of numpy. The format: numpy.org/doc/stable/reference/generated/numpy.lib.format.html. */
#include "formats/npy.h"

#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PREFIX = 10, ALIGNMENT = 64, MOST_HEADER = 512 };

/* Writes what the header says of type and shape. Returns its length. */
static size_t print_form(const liana__npy *npy, int64_t num_rows, char text[MOST_HEADER])
{
    char dims[256] = "";
    size_t used = 0;
    for (int i = 0; i < npy->num_dims; i++) {
        used += (size_t)snprintf(dims + used, sizeof dims - used, " %lld%s", (long long)npy->dims[i],
                                 i + 1 < npy->num_dims ? "," : "");
    }
    return (size_t)snprintf(text, MOST_HEADER, "{'descr': '%s', 'fortran_order': False, 'shape': (%lld,%s), }",
                            npy->dtype == LIANA_S32 ? "<i4" : "<f4", (long long)num_rows, dims);
}

/* Writes the header for a number of rows, as long as for the largest one. Returns its length. */
static size_t print_header(const liana__npy *npy, int64_t num_rows, char header[MOST_HEADER])
{
    char text[MOST_HEADER];
    size_t most = PREFIX;
    most += print_form(npy, INT64_MAX, text) + 1;
    most += (ALIGNMENT - most % ALIGNMENT) % ALIGNMENT;
    const size_t length = print_form(npy, num_rows, text);
    memset(header, ' ', most);
    memcpy(header, "\x93NUMPY\x01\x00", 8);
    header[8] = (char)((most - PREFIX) & 0xff);
    header[9] = (char)((most - PREFIX) >> 8);
    memcpy(header + PREFIX, text, length);
    header[most - 1] = '\n';
    return most;
}

liana_status liana__npy_begin(liana__npy *npy, const char *path, const int64_t *dims, int num_dims, liana__error *error)
{
    return liana__npy_begin_of(npy, path, LIANA_F32, dims, num_dims, error);
}

liana_status liana__npy_begin_of(liana__npy *npy, const char *path, liana_dtype dtype, const int64_t *dims,
                                 int num_dims, liana__error *error)
{
    char header[MOST_HEADER];
    *npy = (liana__npy){.dtype = dtype, .num_dims = num_dims};
    memcpy(npy->dims, dims, (size_t)num_dims * sizeof *dims);
    LIANA_TRY(liana__file_begin(&npy->file, path, error));
    liana_status status = LIANA_OK;
    if (!npy->file.temporary) {
        status = liana__fail(error, LIANA_INVALID_ARGUMENT,
                             "'%s' is no regular file: a .npy file begins with the number of its rows, which is known "
                             "at the end; name a file, or write CSV",
                             path);
    }
    if (status == LIANA_OK) {
        status = liana__file_write(&npy->file, header, print_header(npy, 0, header), error);
    }
    if (status != LIANA_OK) liana__file_abandon(&npy->file);
    return status;
}

liana_status liana__npy_write(liana__npy *npy, const void *rows, int64_t num_rows, liana__error *error)
{
    size_t size = (size_t)num_rows * sizeof(float);
    for (int i = 0; i < npy->num_dims; i++) size *= (size_t)npy->dims[i];
    npy->num_rows += num_rows;
    return liana__file_write(&npy->file, rows, size, error);
}

static liana_status write_begin(liana__npy *npy, liana__error *error)
{
    char header[MOST_HEADER];
    const size_t size = print_header(npy, npy->num_rows, header);
    const ssize_t done = pwrite(npy->file.descriptor, header, size, 0);
    if (done == (ssize_t)size) return LIANA_OK;
    return liana__fail(error, LIANA_IO_ERROR, "cannot write '%s': %s", npy->file.path,
                       done < 0 ? strerror(errno) : "the disk is full");
}

liana_status liana__npy_finish(liana__npy *npy, liana__error *error)
{
    const liana_status status = write_begin(npy, error);
    if (status == LIANA_OK) return liana__file_commit(&npy->file, true, error);
    liana__file_abandon(&npy->file);
    return status;
}

void liana__npy_abandon(liana__npy *npy)
{
    liana__file_abandon(&npy->file);
}
