/* depthwise_conv2d.h - the kernels of depthwise convolutions. Each runs all three ops. */
#ifndef LIANA_OPS_DEPTHWISE_CONV2D_H
#define LIANA_OPS_DEPTHWISE_CONV2D_H

#include "kernels/vector_kernels.h"
#include "ops/conv2d.h"

LIANA__DECLARE_VECTOR_KERNELS(depthwise_conv2d);
/* f32 for any processor, any number of channels and any multiplier. */
extern const liana__kernel liana__depthwise_conv2d_plain;

#endif
