/* vector_math.h - exp, log, tanh and the logistic function of vectors of floats.
 *
 * Each result differs from the true value by less than 2 units in its last place, over all floats. Measured by
 * tests/kernels/test_vector_math.c:
 *
 *            with fused multiply-add   without
 *   exp      0.86                      0.89
 *   log      0.80                      1.03
 *   tanh     1.26
 *   logistic 1.96
 *
 * Infinities, overflow and NaN give libm's results. Denormals do too where the thread keeps them (base/denormals.h);
 * elsewhere they are zeros. Arguments are reduced in the usual way (Muller et al., "Handbook of floating-point
 * arithmetic", ch. 11). The coefficients are minimax fits of our own, rounded to floats one after the other. */
#ifndef LIANA_KERNELS_VECTOR_MATH_H
#define LIANA_KERNELS_VECTOR_MATH_H

#include "kernels/vector.h"

/* e^x = 2^n e^r with |r| <= ln 2 / 2. */
LIANA__INLINE vector_float vector_exp(vector_float x)
{
    /* Beyond these the result is infinite or 0. The order of operands lets NaN pass. */
    x = vector_max(vector_set(-104.0f), vector_min(vector_set(89.0f), x));
    /* Adding 1.5 * 2^23 rounds to a whole number, which is then in the low bits. */
    const vector_float shift = vector_set(0x1.8p23f);
    vector_float shifted = vector_fma(x, vector_set(0x1.715476p+0f), shift);
    vector_float whole = shifted - shift;
    /* ln 2 = 0x1.62ep-1 + 0x1.0bfbe8p-15. The first is short, so that `exact` is exact; the rounding error of r is
     * kept. */
    vector_float exact = vector_fma(whole, vector_set(-0x1.62ep-1f), x), low = whole * 0x1.0bfbe8p-15f;
    vector_float r = exact - low, lost = exact - r - low;

    vector_float q = vector_set(0x1.6a4d7ap-10f);
    q = vector_fma(q, r, vector_set(0x1.12399p-7f));
    q = vector_fma(q, r, vector_set(0x1.5558bp-5f));
    q = vector_fma(q, r, vector_set(0x1.555492p-3f));
    q = vector_fma(q, r, vector_set(0x1.fffffcp-2f));
    vector_float power = vector_fma(q, r * r, lost) + r + 1.0f;
#if LIANA_VECTOR_BYTES == 64
    return (vector_float)_mm512_scalef_ps((__m512)power, (__m512)whole);
#else
    /* 2^n in two factors, because n reaches from -150 to 128: only the last product may round or overflow. */
    vector_int n = (vector_int)((vector_uint)shifted - (vector_uint)shift);
    vector_uint half = (vector_uint)(n >> 1), other = (vector_uint)n - half;
    vector_float scale1 = (vector_float)((half + 127) << 23), scale2 = (vector_float)((other + 127) << 23);
    return power * scale1 * scale2;
#endif
}

/* log x = e ln 2 + log(1 + f) with sqrt(1/2) <= 1 + f < sqrt(2). */
LIANA__INLINE vector_float vector_log(vector_float x)
{
    vector_int denormal = x < 0x1p-126f;
    vector_float normal = vector_select(denormal, x * 0x1p23f, x);
    /* Counting exponents from sqrt(1/2) instead of 1/2. */
    const uint32_t base = 0x3f3504f3;
    vector_uint offset = (vector_uint)normal - base;
    vector_int exponent = ((vector_int)offset >> 23) - (denormal & 23);
    vector_float f = (vector_float)((offset & 0x7fffff) + base) - 1.0f;

    vector_float p = vector_set(0x1.14763ap-4f);
    p = vector_fma(p, f, vector_set(-0x1.de02d6p-4f));
    p = vector_fma(p, f, vector_set(0x1.e6bf38p-4f));
    p = vector_fma(p, f, vector_set(-0x1.fc2884p-4f));
    p = vector_fma(p, f, vector_set(0x1.233ba8p-3f));
    p = vector_fma(p, f, vector_set(-0x1.555c46p-3f));
    p = vector_fma(p, f, vector_set(0x1.99a476p-3f));
    p = vector_fma(p, f, vector_set(-0x1.000006p-2f));
    p = vector_fma(p, f, vector_set(0x1.555548p-2f));
    vector_float e = vector_from_int(exponent), square = f * f;
    /* Small terms first; ln 2 = 0x1.62e43p-1 - 0x1.05c61p-29. */
    vector_float tail = vector_fma(p, square * f, e * -0x1.05c61p-29f);
    tail = vector_fma(vector_set(-0.5f), square, tail);
    vector_float result = vector_fma(e, vector_set(0x1.62e43p-1f), f + tail);

    result = vector_select(x == 0.0f, vector_set(-__builtin_inff()), result);
    result = vector_select(x < 0.0f, vector_set(__builtin_nanf("")), result);
    /* Infinity and NaN are their own logarithms. */
    return vector_select((x < __builtin_inff()) | (x < 0.0f), result, x);
}

/* x + x^3 P(x^2) near 0, else 1 - 2 / (e^2|x| + 1) with the sign of x. */
LIANA__INLINE vector_float vector_tanh(vector_float x)
{
    vector_float z = x * x;
    vector_float p = vector_set(0x1.078acp-9f);
    p = vector_fma(p, z, vector_set(-0x1.071314p-7f));
    p = vector_fma(p, z, vector_set(0x1.62873ep-6f));
    p = vector_fma(p, z, vector_set(-0x1.b9d632p-5f));
    p = vector_fma(p, z, vector_set(0x1.110fe8p-3f));
    p = vector_fma(p, z, vector_set(-0x1.555552p-2f));
    vector_float near = vector_fma(p * z, x, x);
    vector_float magnitude = vector_abs(x);
    vector_float far = 1.0f - 2.0f / (vector_exp(magnitude + magnitude) + 1.0f);
    return vector_select(magnitude < 0.65f, near, vector_copy_sign(far, x));
}

/* 1 / (1 + e^-x), by e^-|x|, which cannot overflow. */
LIANA__INLINE vector_float vector_logistic(vector_float x)
{
    vector_float power = vector_exp(-vector_abs(x));
    vector_int negative = x < 0.0f;
    vector_float sum = 1.0f + power, lost = power - (sum - 1.0f);
    vector_float quotient = vector_select(negative, power, vector_set(1.0f)) / sum;
    /* Corrects the rounding error of the sum; 1 / sum is the quotient or 1 less it. */
    vector_float inverse = vector_select(negative, 1.0f - quotient, quotient);
    return vector_fma(-quotient, lost * inverse, quotient);
}

#endif
