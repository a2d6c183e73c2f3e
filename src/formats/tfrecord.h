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
    /* The most bytes that a compressed file may inflate to; 0 for LIANA__DEFAULT_INFLATED_LIMIT. */
    size_t inflated_limit;
    /* Where a record's length is damaged, and so where all later ones begin is not known: keep those before it. */
    bool keep_start;
} liana__tfrecord_options;

/* Opens a file and makes the index of its records: one pass over the lengths, each checked against its checksum, so
 * that a truncated file is found before training and not in the middle of an epoch. The file stays mapped (a
 * compressed one is inflated into memory). `options` may be NULL. An empty file has 0 records.
 * Errors: NOT_FOUND, IO_ERROR, DATA_LOSS (truncated, wrong checksum), INVALID_DATA (not a TFRecord at all),
 * OUT_OF_RANGE (inflates to more than the limit), OUT_OF_MEMORY; they name the file, the record and the offset. */
liana_status liana__tfrecord_open(const char *path, const liana__tfrecord_options *options, liana__tfrecord **file,
                                  liana__error *error) LIANA_MUST_USE;

/* The same for bytes in memory, which must outlive the result; `name` stands for the path in messages (copied). */
liana_status liana__tfrecord_open_bytes(const char *name, const uint8_t *bytes, size_t size,
                                        const liana__tfrecord_options *options, liana__tfrecord **file,
                                        liana__error *error) LIANA_MUST_USE;
void liana__tfrecord_close(liana__tfrecord *file);

size_t liana__tfrecord_count(const liana__tfrecord *file);
/* The path or name that the file was opened with. Borrowed. */
const char *liana__tfrecord_name(const liana__tfrecord *file);
/* The compression found: "none", "gzip" or "zlib". */
const char *liana__tfrecord_compression(const liana__tfrecord *file);

/* Where the records that are kept end, if they are not all (keep_start): the offset of the damage; `reason` is why, and
 * `lost` the bytes from there on. NULL: the file is whole. Borrowed. */
const char *liana__tfrecord_damage(const liana__tfrecord *file, uint64_t *offset, uint64_t *lost);

/* Bytes of memory that the index takes, and the records where they had to be inflated. */
size_t liana__tfrecord_memory(const liana__tfrecord *file);
/* Where a record begins: the offset of its length, in the inflated data where the file is compressed. */
uint64_t liana__tfrecord_offset(const liana__tfrecord *file, size_t record);

/* The data of a record (numbered from 0), borrowed from the file until it is closed; its checksum is verified at each
 * call. Any number of threads may call this at the same time.
 * Errors: DATA_LOSS (both checksums are named; the file became shorter since it was opened), OUT_OF_RANGE. */
liana_status liana__tfrecord_get(const liana__tfrecord *file, size_t record, const uint8_t **bytes, size_t *size,
                                 liana__error *error) LIANA_MUST_USE;

/* The same, copied from a mapped file into the buffer first: then no writer of the file can end the process by making
 * it shorter meanwhile (SIGBUS). The bytes are borrowed from the buffer, or from the file where that is in memory. */
liana_status liana__tfrecord_read(const liana__tfrecord *file, size_t record, liana__file_buffer *buffer,
                                  const uint8_t **bytes, size_t *size, liana__error *error) LIANA_MUST_USE;

/* Has the system fetch a record of a mapped file, which will be read soon. */
void liana__tfrecord_expect(const liana__tfrecord *file, size_t record);

/* Writes a file record by record. It appears under its name, whole, at the commit. */
typedef struct liana__tfrecord_writer {
    bool compressed;
    size_t count; /* records written so far */
    liana__file_writer plain;
    liana__gzip_writer gzip;
} liana__tfrecord_writer;

liana_status liana__tfrecord_writer_begin(liana__tfrecord_writer *writer, const char *path, bool compress,
                                          liana__error *error) LIANA_MUST_USE;
/* After a failure only liana__tfrecord_writer_abandon may follow. */
liana_status liana__tfrecord_writer_add(liana__tfrecord_writer *writer, const void *bytes, size_t size,
                                        liana__error *error) LIANA_MUST_USE;
/* With `durable` the file also survives a power cut. */
liana_status liana__tfrecord_writer_commit(liana__tfrecord_writer *writer, bool durable, liana__error *error)
    LIANA_MUST_USE;
/* Leaves no file behind. Harmless after a commit, whether it failed or not. */
void liana__tfrecord_writer_abandon(liana__tfrecord_writer *writer);

#endif
