/* count_non_finite.h - the builder of an op that only liana itself uses, and the common code of its kernels. */
#ifndef LIANA_OPS_COUNT_NON_FINITE_H
#define LIANA_OPS_COUNT_NON_FINITE_H

#include "kernels/vector_kernels.h"
#include "ops/ops.h"

LIANA__DECLARE_VECTOR_KERNELS(count_non_finite);

/* The elements of a tensor that are counted together: the first chunk, the next, and the rest. */
enum { LIANA__FINITE_CHUNK = 16384 };
/* The most tensors of one node. */
enum { LIANA__MAX_FINITE_INPUTS = 1024 };

/* The number of NaNs and infinities in each chunk of each tensor, one tensor after the other: s32 [chunks of all]. */
liana_tensor liana__count_non_finite_at(liana_location here, const liana_tensor *tensors, size_t count);

/* The number of chunks of a tensor. */
int64_t liana__finite_chunks(const liana_shape *shape);

/* Counts among `size` elements from element `first` on. */
typedef int32_t liana__count_elements(const void *values, liana_dtype dtype, int64_t first, int64_t size);

/* Run by a kernel: counts the chunks of its tile. */
void liana__count_chunks(const liana__call *call, liana__count_elements *count);
liana_status liana__count_cut(const liana__node *node, liana__prepared *prepared, liana__error *error);

#endif
