/* product.h - products of two matrices, as their kernels see them: matmul, and convolutions of single pixels (1x1) with
 * their gradients (`product` of an op). One kernel for each instruction set runs them. */
#ifndef LIANA_OPS_PRODUCT_H
#define LIANA_OPS_PRODUCT_H

#include "ir/op.h"
#include "kernels/geometry.h"

/* C [rows, columns], a sum of `depth` products: A [rows, depth] times B [depth, columns], which is small compared with
 * A and may be stored transposed; or A^T B with A stored as [depth, rows], a long sum. If `strided`, rows in memory are
 * pixels of a grid in images: those of A, or of C if B is transposed; then the pixels in between are 0. */
typedef struct liana__product {
    bool transpose_a, transpose_b; /* not both */
    int64_t rows, depth, columns;
    bool strided;
    liana__pixel_grid grid;
    bool finished;  /* an epilogue follows, ... */
    int activation; /* ... with this one: liana__fused_activation */
    bool measured;  /* statistics of C's columns may be wanted */
} liana__product;

/* Whether a node of one of these ops is a product; else why not. */
static inline bool liana__is_product(const liana__node *node, const char **reason)
{
    liana__product product;
    return node->op->product(node, &product, reason);
}

/* Of a node that is one. */
static inline liana__product liana__product_of(const liana__node *node)
{
    const char *reason;
    liana__product product = {0};
    node->op->product(node, &product, &reason);
    return product;
}

#endif
