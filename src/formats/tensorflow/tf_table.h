/* tf_table.h - sorted tables of keys and values, TensorFlow's copy of LevelDB's format
 * (tensorflow/core/lib/io/table_format.txt): the index of a checkpoint is one.
 *
 * The format: blocks of entries; a block that lists these blocks; a footer that says where that list is. Each block
 * ends with its compression (0: none, 1: Snappy) and the masked CRC-32C of both. A key is stored as the number of bytes
 * that it has in common with the key before it, and the rest. */
#ifndef LIANA_FORMATS_TENSORFLOW_TF_TABLE_H
#define LIANA_FORMATS_TENSORFLOW_TF_TABLE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The last bytes of a file that tell that it is a table. */
enum { LIANA__TF_TABLE_MAGIC = 8 };
bool liana__is_tf_table(const uint8_t end[LIANA__TF_TABLE_MAGIC]);

typedef struct liana__tf_entry {
    const uint8_t *key; /* borrowed until the visit returns, as is the value */
    size_t key_size;
    const uint8_t *value;
    size_t value_size;
} liana__tf_entry;
typedef liana_status (*liana__tf_visit)(void *user, const liana__tf_entry *entry, liana__error *error);

/* Visits all entries of a table in memory, in the order of their keys. `name` is for messages. Keys have at most 64 kB,
 * expanded blocks 64 MB. Errors: INVALID_DATA (no table; keys out of order), DATA_LOSS (truncated, or a checksum is
 * wrong), OUT_OF_RANGE, UNIMPLEMENTED (another compression); those of the visits. */
liana_status liana__tf_table_read(const char *name, const uint8_t *bytes, size_t size, liana__tf_visit visit,
                                  void *user, liana__error *error) LIANA_MUST_USE;

#endif
