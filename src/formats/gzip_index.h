/* gzip_index.h - reading from the middle of gzip files and zlib streams.
 *
 * Deflate has no index: what comes next depends on the 32 KiB before it. One pass over the stream notes places, about
 * `span` inflated bytes apart, where a deflate block ends, with those 32 KiB; reading starts anew at any of them. (The
 * method of zlib's own zran: Adler, "examples/zran.c".) */
#ifndef LIANA_FORMATS_GZIP_INDEX_H
#define LIANA_FORMATS_GZIP_INDEX_H

#include "base/error.h"
#include "base/file_view.h"

#include <stddef.h>
#include <stdint.h>

typedef struct liana__gzip_index liana__gzip_index;

/* Gets the inflated bytes piece by piece, in order. A failure ends the pass. */
typedef liana_status (*liana__gzip_sink)(void *context, const uint8_t *bytes, size_t size, liana__error *error);

/* One pass over a gzip file (all of its members) or a zlib stream, whose checksums are verified; what the view is of
 * must stay as long as the index. Nothing that was inflated is kept but 32 KiB for each place. Errors: DATA_LOSS (cut
 * off, damaged, something else after the end), OUT_OF_MEMORY, those of the view and of the sink. */
liana_status liana__gzip_index_build(const liana__file_view *file, uint64_t span, liana__gzip_sink sink, void *context,
                                     liana__gzip_index **index, liana__error *error) LIANA_MUST_USE;
void liana__gzip_index_free(liana__gzip_index *index);

/* Bytes of memory that it takes. */
size_t liana__gzip_index_memory(const liana__gzip_index *index);

/* The number of places (at least 1; the first is at 0), and where each is in the inflated bytes. */
size_t liana__gzip_index_count(const liana__gzip_index *index);
uint64_t liana__gzip_index_offset(const liana__gzip_index *index, size_t place);

/* Inflates [offset, offset + size) into `out`, from the last place at or before `offset`. Any number of threads.
 * Errors: DATA_LOSS (the bytes have changed since, or end before that), OUT_OF_MEMORY. */
liana_status liana__gzip_index_read(const liana__gzip_index *index, uint64_t offset, uint8_t *out, size_t size,
                                    liana__error *error) LIANA_MUST_USE;

#endif
