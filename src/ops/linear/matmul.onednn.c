/* matmul by oneDNN. */
#include "ops/linear/matmul.h"
#include "kernels/applicable.h"
#include "kernels/onednn.h"
#include "kernels/widened.h"

static liana__onednn_matmul describe(const liana__node *node)
{
    const liana__matmul_attributes *options = node->attributes;
    liana__matmul_sizes sizes = liana__matmul_sizes_of(node);
    return (liana__onednn_matmul){.batch = sizes.batch,
                                  .m = sizes.m,
                                  .n = sizes.n,
                                  .k = sizes.k,
                                  .transpose_a = options->transpose_a,
                                  .transpose_b = options->transpose_b,
                                  .dtype = node->inputs[0]->dtype,
                                  .result = node->dtype};
}

static liana_status prepare(const liana__node *node, liana__prepared *prepared, liana__error *error)
{
    const liana__onednn_matmul matmul = describe(node);
    return liana__onednn_prepare_matmul(&matmul, prepared, error);
}

static liana_status prepare_widened(const liana__node *node, liana__prepared *prepared, liana__error *error)
{
    liana__onednn_matmul matmul = describe(node);
    matmul.dtype = matmul.result = LIANA_F32;
    liana__prepared plain = {0};
    LIANA_TRY(liana__onednn_prepare_matmul(&matmul, &plain, error));
    return liana__widened_prepare(node, &liana__matmul_onednn, &plain, prepared, error);
}

const liana__kernel liana__matmul_onednn = {
    .name = "onednn",
    .applicable = liana__applicable_f32,
    .prepare = prepare,
    LIANA__ONEDNN_MEMBERS,
};

const liana__kernel liana__matmul_onednn_bf16 = {
    .name = "onednn_bf16",
    .isa = LIANA__ISA_AVX512_BF16,
    .applicable = liana__applicable_bf16,
    .prepare = prepare,
    LIANA__ONEDNN_MEMBERS,
};

const liana__kernel liana__matmul_onednn_widened = {
    .name = "onednn_widened",
    .applicable = liana__applicable_bf16,
    .prepare = prepare_widened,
    LIANA__WIDENED_MEMBERS,
};
