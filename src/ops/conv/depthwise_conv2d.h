/* depthwise_conv2d.h - the kernels of depthwise convolutions. Each runs all three ops. */
#ifndef LIANA_OPS_DEPTHWISE_CONV2D_H
#define LIANA_OPS_DEPTHWISE_CONV2D_H

#include "kernels/vector_kernels.h"
#include "ops/conv/convolution.h"

LIANA__DECLARE_VECTOR_KERNELS(depthwise_conv2d);
/* They in lists: of bf16, then of f32. */
#if defined(LIANA_X86)
#define LIANA__DEPTHWISE_KERNELS                                                        \
    &liana__depthwise_conv2d_avx512_bf16, &liana__depthwise_conv2d_avx512_bf16_storage, \
        &liana__depthwise_conv2d_of_bf16_avx512, &liana__depthwise_conv2d_of_bf16_avx2, \
        LIANA__VECTOR_KERNELS(depthwise_conv2d)
#else
#define LIANA__DEPTHWISE_KERNELS LIANA__VECTOR_KERNELS(depthwise_conv2d)
#endif
/* bf16 with few channels. */
extern const liana__kernel liana__depthwise_conv2d_onednn_bf16;
/* bf16 computed in f32. */
LIANA__DECLARE_VECTOR_KERNELS(depthwise_conv2d_widened);
/* f32 for any processor, any number of channels and any multiplier; and bf16 computed in f32. */
extern const liana__kernel liana__depthwise_conv2d_plain, liana__depthwise_conv2d_plain_widened;

#endif
