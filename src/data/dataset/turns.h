/* turns.h - the order of elements that are taken from several parts in turn, as tf.data's interleave takes them.
 *
 * A cycle of places is gone round, block_length elements from each; a place whose part has ended is left, and gets the
 * next part when the cycle comes round to it. The lengths of the parts alone say when each is begun and at which place,
 * so the element at any index is found at once. */
#ifndef LIANA_DATA_TURNS_H
#define LIANA_DATA_TURNS_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* Finding an element looks at each place. */
enum { LIANA__MAX_TURNS = 1024 };

typedef struct liana__turns liana__turns;

/* cycle_length of 1 to LIANA__MAX_TURNS, block_length of at least 1; the lengths add up to less than 2^63. Errors:
 * OUT_OF_MEMORY. */
liana_status liana__turns_create(const uint64_t *lengths, size_t num_parts, size_t cycle_length, uint64_t block_length,
                                 liana__turns **turns, liana__error *error) LIANA_MUST_USE;
/* NULL is allowed. */
void liana__turns_destroy(liana__turns *turns);

/* The part of element *index, which must be less than all lengths together; *index becomes the index in the part. */
size_t liana__turns_find(const liana__turns *turns, uint64_t *index);

#endif
