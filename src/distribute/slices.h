/* slices.h - which owner updates which part of the variables: pure arithmetic.
 *
 * The things that a step updates stand in one order, the model's. The slices of the owners follow each other in this
 * order. A slice ends at the end of an item, or within a variable at a multiple of LIANA__CHUNK elements. */
#ifndef LIANA_DISTRIBUTE_SLICES_H
#define LIANA_DISTRIBUTE_SLICES_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Elements. Sums that an update needs are over chunks, so that they do not depend on the slices. */
enum { LIANA__CHUNK = 4096 };

/* A trainable variable, or the moving averages of one layer. */
typedef struct liana__slice_item {
    const char *name; /* for messages */
    int64_t size;     /* elements, at least 1 */
    bool whole;       /* has one owner: averages, and variables that the optimizer needs whole */
} liana__slice_item;

/* A place where a slice begins or ends: before this element of this item. `item` is the number of items at the end. */
typedef struct liana__slice_end {
    size_t item;
    int64_t element;
} liana__slice_end;

/* The elements of one item that a slice has. */
typedef struct liana__slice_piece {
    size_t item;
    int64_t begin, end;
} liana__slice_piece;

/* Cuts the items into `num_slices` slices: slice s is from ends[s] to ends[s + 1], and `ends` has room for
 * num_slices + 1. The largest slice is as small as it can be, and each end is near its balanced place. Slices may be
 * empty. Errors: INVALID_ARGUMENT for no slices or an item without elements, by name. */
liana_status liana__slices_choose(const liana__slice_item *items, size_t num_items, size_t num_slices,
                                  liana__slice_end *ends, liana__error *error) LIANA_MUST_USE;

/* Writes the pieces from ends[0] to ends[1] and returns their number. `pieces` has room for `num_items`, or is NULL if
 * only the number is wanted. */
size_t liana__slice_pieces(const liana__slice_item *items, size_t num_items, const liana__slice_end ends[2],
                           liana__slice_piece *pieces);

/* The elements from ends[0] to ends[1]. */
int64_t liana__slice_size(const liana__slice_item *items, const liana__slice_end ends[2]);

/* The chunks of `size` elements; the last one may be shorter. */
int64_t liana__num_chunks(int64_t size);

#endif
