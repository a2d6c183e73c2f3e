/* pool2d.h - the common code of the pooling ops and their kernels. */
#ifndef LIANA_OPS_POOL2D_H
#define LIANA_OPS_POOL2D_H

#include "kernels/vector_kernels.h"
#include "ops/conv/window.h"

typedef struct liana__pool_attributes {
    int64_t size[2]; /* the window's height and width; required */
    liana__window window;
    int64_t input[2]; /* for average_pool2d_gradient: height and width of the result */
} liana__pool_attributes;

/* max_pool2d_gradient: each element of dy is added to the first maximum of its window in x. average_pool2d_gradient
 * [batch, attributes->input, channels]: each is divided equally among the cells of its window. */

/* The sizes of the pooling to which a node of any of the four ops belongs. */
liana__geometry liana__pool2d_geometry(const liana__node *node);

/* The window's cells [begin, end) of output `out` that are inside the input, along an axis; never empty. */
static inline void liana__pool_taps(const liana__geometry *g, int axis, int64_t out, int64_t *begin, int64_t *end)
{
    int64_t first = out * g->strides[axis] - g->padding_low[axis];
    *begin = first < 0 ? -first : 0;
    *end = first + g->window[axis] > g->input[axis] ? g->input[axis] - first : g->window[axis];
}

LIANA__DECLARE_VECTOR_KERNELS(max_pool2d);
LIANA__DECLARE_VECTOR_KERNELS(max_pool2d_gradient);
LIANA__DECLARE_VECTOR_KERNELS(average_pool2d);
LIANA__DECLARE_VECTOR_KERNELS(average_pool2d_gradient);

#endif
