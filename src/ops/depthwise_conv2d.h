/* depthwise_conv2d.h - the kernels of depthwise convolutions. Each runs all three ops. */
#ifndef LIANA_OPS_DEPTHWISE_CONV2D_H
#define LIANA_OPS_DEPTHWISE_CONV2D_H

#include "kernels/vector_kernels.h"
#include "ops/conv2d.h"

LIANA__DECLARE_VECTOR_KERNELS(depthwise_conv2d);
/* bf16 with few channels. */
extern const liana__kernel liana__depthwise_conv2d_onednn_bf16;
/* bf16 computed in f32. */
LIANA__DECLARE_VECTOR_KERNELS(depthwise_conv2d_widened);
/* f32 for any processor, any number of channels and any multiplier; and bf16 computed in f32. */
extern const liana__kernel liana__depthwise_conv2d_plain, liana__depthwise_conv2d_plain_widened;

#endif
