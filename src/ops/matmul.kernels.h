/* matmul.kernels.h - products of two matrices, for one instruction set. */
#include "ops/matmul.h"
#include "ops/matrix_product.kernels.h"

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
    return (product){options->transpose_a, options->transpose_b, sizes.m, sizes.k, sizes.n};
}

static bool is_preferred(const liana__node *node, liana__isa isa, const char **reason)
{
    const product p = describe(node);
    return product_preferred(&p, node, isa, reason);
}

static liana_status prepare(const liana__node *node, liana__prepared *prepared, liana__error *error)
{
    (void)error;
    const product p = describe(node);
    product_prepare(&p, prepared);
    return LIANA_OK;
}

static liana_status run(const liana__call *call)
{
    const product p = describe(call->node);
    product_run(&p, call);
    return LIANA_OK;
}

static liana_status pack(const liana__call *call, void *packed)
{
    const product p = describe(call->node);
    product_pack(&p, call, packed);
    return LIANA_OK;
}

LIANA__VECTOR_KERNEL(matmul, .applicable = is_applicable, .preferred = is_preferred, .prepare = prepare, .run = run,
                     .pack = pack);
