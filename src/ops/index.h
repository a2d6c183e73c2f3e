/* index.h - shapes, axes and indices: checks, and coordinates of elements for the plain loops of ops that move them. */
#ifndef LIANA_OPS_INDEX_H
#define LIANA_OPS_INDEX_H

#include "ir/op.h"
#include "ir/shape.h"

/* Fails unless an input, which messages name, is s32. */
liana_status liana__infer_s32(liana__infer *infer, size_t index, const char *name);
/* The shape that an option gives, of at least `least` axes. */
liana_status liana__infer_given_shape(liana__infer *infer, const liana__ints *given, int least, liana_shape *shape);

/* A shape or axes, as an option. */
static inline liana__ints liana__ints_of(const int64_t *values, int64_t count)
{
    liana__ints ints = {.count = count};
    for (int64_t i = 0; i < count && i < LIANA_MAX_RANK; i++) ints.values[i] = values[i];
    return ints;
}

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

/* The index of the element at given coordinates of a tensor with strides. */
static inline int64_t liana__strided_index(const int64_t *strides, const int64_t *coordinates, int rank)
{
    int64_t index = 0;
    for (int axis = 0; axis < rank; axis++) index += coordinates[axis] * strides[axis];
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
    memmove((unsigned char *)dst + (size_t)dst_index * size, (const unsigned char *)src + (size_t)src_index * size,
            size);
}

/* The plain loop of an op that moves elements. `source` gives the index in an input of the element that comes to the
 * coordinates `at` of the result, which it may change; *input is 0 before. */
typedef int64_t liana__element_source(const liana__node *node, const liana__call *call, int64_t *at, size_t *input);
static inline liana_status liana__move_elements(const liana__call *call, liana__element_source *source)
{
    const liana__node *node = call->node;
    int64_t count = liana_shape_size(&node->shape), at[LIANA_MAX_RANK];
    for (int64_t i = 0; i < count; i++) {
        size_t input = 0;
        liana__coordinates(&node->shape, i, at);
        const int64_t from = source(node, call, at, &input);
        liana__copy_element(call->dst, i, call->src[input], from, node->dtype);
    }
    return LIANA_OK;
}

#endif
