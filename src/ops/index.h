/* index.h - coordinates of elements, for the plain loops of ops that move elements. */
#ifndef LIANA_OPS_INDEX_H
#define LIANA_OPS_INDEX_H

#include "ir/shape.h"

/* The coordinates of the element at a row-major index. */
static inline void liana__coordinates(const liana_shape *shape, int64_t index, int64_t coordinates[LIANA_MAX_RANK])
{
    for (int axis = shape->rank - 1; axis >= 0; axis--) {
        coordinates[axis] = index % shape->dims[axis];
        index /= shape->dims[axis];
    }
}

/* The row-major index of the element at given coordinates. */
static inline int64_t liana__row_major_index(const liana_shape *shape, const int64_t coordinates[LIANA_MAX_RANK])
{
    int64_t index = 0;
    for (int axis = 0; axis < shape->rank; axis++) index = index * shape->dims[axis] + coordinates[axis];
    return index;
}

/* The number of elements before and after an axis: [.., axis, ..] is read as [outer, size, inner]. */
static inline int64_t liana__outer_size(const liana_shape *shape, int axis)
{
    int64_t size = 1;
    for (int i = 0; i < axis; i++) size *= shape->dims[i];
    return size;
}

static inline int64_t liana__inner_size(const liana_shape *shape, int axis)
{
    int64_t size = 1;
    for (int i = axis + 1; i < shape->rank; i++) size *= shape->dims[i];
    return size;
}

/* Copies one element bit for bit. Through a double, large integers would lose bits. */
static inline void liana__copy_element(void *dst, int64_t dst_index, const void *src, int64_t src_index,
                                       liana_dtype dtype)
{
    size_t size = liana_dtype_size(dtype);
    memcpy((unsigned char *)dst + (size_t)dst_index * size, (const unsigned char *)src + (size_t)src_index * size,
           size);
}

#endif
