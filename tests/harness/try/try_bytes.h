/* try_bytes.h - feeds any bytes to a reader of record files and touches all that it gives. The common code of the fuzz
 * targets and the mutation test: a reader may refuse, with a message that names the file, but must not misbehave. */
#ifndef LIANA_TESTS_TRY_BYTES_H
#define LIANA_TESTS_TRY_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each returns whether the reader accepted the bytes, and aborts where a promise of its header is broken. */

/* As they are. Records found are parsed as tf.Example too. */
bool liana__try_tfrecord(const uint8_t *bytes, size_t size);
/* With checksums put right along the way: random bytes hardly ever come with them. */
bool liana__try_tfrecord_repaired(const uint8_t *bytes, size_t size);
bool liana__try_example(const uint8_t *bytes, size_t size);
bool liana__try_idx(const uint8_t *bytes, size_t size);
/* As CIFAR's binary files: each kind of label, and with what is before a cut. */
bool liana__try_cifar(const uint8_t *bytes, size_t size);
/* Reads parts of gzip and zlib streams from their middle, and compares them with the whole. */
bool liana__try_gzip_index(const uint8_t *bytes, size_t size);
bool liana__try_csv(const uint8_t *bytes, size_t size);
/* As a table: each column a component; and stacked, padded, multi-hot and named ones. */
bool liana__try_csv_table(const uint8_t *bytes, size_t size);
bool liana__try_tar(const uint8_t *bytes, size_t size);
/* With the checksums of headers put right along the way. */
bool liana__try_tar_repaired(const uint8_t *bytes, size_t size);

#endif
