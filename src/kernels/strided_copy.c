/* Copies elements between two layouts. */
#include "kernels/strided_copy.h"

typedef unsigned char byte;

/* Strides are in bytes. Called with a constant element size, so that each size becomes a loop of its own. */
static inline __attribute__((always_inline)) void copy_elements(byte *restrict dst, int64_t dst_stride,
                                                                const byte *restrict src, int64_t src_stride,
                                                                int64_t count, size_t element_size)
{
    for (int64_t i = 0; i < count; i++) memcpy(dst + i * dst_stride, src + i * src_stride, element_size);
}

/* One element over and over. */
static void fill_row(byte *dst, const byte *src, size_t size, size_t element_size)
{
    byte pattern[64];
    for (size_t i = 0; i < sizeof pattern; i += element_size) memcpy(pattern + i, src, element_size);
    size_t i = 0;
    for (; i + sizeof pattern <= size; i += sizeof pattern) memcpy(dst + i, pattern, sizeof pattern);
    memcpy(dst + i, pattern, size - i);
}

static void copy_row(byte *dst, int64_t dst_stride, const byte *src, int64_t src_stride, int64_t count,
                     size_t element_size)
{
    if (dst_stride == (int64_t)element_size && src_stride == (int64_t)element_size) {
        memcpy(dst, src, (size_t)count * element_size);
        return;
    }
    if (dst_stride == (int64_t)element_size && src_stride == 0) {
        fill_row(dst, src, (size_t)count * element_size, element_size);
        return;
    }
    switch (element_size) {
    case 1: copy_elements(dst, dst_stride, src, src_stride, count, 1); return;
    case 2: copy_elements(dst, dst_stride, src, src_stride, count, 2); return;
    case 4: copy_elements(dst, dst_stride, src, src_stride, count, 4); return;
    default: copy_elements(dst, dst_stride, src, src_stride, count, 8); return;
    }
}

/* Where src is contiguous along the rows' axis and dst along the columns' (a transposition), narrow tiles keep the
 * lines that are touched in the cache. */
static void copy_plane(const liana__walk *walk, size_t element_size, byte *dst, const byte *src)
{
    int row_axis = walk->rank - 2, column_axis = walk->rank - 1;
    int64_t bytes = (int64_t)element_size, rows = walk->dims[row_axis], columns = walk->dims[column_axis];
    int64_t dst_row = walk->strides[0][row_axis] * bytes, dst_column = walk->strides[0][column_axis] * bytes;
    int64_t src_row = walk->strides[1][row_axis] * bytes, src_column = walk->strides[1][column_axis] * bytes;
    int64_t tile = src_row == bytes && dst_column == bytes ? 32 : columns;
    for (int64_t first = 0; first < columns; first += tile) {
        int64_t width = columns - first < tile ? columns - first : tile;
        for (int64_t row = 0; row < rows; row++) {
            copy_row(dst + row * dst_row + first * dst_column, dst_column, src + row * src_row + first * src_column,
                     src_column, width, element_size);
        }
    }
}

/* A transposition walks the plane in which dst and src are contiguous along one axis each. */
static void choose_plane(liana__walk *walk)
{
    int last = walk->rank - 1;
    if (walk->strides[0][last] != 1 || walk->strides[1][last] == 1) return;
    for (int axis = 0; axis < last - 1; axis++) {
        if (walk->strides[1][axis] != 1) continue;
        liana__walk_move_axis(walk, axis, last - 1);
        return;
    }
}

void liana__copy_strided(const liana__walk *walk, size_t element_size, void *dst, const void *src)
{
    liana__walk joined = *walk;
    liana__walk_join(&joined);
    choose_plane(&joined);
    liana__walk_position position = {0};
    do {
        copy_plane(&joined, element_size, (byte *)dst + position.offsets[0] * (int64_t)element_size,
                   (const byte *)src + position.offsets[1] * (int64_t)element_size);
    } while (liana__walk_next(&joined, &position));
}
