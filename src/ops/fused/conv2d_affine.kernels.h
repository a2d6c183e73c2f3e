/* conv2d_affine.kernels.h - the epilogue of convolution kernels for conv2d_affine. */
#ifndef LIANA_OPS_CONV2D_AFFINE_KERNELS_H
#define LIANA_OPS_CONV2D_AFFINE_KERNELS_H

#include "kernels/vector_epilogue.h"
#include "ops/fused/conv2d_affine.h"

#include <math.h>

/* For sums of all `channels` of a call of one of these ops. */
static inline epilogue epilogue_of(const liana__call *call, int64_t channels)
{
    const int activation = liana__conv_activation_of(call->node);
    const bool bounded = activation == LIANA__BATCH_NORM_RELU || activation == LIANA__BATCH_NORM_RELU6;
    const float *scale = call->src[LIANA__AFFINE_INPUT];
    return (epilogue){.scale = scale,
                      .shift = scale + channels,
                      .least = bounded ? 0 : -INFINITY,
                      .most = activation == LIANA__BATCH_NORM_RELU6 ? 6 : INFINITY,
                      .swish = activation == LIANA__BATCH_NORM_SWISH};
}

#endif
