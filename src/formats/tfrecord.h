/* tfrecord.h - TFRecord files: a sequence of records of bytes, each with checksums.
 *
 * A record is: its length (8 bytes, little-endian), the masked CRC-32C of these 8 bytes, the data, the masked CRC-32C
 * of the data (TensorFlow, "TFRecord and tf.train.Example"). A file may be compressed as a whole with gzip or zlib. */
#ifndef LIANA_FORMATS_TFRECORD_H
#define LIANA_FORMATS_TFRECORD_H

#include "base/error.h"
#include "formats/gzip.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct liana__tfrecord liana__tfrecord;

typedef struct liana__tfrecord_options {
    /* The limit of inflated bytes of a compressed file; 0: LIANA__DEFAULT_INFLATED_LIMIT. */
    size_t inflated_limit;
    /* If a record's length is damaged, the beginning of all later records is unknown. Keep those before it. */
    bool keep_start;
} liana__tfrecord_options;

/* Opens a file and makes the index of its records, in one pass over the lengths, each checked against its checksum. So
 * a truncated file is found before training, and not in the middle of an epoch. The file stays mapped; a compressed one
 * is inflated into memory. `options` may be NULL. An empty file has 0 records. Errors, with the file, the record and
 * the offset: NOT_FOUND, IO_ERROR, DATA_LOSS (truncated, wrong checksum), INVALID_DATA (not a TFRecord file),
 * OUT_OF_RANGE (inflates to more than the limit), OUT_OF_MEMORY. */
liana_status liana__tfrecord_open(const char *path, const liana__tfrecord_options *options, liana__tfrecord **file,
                                  liana__error *error) LIANA_MUST_USE;

/* The same for bytes in memory, which must outlive the result. `name` is used as the path in messages (copied). */
liana_status liana__tfrecord_open_bytes(const char *name, const uint8_t *bytes, size_t size,
                                        const liana__tfrecord_options *options, liana__tfrecord **file,
                                        liana__error *error) LIANA_MUST_USE;
void liana__tfrecord_close(liana__tfrecord *file);

size_t liana__tfrecord_count(const liana__tfrecord *file);
/* The path or name with which the file was opened. Borrowed. */
const char *liana__tfrecord_name(const liana__tfrecord *file);
/* The compression of the file: "none", "gzip" or "zlib". */
const char *liana__tfrecord_compression(const liana__tfrecord *file);

/* If only the records before a damage are kept (keep_start): why. `offset` is the place of the damage, `lost` the
 * number of bytes from there on. NULL: the file is not damaged. Borrowed. */
const char *liana__tfrecord_damage(const liana__tfrecord *file, uint64_t *offset, uint64_t *lost);

/* Bytes of memory used by the index, and by the records if they were inflated. */
size_t liana__tfrecord_memory(const liana__tfrecord *file);
/* The offset of a record (of its length), in the inflated data if the file is compressed. */
uint64_t liana__tfrecord_offset(const liana__tfrecord *file, size_t record);

/* The data of a record (numbered from 0), borrowed from the file until it is closed. Each call verifies the checksum.
 * On any number of threads. Errors: DATA_LOSS (names both checksums; or the file became shorter since it was opened),
 * OUT_OF_RANGE. */
liana_status liana__tfrecord_get(const liana__tfrecord *file, size_t record, const uint8_t **bytes, size_t *size,
                                 liana__error *error) LIANA_MUST_USE;

/* The same, but copies a mapped file's bytes into the buffer first. Then a file that is shortened meanwhile cannot end
 * the process (SIGBUS). The bytes are borrowed from the buffer, or from the file if it is in memory. */
liana_status liana__tfrecord_read(const liana__tfrecord *file, size_t record, liana__file_buffer *buffer,
                                  const uint8_t **bytes, size_t *size, liana__error *error) LIANA_MUST_USE;

/* Asks the system to fetch a record of a mapped file, which will be read soon. */
void liana__tfrecord_expect(const liana__tfrecord *file, size_t record);

/* Writes a file record by record. The complete file appears under its name at the commit. */
typedef struct liana__tfrecord_writer {
    bool compressed;
    size_t count; /* records written so far */
    liana__file_writer plain;
    liana__gzip_writer gzip;
} liana__tfrecord_writer;

liana_status liana__tfrecord_writer_begin(liana__tfrecord_writer *writer, const char *path, bool compress,
                                          liana__error *error) LIANA_MUST_USE;
/* After a failure, only liana__tfrecord_writer_abandon may be called. */
liana_status liana__tfrecord_writer_add(liana__tfrecord_writer *writer, const void *bytes, size_t size,
                                        liana__error *error) LIANA_MUST_USE;
/* With `durable` the file also survives a power cut. */
liana_status liana__tfrecord_writer_commit(liana__tfrecord_writer *writer, bool durable, liana__error *error)
    LIANA_MUST_USE;
/* Removes the file. Harmless after a commit, failed or not. */
void liana__tfrecord_writer_abandon(liana__tfrecord_writer *writer);

#endif
