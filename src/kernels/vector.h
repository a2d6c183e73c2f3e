/* vector.h - vectors of floats, as wide as the instruction set that a file is compiled for.
 *
 * For files *.avx2.c and *.avx512.c only (and the *.kernels.h that both include): one source, two kernels. GCC's vector
 * extensions give operators; what they lack is named here. Everything is static, so that each file keeps its own. */
#ifndef LIANA_KERNELS_VECTOR_H
#define LIANA_KERNELS_VECTOR_H

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#if defined(__AVX512F__)
#define LIANA__VECTOR_BYTES 64
#else
#define LIANA__VECTOR_BYTES 32
#endif

enum { VECTOR_LENGTH = LIANA__VECTOR_BYTES / 4 }; /* floats in a vector */

typedef float vector_float __attribute__((vector_size(LIANA__VECTOR_BYTES)));
/* Also masks: comparing two vectors gives -1 where it holds, else 0. */
typedef int32_t vector_int __attribute__((vector_size(LIANA__VECTOR_BYTES)));
typedef uint32_t vector_uint __attribute__((vector_size(LIANA__VECTOR_BYTES)));

/* The same anywhere in memory. */
typedef float vector_float_at __attribute__((vector_size(LIANA__VECTOR_BYTES), aligned(4), may_alias));
typedef uint32_t vector_uint_at __attribute__((vector_size(LIANA__VECTOR_BYTES), aligned(4), may_alias));

#define LIANA__INLINE static inline __attribute__((always_inline, unused))

LIANA__INLINE vector_float vector_set(float value)
{
    return value - (vector_float){0};
}

LIANA__INLINE vector_float vector_load(const float *source)
{
    return *(const vector_float_at *)source;
}

LIANA__INLINE void vector_store(float *target, vector_float value)
{
    *(vector_float_at *)target = value;
}

/* The first `count` lanes, for 0 <= count <= VECTOR_LENGTH. */
#if defined(__AVX512F__)
typedef __mmask16 vector_part;

LIANA__INLINE vector_part vector_first(int64_t count)
{
    return (vector_part)((1u << count) - 1);
}
#else
typedef __m256i vector_part;

LIANA__INLINE vector_part vector_first(int64_t count)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
#endif

/* The first `count` elements, the others 0: nothing behind them is touched. */
LIANA__INLINE vector_float vector_load_part(const float *source, int64_t count)
{
#if defined(__AVX512F__)
    return (vector_float)_mm512_maskz_loadu_ps(vector_first(count), source);
#else
    return (vector_float)_mm256_maskload_ps(source, vector_first(count));
#endif
}

LIANA__INLINE void vector_store_part(float *target, vector_float value, int64_t count)
{
#if defined(__AVX512F__)
    _mm512_mask_storeu_ps(target, vector_first(count), (__m512)value);
#else
    _mm256_maskstore_ps(target, vector_first(count), (__m256)value);
#endif
}

/* a * b + c, rounded once. */
LIANA__INLINE vector_float vector_fma(vector_float a, vector_float b, vector_float c)
{
#if defined(__AVX512F__)
    return (vector_float)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#else
    return (vector_float)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#endif
}

LIANA__INLINE vector_float vector_sqrt(vector_float x)
{
#if defined(__AVX512F__)
    return (vector_float)_mm512_sqrt_ps((__m512)x);
#else
    return (vector_float)_mm256_sqrt_ps((__m256)x);
#endif
}

/* The greater and the lesser; `b` if either is NaN (and b if they are equal, as with 0 and -0). */
LIANA__INLINE vector_float vector_max(vector_float a, vector_float b)
{
#if defined(__AVX512F__)
    return (vector_float)_mm512_max_ps((__m512)a, (__m512)b);
#else
    return (vector_float)_mm256_max_ps((__m256)a, (__m256)b);
#endif
}

LIANA__INLINE vector_float vector_min(vector_float a, vector_float b)
{
#if defined(__AVX512F__)
    return (vector_float)_mm512_min_ps((__m512)a, (__m512)b);
#else
    return (vector_float)_mm256_min_ps((__m256)a, (__m256)b);
#endif
}

/* To whole numbers, halves to even. */
LIANA__INLINE vector_float vector_round(vector_float x)
{
#if defined(__AVX512F__)
    return (vector_float)_mm512_roundscale_ps((__m512)x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
#else
    return (vector_float)_mm256_round_ps((__m256)x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
#endif
}

LIANA__INLINE vector_float vector_floor(vector_float x)
{
#if defined(__AVX512F__)
    return (vector_float)_mm512_roundscale_ps((__m512)x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
#else
    return (vector_float)_mm256_round_ps((__m256)x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
#endif
}

LIANA__INLINE vector_float vector_ceil(vector_float x)
{
#if defined(__AVX512F__)
    return (vector_float)_mm512_roundscale_ps((__m512)x, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
#else
    return (vector_float)_mm256_round_ps((__m256)x, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
#endif
}

/* Whole numbers to floats. */
LIANA__INLINE vector_float vector_from_int(vector_int x)
{
    return __builtin_convertvector(x, vector_float);
}

/* a where the mask is set, else b. */
LIANA__INLINE vector_float vector_select(vector_int mask, vector_float a, vector_float b)
{
    return (vector_float)((mask & (vector_int)a) | (~mask & (vector_int)b));
}

/* Whether a mask is set anywhere. */
LIANA__INLINE bool vector_any(vector_int mask)
{
#if defined(__AVX512F__)
    return _mm512_movepi32_mask((__m512i)mask) != 0;
#else
    return _mm256_movemask_ps((__m256)mask) != 0;
#endif
}

LIANA__INLINE vector_float vector_abs(vector_float x)
{
    return (vector_float)((vector_int)x & INT32_MAX);
}

/* |magnitude| with the sign of `sign`. */
LIANA__INLINE vector_float vector_copy_sign(vector_float magnitude, vector_float sign)
{
    return (vector_float)(((vector_int)magnitude & INT32_MAX) | ((vector_int)sign & INT32_MIN));
}

/* Sum and greatest of the elements, in a fixed order (halves, quarters, ...). */
LIANA__INLINE float vector_reduce_add(vector_float x)
{
    float parts[VECTOR_LENGTH];
    vector_store(parts, x);
    for (int width = VECTOR_LENGTH / 2; width > 0; width /= 2) {
        for (int i = 0; i < width; i++) parts[i] += parts[i + width];
    }
    return parts[0];
}

LIANA__INLINE float vector_reduce_max(vector_float x)
{
    float parts[VECTOR_LENGTH];
    vector_store(parts, x);
    for (int width = VECTOR_LENGTH / 2; width > 0; width /= 2) {
        for (int i = 0; i < width; i++) parts[i] = parts[i] > parts[i + width] ? parts[i] : parts[i + width];
    }
    return parts[0];
}

#endif
