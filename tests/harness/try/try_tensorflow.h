/* try_tensorflow.h - makes indexes of TensorFlow's checkpoints, and feeds bytes to their reader: for fuzz targets and
 * mutation tests. */
#ifndef LIANA_TESTS_TRY_TENSORFLOW_H
#define LIANA_TESTS_TRY_TENSORFLOW_H

#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A number as protocol buffers have it. */
void liana__test_tf_number(liana__text *text, uint64_t number);
/* An entry of a block, which has nothing in common with the key before it. */
void liana__test_tf_entry(liana__text *block, const void *key, size_t key_size, const void *value, size_t value_size);
/* The list of restarts that ends a block: one at its beginning. */
void liana__test_tf_end(liana__text *block);
/* A table of one block, which is listed `times` times. To be freed. */
liana__text liana__test_tf_table(const void *block, size_t size, char compression, int times);

/* The first byte says what the others are: a whole index (0); its only block, stored (1) or compressed (2), which gets
 * a right checksum; the graph of objects of a checkpoint (3). Aborts when a promise is broken; returns whether the
 * checkpoint was good. */
bool liana__try_tf_checkpoint(const uint8_t *bytes, size_t size);

#endif
