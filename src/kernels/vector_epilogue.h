/* vector_epilogue.h - what follows a sum before it is stored: a factor and a term of its channel, maybe a residual, and
 * an activation. */
#ifndef LIANA_KERNELS_VECTOR_EPILOGUE_H
#define LIANA_KERNELS_VECTOR_EPILOGUE_H

#include "kernels/vector_activations.h"

/* relu and relu6 are bounds; without an activation these are infinite. NaN passes. */
typedef struct epilogue {
    const float *scale, *shift; /* of each channel */
    float least, most;
    bool swish;
} epilogue;

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
