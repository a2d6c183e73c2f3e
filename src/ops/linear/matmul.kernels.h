/* matmul.kernels.h - products of two matrices, for one instruction set. */
#include "kernels/product.kernels.h"
#include "ops/linear/matmul.h"

static bool is_applicable(const liana__node *node, const char **reason)
{
    if (!product_dtype_applicable(node, reason)) return false;
    const liana__matmul_attributes *options = node->attributes;
    *reason = "several matrices";
    if (liana__matmul_sizes_of(node).batch != 1) return false;
    *reason = "both are transposed";
    if (options->transpose_a && options->transpose_b) return false;
    *reason = "a is transposed and the result not f32";
    return !options->transpose_a || node->dtype == LIANA_F32;
}

static product describe(const liana__node *node)
{
    const liana__matmul_attributes *options = node->attributes;
    const liana__matmul_sizes sizes = liana__matmul_sizes_of(node);
    return (product){.transpose_a = options->transpose_a,
                     .transpose_b = options->transpose_b,
                     .rows = sizes.m,
                     .depth = sizes.k,
                     .columns = sizes.n};
}

LIANA__PRODUCT_KERNEL(matmul, .applicable = is_applicable);
