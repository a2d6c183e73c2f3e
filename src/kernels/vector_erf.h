/* vector_erf.h - e^x - 1, the error function and the two forms of gelu, of vectors of floats.
 *
 * With z >= 0 and t = (z - 2) / (z + 2): 1 - erf(z) = e^-z^2 P(t) / (1 + 2 z) (Shepherd and Laframboise 1981). The
 * coefficients are minimax fits of our own. */
#ifndef LIANA_KERNELS_VECTOR_ERF_H
#define LIANA_KERNELS_VECTOR_ERF_H

#include "kernels/vector_activations.h"

/* 2^n e^r - 1 as 2 (2^(n - 1) (e^r - 1) + (2^(n - 1) - 1/2)), whose second part is exact; see vector_exp. */
LIANA__INLINE vector_float vector_expm1(vector_float x)
{
    const vector_float limited = vector_max(vector_set(-20.0f), vector_min(vector_set(89.0f), x));
    const vector_float shift = vector_set(0x1.8p23f);
    vector_float shifted = vector_fma(limited, vector_set(0x1.715476p+0f), shift), whole = shifted - shift;
    vector_float exact = vector_fma(whole, vector_set(-0x1.62ep-1f), limited), low = whole * 0x1.0bfbe8p-15f;
    vector_float r = exact - low, lost = exact - r - low;
    vector_float q = vector_set(0x1.6a4d7ap-10f);
    q = vector_fma(q, r, vector_set(0x1.12399p-7f));
    q = vector_fma(q, r, vector_set(0x1.5558bp-5f));
    q = vector_fma(q, r, vector_set(0x1.555492p-3f));
    q = vector_fma(q, r, vector_set(0x1.fffffcp-2f));
    vector_float less = vector_fma(q, r * r, lost) + r;
    vector_int n = (vector_int)((vector_uint)shifted - (vector_uint)shift);
    vector_float half = (vector_float)((vector_uint)(n + 126) << 23);
    vector_float sum = vector_fma(half, less, half - 0.5f);
    /* The halves of small numbers may be denormal: x + x^2 / 2, which is computed, so that a denormal x is flushed
     * where they are. NaN stays. */
    const vector_float small = vector_fma(x * 0.5f, x, x);
    return vector_select((vector_abs(x) >= 0x1p-25f) & (x == x), sum + sum, small);
}

/* P(t) / (1 + 2 z) for z from 0 to 15. */
LIANA__INLINE vector_float vector_erf_tail(vector_float z)
{
    vector_float above = z + 2.0f, width = z + z + 1.0f;
    vector_float inverse = 1.0f / (above * width);
    vector_float t = (z - 2.0f) * (inverse * width);
    vector_float p = vector_set(0x1.5bd97ap-13f);
    p = vector_fma(p, t, vector_set(-0x1.7eaf24p-13f));
    p = vector_fma(p, t, vector_set(-0x1.71314ap-10f));
    p = vector_fma(p, t, vector_set(0x1.10c17cp-10f));
    p = vector_fma(p, t, vector_set(0x1.1d16b6p-7f));
    p = vector_fma(p, t, vector_set(-0x1.04337ap-7f));
    p = vector_fma(p, t, vector_set(-0x1.bc22fcp-5f));
    p = vector_fma(p, t, vector_set(0x1.4ff1bap-3f));
    p = vector_fma(p, t, vector_set(-0x1.5407dap-3f));
    p = vector_fma(p, t, vector_set(-0x1.7bf518p-4f));
    p = vector_fma(p, t, vector_set(0x1.46e80ep+0f));
    return p * (inverse * above);
}

/* x P(x^2) near 0, else by the tail, with the sign of x. */
LIANA__INLINE vector_float vector_erf(vector_float x)
{
    vector_float square = x * x, p = vector_set(-0x1.6b843cp-11f);
    p = vector_fma(p, square, vector_set(0x1.50a0a2p-8f));
    p = vector_fma(p, square, vector_set(-0x1.b7cf7ap-6f));
    p = vector_fma(p, square, vector_set(0x1.ce2c6cp-4f));
    p = vector_fma(p, square, vector_set(-0x1.812740p-2f));
    p = vector_fma(p, square, vector_set(0x1.20dd76p+0f));
    vector_float near = p * x;
    vector_float z = vector_min(vector_set(15), vector_abs(x));
    vector_float far = 1.0f - vector_exp(-z * z) * vector_erf_tail(z);
    return vector_select(square < 0.5f, near, vector_copy_sign(far, x));
}

/* ---- gelu: x F(x), where F is the normal distribution. Its derivative is F(x) + x f(x) with the density f ---- */

typedef struct vector_normal {
    vector_float distribution, density;
} vector_normal;

LIANA__INLINE vector_normal vector_normal_at(vector_float x)
{
    vector_float z = vector_min(vector_set(21), vector_abs(x));
    vector_float power = vector_exp(z * z * -0.5f);
    vector_float tail = 0.5f * power * vector_erf_tail(z * 0x1.6a09e6p-1f);
    return (vector_normal){.distribution = vector_select(x > 0.0f, 1.0f - tail, tail),
                           .density = power * 0x1.988454p-2f};
}

LIANA__INLINE vector_float vector_gelu(vector_float x)
{
    vector_float y = x * vector_normal_at(x).distribution;
    /* Where the distribution is 0; minus infinity too. */
    return vector_select(x < -21.0f, (vector_float){0}, y);
}

LIANA__INLINE vector_float vector_gelu_gradient(vector_float x, vector_float dy)
{
    vector_normal normal = vector_normal_at(x);
    vector_float bend = vector_select(vector_abs(x) > 21.0f, (vector_float){0}, x * normal.density);
    return dy * (normal.distribution + bend);
}

/* ---- the form with tanh: x s, with s = 1 / (1 + e^-v) and v = 2 sqrt(2 / pi) (x + 0.044715 x^3) ---- */

LIANA__INLINE vector_float vector_gelu_tanh_line(vector_float x)
{
    /* Beyond these s is 0 or 1. */
    x = vector_max(vector_set(-15), vector_min(vector_set(15), x));
    return x * vector_fma(x * x, vector_set(0x1.2444f2p-4f), vector_set(0x1.988454p+0f));
}

LIANA__INLINE vector_float vector_gelu_tanh(vector_float x)
{
    vector_float y = x / (1.0f + vector_exp(-vector_gelu_tanh_line(x)));
    return vector_select(x < -15.0f, (vector_float){0}, y);
}

LIANA__INLINE vector_float vector_gelu_tanh_bf16(vector_float x)
{
    vector_float y = x / (1.0f + vector_rough_exp(-vector_gelu_tanh_line(x)));
    return vector_select(x < -15.0f, (vector_float){0}, y);
}

/* s + x s (1 - s) dv / dx, with 1 - s = e^-v s, which does not cancel. */
LIANA__INLINE vector_float vector_gelu_tanh_gradient(vector_float x, vector_float dy)
{
    vector_float power = vector_exp(vector_min(vector_set(80), -vector_gelu_tanh_line(x)));
    vector_float s = vector_select(x < -15.0f, (vector_float){0}, 1.0f / (1.0f + power));
    vector_float slope = vector_fma(x * x, vector_set(0x1.b6676cp-3f), vector_set(0x1.988454p+0f));
    vector_float bend = vector_select(vector_abs(x) > 15.0f, (vector_float){0}, x * power * s * slope);
    return dy * s * (1.0f + bend);
}

#endif
