#include "kernels/strided_copy.h"

typedef unsigned char byte;

/* Drops axes of size 1 and joins neighbours that both layouts walk as if they were one axis. */
static liana__strided_copy join_axes(const liana__strided_copy *copy)
{
    liana__strided_copy joined = {0};
    for (int i = 0; i < copy->rank; i++) {
        int64_t size = copy->dims[i], dst_stride = copy->dst_strides[i], src_stride = copy->src_strides[i];
        if (size == 1) continue;
        int last = joined.rank - 1;
        if (last >= 0 && joined.dst_strides[last] == size * dst_stride &&
            joined.src_strides[last] == size * src_stride) {
            joined.dims[last] *= size;
        } else {
            last = joined.rank++;
            joined.dims[last] = size;
        }
        joined.dst_strides[last] = dst_stride;
        joined.src_strides[last] = src_stride;
    }
    return joined;
}

static void move_axis_to(liana__strided_copy *copy, int from, int to)
{
    int64_t size = copy->dims[from], dst_stride = copy->dst_strides[from], src_stride = copy->src_strides[from];
    for (int i = from; i < to; i++) {
        copy->dims[i] = copy->dims[i + 1];
        copy->dst_strides[i] = copy->dst_strides[i + 1];
        copy->src_strides[i] = copy->src_strides[i + 1];
    }
    copy->dims[to] = size;
    copy->dst_strides[to] = dst_stride;
    copy->src_strides[to] = src_stride;
}

/* Strides are in bytes from here on. Called with a constant element size, so that each becomes a loop of its own. */
static inline __attribute__((always_inline)) void copy_elements(byte *restrict dst, int64_t dst_stride,
                                                                const byte *restrict src, int64_t src_stride,
                                                                int64_t count, size_t element_size)
{
    for (int64_t i = 0; i < count; i++) memcpy(dst + i * dst_stride, src + i * src_stride, element_size);
}

static void copy_row(byte *dst, int64_t dst_stride, const byte *src, int64_t src_stride, int64_t count,
                     size_t element_size)
{
    if (dst_stride == (int64_t)element_size && src_stride == (int64_t)element_size) {
        memcpy(dst, src, (size_t)count * element_size);
        return;
    }
    switch (element_size) {
    case 1: copy_elements(dst, dst_stride, src, src_stride, count, 1); return;
    case 2: copy_elements(dst, dst_stride, src, src_stride, count, 2); return;
    case 4: copy_elements(dst, dst_stride, src, src_stride, count, 4); return;
    default: copy_elements(dst, dst_stride, src, src_stride, count, 8); return;
    }
}

/* The last two axes. Where one layout is contiguous along the first and the other along the second (a transposition),
 * square tiles keep the lines that are touched in the cache. */
static void copy_plane(const liana__strided_copy *copy, size_t element_size, byte *dst, const byte *src)
{
    int rows_axis = copy->rank - 2, columns_axis = copy->rank - 1;
    int64_t rows = copy->dims[rows_axis], columns = copy->dims[columns_axis];
    int64_t dst_row = copy->dst_strides[rows_axis], dst_column = copy->dst_strides[columns_axis];
    int64_t src_row = copy->src_strides[rows_axis], src_column = copy->src_strides[columns_axis];
    int64_t tile = src_row == (int64_t)element_size && dst_column == (int64_t)element_size ? 32 : columns;
    for (int64_t first = 0; first < columns; first += tile) {
        int64_t width = columns - first < tile ? columns - first : tile;
        for (int64_t row = 0; row < rows; row++) {
            copy_row(dst + row * dst_row + first * dst_column, dst_column, src + row * src_row + first * src_column,
                     src_column, width, element_size);
        }
    }
}

static void copy_planes(const liana__strided_copy *copy, size_t element_size, byte *dst, const byte *src)
{
    int64_t index[LIANA_MAX_RANK] = {0};
    for (;;) {
        copy_plane(copy, element_size, dst, src);
        int axis = copy->rank - 3;
        for (; axis >= 0; axis--) {
            dst += copy->dst_strides[axis];
            src += copy->src_strides[axis];
            if (++index[axis] < copy->dims[axis]) break;
            dst -= copy->dims[axis] * copy->dst_strides[axis];
            src -= copy->dims[axis] * copy->src_strides[axis];
            index[axis] = 0;
        }
        if (axis < 0) return;
    }
}

void liana__copy_strided(const liana__strided_copy *copy, size_t element_size, void *dst, const void *src)
{
    liana__strided_copy joined = join_axes(copy);
    int last = joined.rank - 1;
    for (int axis = 0; axis < last - 1; axis++) {
        if (joined.dst_strides[last] == 1 && joined.src_strides[last] != 1 && joined.src_strides[axis] == 1) {
            move_axis_to(&joined, axis, last - 1);
            break;
        }
    }
    for (int i = 0; i < joined.rank; i++) {
        joined.dst_strides[i] *= (int64_t)element_size;
        joined.src_strides[i] *= (int64_t)element_size;
    }
    if (joined.rank == 0) {
        memcpy(dst, src, element_size);
    } else if (joined.rank == 1) {
        copy_row(dst, joined.dst_strides[0], src, joined.src_strides[0], joined.dims[0], element_size);
    } else {
        copy_planes(&joined, element_size, dst, src);
    }
}
