/* gzip_index.h - an index of gzip files and zlib streams, for reading from their middle.
 *
 * Deflate has no index: decoding needs the 32 KiB before a place. One pass over the stream notes places about `span`
 * inflated bytes apart, each at the end of a deflate block, together with these 32 KiB. Reading can start at any of
 * them. (The method of zlib's own zran: Adler, "examples/zran.c".) */
#ifndef LIANA_FORMATS_GZIP_INDEX_H
#define LIANA_FORMATS_GZIP_INDEX_H

#include "base/error.h"
#include "base/file_view.h"

#include <stddef.h>
#include <stdint.h>

typedef struct liana__gzip_index liana__gzip_index;

/* Receives the inflated bytes in pieces, in order. A failure ends the pass. */
typedef liana_status (*liana__gzip_sink)(void *context, const uint8_t *bytes, size_t size, liana__error *error);

/* Makes the index in one pass over a gzip file (all members) or a zlib stream, and verifies its checksums. Only 32 KiB
 * for each place are kept. The file of the view must stay as long as the index. Errors: DATA_LOSS (truncated, damaged,
 * data after the end), OUT_OF_MEMORY, those of the view and of the sink. */
liana_status liana__gzip_index_build(const liana__file_view *file, uint64_t span, liana__gzip_sink sink, void *context,
                                     liana__gzip_index **index, liana__error *error) LIANA_MUST_USE;
void liana__gzip_index_free(liana__gzip_index *index);

/* Bytes of memory used. */
size_t liana__gzip_index_memory(const liana__gzip_index *index);

/* The number of places (at least 1; the first is at 0), and the position of each in the inflated bytes. */
size_t liana__gzip_index_count(const liana__gzip_index *index);
uint64_t liana__gzip_index_offset(const liana__gzip_index *index, size_t place);

/* Inflates [offset, offset + size) into `out`, beginning at the last place at or before `offset`. On any number of
 * threads. Errors: DATA_LOSS (the bytes have changed, or end too early), OUT_OF_MEMORY. */
liana_status liana__gzip_index_read(const liana__gzip_index *index, uint64_t offset, uint8_t *out, size_t size,
                                    liana__error *error) LIANA_MUST_USE;

#endif
