/* strided_copy.h - copies a box of elements of any dtype between two layouts: what slice, pad, concat, transpose and
 * broadcast_to have in common. */
#ifndef LIANA_KERNELS_STRIDED_COPY_H
#define LIANA_KERNELS_STRIDED_COPY_H

#include "ir/shape.h"

/* dst[sum of index[i] * dst_strides[i]] = src[sum of index[i] * src_strides[i]] for each index below dims. Strides are
 * in elements, from the pointers given; those of src may be 0, which repeats it. No two elements of dst may meet. */
typedef struct liana__strided_copy {
    int rank;
    int64_t dims[LIANA_MAX_RANK];
    int64_t dst_strides[LIANA_MAX_RANK];
    int64_t src_strides[LIANA_MAX_RANK];
} liana__strided_copy;

/* Copies in runs as long as the layouts allow. `element_size` is 1, 2, 4 or 8 bytes. */
void liana__copy_strided(const liana__strided_copy *copy, size_t element_size, void *dst, const void *src);

#endif
