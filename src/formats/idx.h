/* idx.h - IDX files, the format of MNIST: an array of one type with its dimensions, plain or gzipped.
 *
 * A file is: two zero bytes, a type code, the number of dimensions, the dimensions (4 bytes each, big-endian), the
 * values (big-endian) in row-major order (LeCun, Cortes, Burges, "The MNIST database of handwritten digits"). */
#ifndef LIANA_FORMATS_IDX_H
#define LIANA_FORMATS_IDX_H

#include "base/error.h"
#include "base/file.h"
#include "formats/gzip.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LIANA__IDX_MAX_DIMENSIONS = 8 };

/* The values are the type codes in the file. */
typedef enum liana__idx_type {
    LIANA__IDX_U8 = 0x08,
    LIANA__IDX_S8 = 0x09,
    LIANA__IDX_S16 = 0x0b,
    LIANA__IDX_S32 = 0x0c,
    LIANA__IDX_F32 = 0x0d,
    LIANA__IDX_F64 = 0x0e,
} liana__idx_type;

/* "u8", "s16", ... */
const char *liana__idx_type_name(liana__idx_type type);

typedef struct liana__idx {
    liana__idx_type type;
    int num_dimensions;
    size_t dimensions[LIANA__IDX_MAX_DIMENSIONS];
    size_t num_elements;
    size_t missing;      /* with `start`: by how much the first dimension is smaller than in the header */
    size_t size;         /* of the data, in bytes */
    const uint8_t *data; /* the values as in the file: big-endian, not aligned. Valid until liana__idx_close */
    char *name;
    liana__mapping mapping;
    uint8_t *inflated;
} liana__idx;

/* Opens a file, and inflates it if it is gzipped (to at most `inflated_limit` bytes; 0: LIANA__DEFAULT_INFLATED_LIMIT).
 * `start`: gives the existing part of a truncated file; the first dimension is then smaller than in the header. (A
 * truncated gzipped file gives nothing.) On failure there is nothing to close. Errors: NOT_FOUND, IO_ERROR,
 * INVALID_DATA (not an IDX file, an unknown type, more values than the dimensions say), DATA_LOSS (fewer values than
 * they say, damaged gzip), OUT_OF_RANGE (above the limit), OUT_OF_MEMORY. */
liana_status liana__idx_open(const char *path, size_t inflated_limit, bool start, liana__idx *idx, liana__error *error)
    LIANA_MUST_USE;
void liana__idx_close(liana__idx *idx);

/* Fails with INVALID_DATA unless the file has `num_dimensions` dimensions of u8. `what` is the expected array ("images
 * of 3 dimensions: number, height, width"). */
liana_status liana__idx_expect_u8(const liana__idx *idx, int num_dimensions, const char *what, liana__error *error)
    LIANA_MUST_USE;

#endif
