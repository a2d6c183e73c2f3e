/* vector_epilogue.h - the epilogue of a sum (kernels/epilogue.h) for one instruction set. */
#ifndef LIANA_KERNELS_VECTOR_EPILOGUE_H
#define LIANA_KERNELS_VECTOR_EPILOGUE_H

#include "kernels/epilogue.h"
#include "kernels/vector_activations.h"

#include <math.h>

/* relu and relu6 are bounds; without an activation these are infinite. NaN passes. */
typedef struct epilogue {
    const float *scale, *shift; /* of each channel */
    float least, most;
    bool swish;
} epilogue;

/* For sums of all `channels` of a call. */
static inline epilogue epilogue_of(const liana__call *call, int64_t channels, int activation)
{
    const bool bounded = activation == LIANA__FUSED_RELU || activation == LIANA__FUSED_RELU6;
    const float *scale = call->src[LIANA__AFFINE_INPUT];
    return (epilogue){.scale = scale,
                      .shift = scale + channels,
                      .least = bounded ? 0 : -INFINITY,
                      .most = activation == LIANA__FUSED_RELU6 ? 6 : INFINITY,
                      .swish = activation == LIANA__FUSED_SWISH};
}

/* For a file's own dtype. */
LIANA__INLINE vector_float epilogue_swish(vector_float x)
{
#if defined(LIANA__STORES_BF16)
    return vector_swish_bf16(x);
#else
    return vector_swish(x);
#endif
}

LIANA__INLINE vector_float clamp(const epilogue *e, vector_float x)
{
    return vector_min(vector_set(e->most), vector_max(vector_set(e->least), x));
}

#endif
