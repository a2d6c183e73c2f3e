/* layer_norm.h - the common code of the ops that normalise rows, and of their kernels.
 *
 * Throughout: x and dy [.., n], seen as rows of n; gamma and beta [n]; of a row r = 1 / sqrt(variance + epsilon), and
 * xhat = (x - mean) r. With `about_zero` the mean counts as 0: variance is the mean of x^2. */
#ifndef LIANA_OPS_LAYER_NORM_H
#define LIANA_OPS_LAYER_NORM_H

#include "kernels/vector_kernels.h"
#include "ops/ops.h"

typedef struct liana__layer_norm_attributes {
    double epsilon;
    bool about_zero;
} liana__layer_norm_attributes;

typedef struct liana__layer_norm_sizes {
    int64_t rows, length;
} liana__layer_norm_sizes;

static inline liana__layer_norm_sizes liana__layer_norm_sizes_of(const liana__node *node)
{
    const liana_shape *x = liana__input_shape(node, 0);
    const int64_t length = x->dims[x->rank - 1];
    return (liana__layer_norm_sizes){liana_shape_size(x) / length, length};
}

static inline const liana__layer_norm_attributes *liana__layer_norm_attributes_of(const liana__node *node)
{
    return node->attributes;
}

LIANA__DECLARE_VECTOR_KERNELS(layer_norm);
LIANA__DECLARE_VECTOR_KERNELS(layer_norm_input_gradient);
LIANA__DECLARE_VECTOR_KERNELS(layer_norm_gradient_sums);

#endif
