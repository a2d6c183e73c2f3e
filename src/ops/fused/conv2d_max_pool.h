/* conv2d_max_pool.h - a convolution whose result only max pooling reads, fused with the pooling; and its gradients.
 *
 * The convolution's result is never stored: each window of it is computed, and its maximum is kept. In the backward
 * pass only the maximum has a gradient, so a window of 2x2 leaves a quarter of the work. The pass fuse_max_pool makes
 * these ops; they have no gradients of their own.
 *
 * The gradients need the index of each window's maximum. So the result of conv2d_max_pool is two tensors in one, [2,
 * batch, height, width, filters]: the pooled values, then the index of the maximum in its window (row by row, from
 * 0). */
#ifndef LIANA_OPS_CONV2D_MAX_POOL_H
#define LIANA_OPS_CONV2D_MAX_POOL_H

#include "kernels/vector_kernels.h"
#include "ops/conv/window.h"

typedef struct liana__conv2d_max_pool_attributes {
    liana__window window; /* of the convolution */
    int64_t pool[2];      /* height and width of the pooling's window; its strides are the same; no padding */
    bool relu;            /* apply relu to the pooled values; forward only */
    int64_t size[2];      /* for gradients: height and width of the result, which is like the input or the kernel */
} liana__conv2d_max_pool_attributes;

/* conv2d_max_pool: relu?(max_pool(conv2d(x, kernel) + bias)), and the indices of the maxima. Its gradients are from
 * `pooled` (its result, of which only the indices are read) and dy [batch, height, width, filters]. Elements of dy that
 * are 0 may be skipped: they contribute nothing, whatever they are multiplied by. */

/* The sizes of the convolution and pooling to which a node of any of the three ops belongs. */
typedef struct liana__conv2d_max_pool_geometry {
    liana__geometry conv; /* its output is the convolution's, before pooling */
    int64_t pool[2];
    int64_t pooled[2]; /* height and width of the result */
} liana__conv2d_max_pool_geometry;
liana__conv2d_max_pool_geometry liana__conv2d_max_pool_geometry_of(const liana__node *node);

LIANA__DECLARE_VECTOR_KERNELS(conv2d_max_pool);
/* Winograd's algorithm for windows of 3x3. */
LIANA__DECLARE_VECTOR_KERNELS(conv2d_max_pool_winograd);
LIANA__DECLARE_VECTOR_KERNELS(conv2d_max_pool_input_gradient);
LIANA__DECLARE_VECTOR_KERNELS(conv2d_max_pool_kernel_gradient);

#endif
