/* indexing.h - parts of tensors, written as numpy writes them. */
#ifndef LIANA_INDEXING_H
#define LIANA_INDEXING_H

#include <liana/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What numpy's x[text] is: liana_index(x, "1:-1, ::2, None"). Between commas stand, one for each axis from the first:
 *
 *     3, -1         one element, from the end if negative; the axis is removed
 *     begin:end:step  a range; each part may be left out, negative ones count from the end, a negative step goes
 *                     backwards. As in numpy, a range is cut to the axis
 *     None, newaxis  a new axis of size 1
 *     ...            as many whole axes as are left over; once
 *
 * Axes behind the last one that is named are whole. Gradients flow to x. Errors: INVALID_ARGUMENT with the text, the
 * place in it and the axis: what cannot be read, too many axes, an element beyond the axis, a step of 0, and a range
 * without elements (liana has no empty tensors). */
#define liana_index(x, text) liana_index_at(LIANA_HERE, x, text)
LIANA_API liana_tensor liana_index_at(liana_location here, liana_tensor x, const char *text);

/* The slices of x at positions. `indices` is s32 [.., n], with n from 1 to the rank of x: each row of it is a position
 * in the first n axes of x. The result is [.., the other axes of x]: TensorFlow's gather_nd. Positions are clamped to
 * the axes, as in liana_op_gather. Gradients flow to x. Errors: INVALID_ARGUMENT (dtype, rank, n; more than 2^31 - 1
 * positions). */
#define liana_gather_nd(x, indices) liana_gather_nd_at(LIANA_HERE, x, indices)
LIANA_API liana_tensor liana_gather_nd_at(liana_location here, liana_tensor x, liana_tensor indices);

#ifdef __cplusplus
}
#endif
#endif
