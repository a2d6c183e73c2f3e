/* tfrecord.h - TFRecord files: a sequence of records of bytes, each with checksums.
 *
 * A record is: its length (8 bytes, little-endian), the masked CRC-32C of these 8 bytes, the data, the masked CRC-32C
 * of the data (TensorFlow, "TFRecord and tf.train.Example"). A file may be compressed as a whole with gzip or zlib. */
#ifndef LIANA_FORMATS_TFRECORD_H
#define LIANA_FORMATS_TFRECORD_H

#include "base/block_cache.h"
#include "base/error.h"
#include "base/file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct liana__tfrecord liana__tfrecord;

/* Inflated bytes of a block; the largest record that is read in blocks (it must be in memory as a whole). */
enum { LIANA__TFRECORD_BLOCK = 4 << 20, LIANA__TFRECORD_LARGEST = 1 << 30 };

typedef struct liana__tfrecord_options {
    /* The limit of inflated bytes of a compressed file that is read as a whole; 0: LIANA__DEFAULT_INFLATED_LIMIT. */
    size_t inflated_limit;
    /* If a record's length is damaged, the beginning of all later records is unknown. Keep those before it. */
    bool keep_start;
    /* A compressed file is read in blocks, which this cache keeps. It must outlive the file. NULL: as a whole. */
    liana__block_cache *cache;
    uint64_t block_size; /* 0: LIANA__TFRECORD_BLOCK (tests have less) */
} liana__tfrecord_options;

/* Opens a file and makes the index of its records, in one pass over the lengths, each checked against its checksum. So
 * a truncated file is found before training, and not in the middle of an epoch. The file stays mapped. `options` may be
 * NULL. An empty file has 0 records.
 *
 * A compressed file is inflated into memory, or read in blocks. gzip and zlib have no index, so reading a record in the
 * middle means inflating everything before it. One pass when the file is opened finds the records and, every few
 * megabytes, a place to start from (formats/gzip_index.h). A record is then read with its block: all records that begin
 * between two places. A reader that needs the records of only a few blocks at a time inflates each block once.
 *
 * Errors, with the file, the record and the offset: NOT_FOUND, IO_ERROR, DATA_LOSS (truncated, wrong checksum),
 * INVALID_DATA (not a TFRecord file), OUT_OF_RANGE (inflates to more than the limit, a record above
 * LIANA__TFRECORD_LARGEST), OUT_OF_MEMORY. */
liana_status liana__tfrecord_open(const char *path, const liana__tfrecord_options *options, liana__tfrecord **file,
                                  liana__error *error) LIANA_MUST_USE;
/* Whether a file begins like a compressed one. Errors: NOT_FOUND, IO_ERROR. */
liana_status liana__tfrecord_probe(const char *path, bool *compressed, liana__error *error) LIANA_MUST_USE;
/* NULL is allowed. All readers must be freed before. */
void liana__tfrecord_close(liana__tfrecord *file);

size_t liana__tfrecord_count(const liana__tfrecord *file);
/* The path or name with which the file was opened. Borrowed. */
const char *liana__tfrecord_name(const liana__tfrecord *file);
/* The compression of the file: "none", "gzip" or "zlib". */
const char *liana__tfrecord_compression(const liana__tfrecord *file);

/* If only the records before a damage are kept (keep_start): why. `offset` is the place of the damage, `lost` the
 * number of bytes from there on. NULL: the file is not damaged. Borrowed. */
const char *liana__tfrecord_damage(const liana__tfrecord *file, uint64_t *offset, uint64_t *lost);

/* Bytes of memory used by the index, and by the records if they were inflated as a whole. */
size_t liana__tfrecord_memory(const liana__tfrecord *file);
/* The number of blocks with records (0: the file is not read in blocks); the first record of each. */
size_t liana__tfrecord_num_blocks(const liana__tfrecord *file);
uint64_t liana__tfrecord_first(const liana__tfrecord *file, size_t block);
/* The offset of a record (of its length), in the inflated data if the file is compressed. */
uint64_t liana__tfrecord_offset(const liana__tfrecord *file, size_t record);

/* The data of a record (numbered from 0) of a file that is not read in blocks, borrowed from the file until it is
 * closed. Each call verifies the checksum. On any number of threads. Errors: DATA_LOSS (names both checksums; or the
 * file became shorter since it was opened), OUT_OF_RANGE. */
liana_status liana__tfrecord_get(const liana__tfrecord *file, size_t record, const uint8_t **bytes, size_t *size,
                                 liana__error *error) LIANA_MUST_USE;

/* The memory that one thread reads with. Zero-initialise; free with liana__tfrecord_reader_free. */
typedef struct liana__tfrecord_reader {
    liana__file_buffer buffer; /* a record of a file that is not compressed */
    liana__block *block;       /* that was read last */
} liana__tfrecord_reader;
/* The same for any file. A mapped file's bytes are copied first. Then a file that is shortened meanwhile cannot end the
 * process (SIGBUS). The bytes are valid until the reader's next use. Errors: also OUT_OF_MEMORY. */
liana_status liana__tfrecord_read(const liana__tfrecord *file, size_t record, liana__tfrecord_reader *reader,
                                  const uint8_t **bytes, size_t *size, liana__error *error) LIANA_MUST_USE;
/* Bytes of memory that it has. */
size_t liana__tfrecord_reader_bytes(const liana__tfrecord_reader *reader);
void liana__tfrecord_reader_free(liana__tfrecord_reader *reader);

/* Asks the system to fetch a record of a mapped file, which will be read soon. */
void liana__tfrecord_expect(const liana__tfrecord *file, size_t record);

/* Writes a file record by record. The complete file appears under its name at the commit. */
typedef struct liana__tfrecord_writer {
    size_t count; /* records written so far */
    liana__file_writer file;
} liana__tfrecord_writer;

liana_status liana__tfrecord_writer_begin(liana__tfrecord_writer *writer, const char *path, liana__error *error)
    LIANA_MUST_USE;
/* After a failure, only liana__tfrecord_writer_abandon may be called. */
liana_status liana__tfrecord_writer_add(liana__tfrecord_writer *writer, const void *bytes, size_t size,
                                        liana__error *error) LIANA_MUST_USE;
/* With `durable` the file also survives a power cut. */
liana_status liana__tfrecord_writer_commit(liana__tfrecord_writer *writer, bool durable, liana__error *error)
    LIANA_MUST_USE;
/* Removes the file. Harmless after a commit, failed or not. */
void liana__tfrecord_writer_abandon(liana__tfrecord_writer *writer);

#endif
