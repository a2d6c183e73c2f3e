/* matmul in f32 by oneDNN. */
#include "ops/matmul.h"
#include "kernels/onednn.h"
#include "ops/applicable.h"

static liana_status prepare(const liana__node *node, liana__prepared *prepared, liana__error *error)
{
    const liana__matmul_attributes *options = node->attributes;
    liana__matmul_sizes sizes = liana__matmul_sizes_of(node);
    liana__onednn_matmul matmul = {.batch = sizes.batch,
                                   .m = sizes.m,
                                   .n = sizes.n,
                                   .k = sizes.k,
                                   .transpose_a = options->transpose_a,
                                   .transpose_b = options->transpose_b};
    return liana__onednn_prepare_matmul(&matmul, prepared, error);
}

const liana__kernel liana__matmul_onednn = {.name = "onednn",
                                            .applicable = liana__applicable_f32,
                                            .prepare = prepare,
                                            .run = liana__onednn_run,
                                            .release = liana__onednn_release};
