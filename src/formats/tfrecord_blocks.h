/* tfrecord_blocks.h - compressed TFRecord files, read in blocks of a few megabytes.
 *
 * gzip and zlib have no index, so reading a record in the middle means inflating everything before it. One pass when
 * the file is opened finds the records and, every few megabytes, a place to start from (formats/gzip_index.h). A record
 * is then read with its block: all records that begin between two places. Several files share a cache of blocks. A
 * reader that needs the records of only a few blocks at a time inflates each block once. */
#ifndef LIANA_FORMATS_TFRECORD_BLOCKS_H
#define LIANA_FORMATS_TFRECORD_BLOCKS_H

#include "base/block_cache.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct liana__tfrecord_blocks liana__tfrecord_blocks;

/* The distance of places in inflated bytes; the largest record that is read (it must be in memory as a whole). */
enum { LIANA__TFRECORD_BLOCK = 4 << 20, LIANA__TFRECORD_LARGEST = 1 << 30 };

/* Whether a file begins like a compressed one. Errors: NOT_FOUND, IO_ERROR. */
liana_status liana__tfrecord_probe(const char *path, bool *compressed, liana__error *error) LIANA_MUST_USE;

/* Opens a compressed file and reads it once. `span` is LIANA__TFRECORD_BLOCK (less in tests). The cache must outlive
 * the file. Errors: those of liana__tfrecord_open; OUT_OF_RANGE (a record above LIANA__TFRECORD_LARGEST). */
liana_status liana__tfrecord_blocks_open(const char *path, uint64_t span, liana__block_cache *cache,
                                         liana__tfrecord_blocks **file, liana__error *error) LIANA_MUST_USE;
/* NULL is allowed. All blocks in which its records were read must be released before. */
void liana__tfrecord_blocks_close(liana__tfrecord_blocks *file);

const char *liana__tfrecord_blocks_name(const liana__tfrecord_blocks *file);
uint64_t liana__tfrecord_blocks_count(const liana__tfrecord_blocks *file);
/* The number of blocks with records; the first record of each. */
size_t liana__tfrecord_blocks_num_blocks(const liana__tfrecord_blocks *file);
uint64_t liana__tfrecord_blocks_first(const liana__tfrecord_blocks *file, size_t block);

/* The position of a record in the inflated bytes. */
/* Bytes of memory that the index takes. */
size_t liana__tfrecord_blocks_memory(const liana__tfrecord_blocks *file);
uint64_t liana__tfrecord_blocks_offset(const liana__tfrecord_blocks *file, uint64_t record);

/* The data of a record (numbered from 0). They are valid as long as *held, the block that is in use (NULL at first), is
 * not released or used for another call. Each call verifies the checksums. On any number of threads, each with its own
 * `held`. Errors: DATA_LOSS, OUT_OF_RANGE, OUT_OF_MEMORY. */
liana_status liana__tfrecord_blocks_get(const liana__tfrecord_blocks *file, uint64_t record, liana__block **held,
                                        const uint8_t **bytes, size_t *size, liana__error *error) LIANA_MUST_USE;

#endif
