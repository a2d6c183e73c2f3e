/* matmul.h - for the kernels of matmul. */
#ifndef LIANA_OPS_MATMUL_H
#define LIANA_OPS_MATMUL_H

#include "ops/ops.h"

typedef struct liana__matmul_attributes {
    bool transpose_a;
    bool transpose_b;
    bool wide;
} liana__matmul_attributes;

/* [batch, m, k] x [batch, k, n] after transposition; batch is the product of the leading axes. */
typedef struct liana__matmul_sizes {
    int64_t batch, m, n, k;
} liana__matmul_sizes;

liana__matmul_sizes liana__matmul_sizes_of(const liana__node *node);

/* f32; bf16 if the processor has instructions for it; bf16 computed in f32 elsewhere. */
extern const liana__kernel liana__matmul_onednn, liana__matmul_onednn_bf16, liana__matmul_onednn_widened;

#endif
