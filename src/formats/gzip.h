/* gzip.h - gzip and zlib streams: inflating into memory with a limit. */
#ifndef LIANA_FORMATS_GZIP_H
#define LIANA_FORMATS_GZIP_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The default limit of inflated bytes. Deflate compresses up to about a thousand times, so a file of a few megabytes
 * could fill a machine's memory. Every reader has a limit. */
#define LIANA__DEFAULT_INFLATED_LIMIT ((size_t)1 << 30)

/* Whether the bytes begin with the magic number of gzip, or with a header of zlib. The latter has only 11 bits: check
 * the other kinds of files first. */
bool liana__is_gzip(const uint8_t *bytes, size_t size);
bool liana__is_zlib(const uint8_t *bytes, size_t size);

/* Inflates a whole gzip file (all members; zeros after the last one are padding) or zlib stream into memory that the
 * caller frees. `name` is the file's, for messages. `limit` is the largest number of inflated bytes; 0: the default.
 * Errors: DATA_LOSS (truncated, damaged, wrong checksum, data after the end), OUT_OF_RANGE (above the limit),
 * OUT_OF_MEMORY. On failure *inflated is NULL. */
liana_status liana__inflate(const char *name, const uint8_t *bytes, size_t size, size_t limit, uint8_t **inflated,
                            size_t *inflated_size, liana__error *error) LIANA_MUST_USE;

/* Pieces of memory as zlib streams: the most bytes of a deflated piece; deflates into that many, and returns how many
 * there are (0: out of memory). */
size_t liana__deflated_bound(size_t size);
size_t liana__deflate(const void *bytes, size_t size, void *deflated);
/* Inflates a piece to exactly `inflated_size` bytes. False: it is damaged. */
bool liana__inflate_piece(const void *bytes, size_t size, void *inflated, size_t inflated_size);

#endif
