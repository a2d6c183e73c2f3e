/* strided_walk.h - walks through several tensors of one shape, each with its own strides, plane by plane. Broadcasting,
 * slicing and transposing differ only in strides. Axes that all tensors walk as if they were one are joined first, so
 * most walks are a single plane of long rows. */
#ifndef LIANA_KERNELS_STRIDED_WALK_H
#define LIANA_KERNELS_STRIDED_WALK_H

#include "ir/shape.h"

enum { LIANA__WALK_OPERANDS = 4 };

/* Strides are in elements; 0 repeats. After liana__walk_join the rank is at least 2 and the last two axes are the plane
 * that the caller walks itself. */
typedef struct liana__walk {
    int num_operands;
    int rank;
    int64_t dims[LIANA_MAX_RANK];
    int64_t strides[LIANA__WALK_OPERANDS][LIANA_MAX_RANK];
} liana__walk;

/* Where a walk is: the offset of each operand's plane, in elements. Zero-initialise. */
typedef struct liana__walk_position {
    int64_t index[LIANA_MAX_RANK];
    int64_t offsets[LIANA__WALK_OPERANDS];
} liana__walk_position;

/* Drops axes of size 1, joins axes, and fills up to rank 2. */
void liana__walk_join(liana__walk *walk);

/* Moves an axis; the axes in between move by one place. */
void liana__walk_move_axis(liana__walk *walk, int from, int to);

/* A joined walk in which operand 0 is a contiguous tensor of shape `wide` and the others, of shapes[1..num_operands),
 * are broadcast to it. */
liana__walk liana__walk_broadcast(const liana_shape *wide, const liana_shape *const *shapes, int num_operands);

/* Goes on to the next plane; false after the last. */
static inline bool liana__walk_next(const liana__walk *walk, liana__walk_position *position)
{
    for (int axis = walk->rank - 3; axis >= 0; axis--) {
        bool more = ++position->index[axis] < walk->dims[axis];
        for (int i = 0; i < walk->num_operands; i++) {
            int64_t stride = walk->strides[i][axis];
            position->offsets[i] += more ? stride : stride - walk->dims[axis] * stride;
        }
        if (more) return true;
        position->index[axis] = 0;
    }
    return false;
}

#endif
