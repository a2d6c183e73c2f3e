/* vector_activations.h - the activations of convolutional networks, and the part of a gradient that they let pass. */
#ifndef LIANA_KERNELS_VECTOR_ACTIVATIONS_H
#define LIANA_KERNELS_VECTOR_ACTIVATIONS_H

#include "kernels/vector_math.h"

/* NaN passes: the second operand wins. */
LIANA__INLINE vector_float vector_relu(vector_float x)
{
    return vector_max((vector_float){0}, x);
}

LIANA__INLINE vector_float vector_relu6(vector_float x)
{
    return vector_min(vector_set(6), vector_relu(x));
}

/* ---- swish: with s = 1 / (1 + e^-x) it is x s, and its derivative is s (1 + x (1 - s)). The forms for bf16 compute
 * e^-x to within 2^-18, which is far finer than bf16. ---- */

#if LIANA_VECTOR_BYTES == 64
/* 2^t as 2^n 2^r; for 0 <= r < 1 a polynomial (a minimax fit). */
LIANA__INLINE vector_float vector_rough_exp(vector_float x)
{
    vector_float t = x * 0x1.715476p+0f;
    vector_float r = (vector_float)_mm512_reduce_ps((__m512)t, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
    vector_float p = vector_set(0x1.bb7cd4p-7f);
    p = vector_fma(p, r, vector_set(0x1.aa13fp-5f));
    p = vector_fma(p, r, vector_set(0x1.ee798ap-3f));
    p = vector_fma(p, r, vector_set(0x1.62d166p-1f));
    p = vector_fma(p, r, vector_set(0x1.00002cp+0f));
    return (vector_float)_mm512_scalef_ps((__m512)p, (__m512)t);
}
#else
LIANA__INLINE vector_float vector_rough_exp(vector_float x)
{
    return vector_exp(x);
}
#endif

LIANA__INLINE vector_float vector_swish(vector_float x)
{
    return x / (1.0f + vector_exp(-x));
}

LIANA__INLINE vector_float vector_swish_bf16(vector_float x)
{
    return x / (1.0f + vector_rough_exp(-x));
}

/* `power` is e^-x. */
LIANA__INLINE vector_float vector_swish_slope(vector_float x, vector_float power)
{
    vector_float s = 1.0f / (1.0f + power);
    return s * vector_fma(x, 1.0f - s, vector_set(1));
}

LIANA__INLINE vector_float vector_swish_gradient(vector_float x, vector_float dy)
{
    return dy * vector_swish_slope(x, vector_exp(-x));
}

LIANA__INLINE vector_float vector_swish_gradient_bf16(vector_float x, vector_float dy)
{
    return dy * vector_swish_slope(x, vector_rough_exp(-x));
}

/* ---- the part of a gradient that the others let pass ---- */

/* Of x or of the activation's result, which are as far above 0 or 6 as each other. */
LIANA__INLINE vector_float vector_relu_gradient(vector_float y, vector_float dy)
{
    return vector_select(y > 0.0f, dy, (vector_float){0});
}

LIANA__INLINE vector_float vector_relu6_gradient(vector_float y, vector_float dy)
{
    return vector_select((y > 0.0f) & (y < 6.0f), dy, (vector_float){0});
}

#endif
