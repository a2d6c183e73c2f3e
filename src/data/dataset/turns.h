/* turns.h - the order of elements that are taken from several parts in turn, as by tf.data's interleave.
 *
 * There is a cycle of places. In each round, each place gives block_length elements. When the part at a place has
 * ended, the next part takes the place in the next round. The lengths of the parts say when and at which place each
 * part begins. So the element at any index is found directly. */
#ifndef LIANA_DATA_TURNS_H
#define LIANA_DATA_TURNS_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* The largest number of places; finding an element looks at each of them. */
enum { LIANA__MAX_TURNS = 1024 };

typedef struct liana__turns liana__turns;

/* cycle_length is 1 to LIANA__MAX_TURNS, block_length at least 1; the lengths add up to less than 2^63. Errors:
 * OUT_OF_MEMORY. */
liana_status liana__turns_create(const uint64_t *lengths, size_t num_parts, size_t cycle_length, uint64_t block_length,
                                 liana__turns **turns, liana__error *error) LIANA_MUST_USE;
/* NULL is allowed. */
void liana__turns_destroy(liana__turns *turns);

/* The part of element *index, which must be less than the sum of all lengths. *index becomes the index in the part. */
size_t liana__turns_find(const liana__turns *turns, uint64_t *index);

#endif
