/* vector.h - vectors of floats, as wide as the instruction set for which a file is compiled. For *.kernels.h (see
 * vector_kernels.h): one source, three kernels. GCC's vector extensions give operators; other operations are named
 * here. Everything is static, so that each file has its own. */
#ifndef LIANA_KERNELS_VECTOR_H
#define LIANA_KERNELS_VECTOR_H

#include "kernels/bf16_instructions.h"

#if LIANA_VECTOR_BYTES > 16
#include <immintrin.h>
#endif
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Kernels of files for AVX512_BF16, and those that multiply bf16 as floats (LIANA__WIDENED), store bf16. The former may
 * multiply pairs of bf16 in one instruction, unless their level has no fast dot products (LIANA_BF16_STORAGE). */
#if defined(__AVX512BF16__) || defined(LIANA__WIDENED)
#define LIANA__STORES_BF16
#endif
#if defined(__AVX512BF16__) && !defined(LIANA_BF16_STORAGE) && !defined(LIANA__WIDENED)
#define LIANA__DOTS
#endif

enum { VECTOR_LENGTH = LIANA_VECTOR_BYTES / 4 }; /* floats in a vector */

typedef float vector_float __attribute__((vector_size(LIANA_VECTOR_BYTES)));
/* Also masks: comparing two vectors gives -1 where it holds, else 0. */
typedef int32_t vector_int __attribute__((vector_size(LIANA_VECTOR_BYTES)));
typedef uint32_t vector_uint __attribute__((vector_size(LIANA_VECTOR_BYTES)));

/* The same anywhere in memory. */
typedef float vector_float_at __attribute__((vector_size(LIANA_VECTOR_BYTES), aligned(4), may_alias));
typedef uint32_t vector_uint_at __attribute__((vector_size(LIANA_VECTOR_BYTES), aligned(4), may_alias));

#define LIANA__INLINE static inline __attribute__((always_inline, unused))
/* For the common code of the many copies of an inlined function: compiled once, also for callers with constants. */
#if defined(__clang__)
#define LIANA__ONE_COPY static __attribute__((noinline, unused))
#else
#define LIANA__ONE_COPY static __attribute__((noinline, noclone, unused))
#endif

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

/* a where the mask is set, else b. */
LIANA__INLINE vector_float vector_select(vector_int mask, vector_float a, vector_float b)
{
    return (vector_float)((mask & (vector_int)a) | (~mask & (vector_int)b));
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

/* The first `count` lanes, for 0 <= count <= VECTOR_LENGTH, where there are masks. */
#if LIANA_VECTOR_BYTES == 64
typedef __mmask16 vector_part;

LIANA__INLINE vector_part vector_first(int64_t count)
{
    return (vector_part)((1u << count) - 1);
}
#elif LIANA_VECTOR_BYTES == 32
typedef __m256i vector_part;

LIANA__INLINE vector_part vector_first(int64_t count)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
#endif

/* Loads the first `count` elements; the others are 0. Memory after them is not touched. */
LIANA__INLINE vector_float vector_load_part(const float *source, int64_t count)
{
#if LIANA_VECTOR_BYTES == 64
    return (vector_float)_mm512_maskz_loadu_ps(vector_first(count), source);
#elif LIANA_VECTOR_BYTES == 32
    return (vector_float)_mm256_maskload_ps(source, vector_first(count));
#else
    vector_float value = {0};
    for (int64_t i = 0; i < count; i++) value[i] = source[i];
    return value;
#endif
}

LIANA__INLINE void vector_store_part(float *target, vector_float value, int64_t count)
{
#if LIANA_VECTOR_BYTES == 64
    _mm512_mask_storeu_ps(target, vector_first(count), (__m512)value);
#elif LIANA_VECTOR_BYTES == 32
    _mm256_maskstore_ps(target, vector_first(count), (__m256)value);
#else
    for (int64_t i = 0; i < count; i++) target[i] = value[i];
#endif
}

/* ---- bf16: the upper half of a float. Rounded to nearest even, NaN stays NaN, as liana__float_to_bf16 does; but the
 * instruction of AVX512_BF16 takes denormal floats (below 2^-126) for zeros. ---- */

LIANA__INLINE vector_float vector_load_bf16(const uint16_t *source)
{
#if LIANA_VECTOR_BYTES == 64
    return (vector_float)_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)source)), 16);
#elif LIANA_VECTOR_BYTES == 32
    return (vector_float)_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)source)), 16);
#else
    vector_uint bits;
    for (int i = 0; i < VECTOR_LENGTH; i++) bits[i] = source[i];
    return (vector_float)(bits << 16);
#endif
}

/* In the upper half of each lane; the lower half is anything. */
LIANA__INLINE vector_uint vector_round_bf16(vector_float value)
{
    vector_uint bits = (vector_uint)value, rounded = bits + 0x7fff + (bits >> 16 & 1);
#if LIANA_VECTOR_BYTES == 64
    const __mmask16 is_nan = _mm512_cmp_ps_mask((__m512)value, (__m512)value, _CMP_UNORD_Q);
    return (vector_uint)_mm512_mask_or_epi32((__m512i)rounded, is_nan, (__m512i)bits, _mm512_set1_epi32(0x400000));
#elif LIANA_VECTOR_BYTES == 32
    const __m256 is_nan = _mm256_cmp_ps((__m256)value, (__m256)value, _CMP_UNORD_Q);
    return (vector_uint)_mm256_blendv_ps((__m256)rounded, (__m256)(bits | 0x400000), is_nan);
#else
    vector_int is_nan = value != value;
    return ((vector_uint)is_nan & (bits | 0x400000)) | (~(vector_uint)is_nan & rounded);
#endif
}

/* In the lower half of each lane. */
LIANA__INLINE vector_uint vector_to_bf16(vector_float value)
{
    return vector_round_bf16(value) >> 16;
}

#if LIANA_VECTOR_BYTES == 32
/* The lower halves of all lanes, which are all that is there. */
LIANA__INLINE __m128i vector_pack_words(vector_uint words)
{
    return _mm_packus_epi32(_mm256_castsi256_si128((__m256i)words), _mm256_extracti128_si256((__m256i)words, 1));
}
#endif

LIANA__INLINE void vector_store_bf16(uint16_t *target, vector_float value)
{
#if defined(__AVX512BF16__)
    _mm256_storeu_si256((__m256i *)target, bf16_round((__m512)value));
#elif LIANA_VECTOR_BYTES == 64
    _mm256_storeu_si256((__m256i *)target, _mm512_cvtepi32_epi16((__m512i)vector_to_bf16(value)));
#elif LIANA_VECTOR_BYTES == 32
    _mm_storeu_si128((__m128i *)target, vector_pack_words(vector_to_bf16(value)));
#else
    vector_uint bits = vector_to_bf16(value);
    for (int i = 0; i < VECTOR_LENGTH; i++) target[i] = (uint16_t)bits[i];
#endif
}

LIANA__INLINE vector_float vector_load_part_bf16(const uint16_t *source, int64_t count)
{
#if LIANA_VECTOR_BYTES == 64
    __m256i bits = _mm256_maskz_loadu_epi16(vector_first(count), source);
    return (vector_float)_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16);
#elif LIANA_VECTOR_BYTES == 32
    const __m128i pairs = _mm_setr_epi32(0, 1, 2, 3), words = _mm_setr_epi16(0, 1, 2, 3, 4, 5, 6, 7);
    const __m128i wanted = _mm_cmpgt_epi32(_mm_set1_epi32((int)count / 2), pairs);
    __m128i bits = _mm_maskload_epi32((const int *)(const void *)source, wanted);
    if (count % 2 == 1) {
        const __m128i place = _mm_cmpeq_epi16(words, _mm_set1_epi16((short)(count - 1)));
        bits = _mm_or_si128(bits, _mm_and_si128(place, _mm_set1_epi16((short)source[count - 1])));
    }
    return (vector_float)_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16);
#else
    vector_uint bits = {0};
    for (int64_t i = 0; i < count; i++) bits[i] = source[i];
    return (vector_float)(bits << 16);
#endif
}

LIANA__INLINE void vector_store_part_bf16(uint16_t *target, vector_float value, int64_t count)
{
#if defined(__AVX512BF16__)
    _mm256_mask_storeu_epi16(target, vector_first(count), bf16_round((__m512)value));
#elif LIANA_VECTOR_BYTES == 64
    _mm256_mask_storeu_epi16(target, vector_first(count), _mm512_cvtepi32_epi16((__m512i)vector_to_bf16(value)));
#else
    uint16_t all[VECTOR_LENGTH];
    vector_store_bf16(all, value);
    for (int64_t i = 0; i < count; i++) target[i] = all[i];
#endif
}

/* Stores `count` elements, at most a vector, and returns the stored values. */
LIANA__INLINE vector_float vector_store_rounded(uint16_t *target, vector_float value, int64_t count)
{
#if LIANA_VECTOR_BYTES == 64
#if defined(__AVX512BF16__)
    const __m256i words = bf16_round((__m512)value);
    const vector_float stored = (vector_float)_mm512_slli_epi32(_mm512_cvtepu16_epi32(words), 16);
#else
    const vector_uint bits = vector_round_bf16(value);
    const __m256i words = _mm512_cvtepi32_epi16((__m512i)(bits >> 16));
    const vector_float stored = (vector_float)(bits & 0xffff0000);
#endif
    _mm256_mask_storeu_epi16(target, vector_first(count), words);
    return stored;
#else
    const vector_uint bits = vector_round_bf16(value);
    uint16_t all[VECTOR_LENGTH];
    uint16_t *to = count == VECTOR_LENGTH ? target : all;
#if LIANA_VECTOR_BYTES == 32
    _mm_storeu_si128((__m128i *)to, vector_pack_words(bits >> 16));
#else
    for (int i = 0; i < VECTOR_LENGTH; i++) to[i] = (uint16_t)(bits[i] >> 16);
#endif
    for (int64_t i = 0; i < count && to == all; i++) target[i] = all[i];
    return (vector_float)(bits & 0xffff0000);
#endif
}

/* a * b + c, rounded once where the processor can. */
LIANA__INLINE vector_float vector_fma(vector_float a, vector_float b, vector_float c)
{
#if LIANA_VECTOR_BYTES == 64
    return (vector_float)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif LIANA_VECTOR_BYTES == 32
    return (vector_float)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined(__FP_FAST_FMAF)
    for (int i = 0; i < VECTOR_LENGTH; i++) c[i] = __builtin_fmaf(a[i], b[i], c[i]);
    return c;
#else
    return a * b + c;
#endif
}

LIANA__INLINE vector_float vector_sqrt(vector_float x)
{
#if LIANA_VECTOR_BYTES == 64
    return (vector_float)_mm512_sqrt_ps((__m512)x);
#elif LIANA_VECTOR_BYTES == 32
    return (vector_float)_mm256_sqrt_ps((__m256)x);
#else
    for (int i = 0; i < VECTOR_LENGTH; i++) x[i] = __builtin_sqrtf(x[i]);
    return x;
#endif
}

/* The greater and the lesser; `b` if either is NaN (and b if they are equal, as with 0 and -0). */
LIANA__INLINE vector_float vector_max(vector_float a, vector_float b)
{
#if LIANA_VECTOR_BYTES == 64
    return (vector_float)_mm512_max_ps((__m512)a, (__m512)b);
#elif LIANA_VECTOR_BYTES == 32
    return (vector_float)_mm256_max_ps((__m256)a, (__m256)b);
#else
    return vector_select(a > b, a, b);
#endif
}

LIANA__INLINE vector_float vector_min(vector_float a, vector_float b)
{
#if LIANA_VECTOR_BYTES == 64
    return (vector_float)_mm512_min_ps((__m512)a, (__m512)b);
#elif LIANA_VECTOR_BYTES == 32
    return (vector_float)_mm256_min_ps((__m256)a, (__m256)b);
#else
    return vector_select(a < b, a, b);
#endif
}

/* To whole numbers, halves to even. */
LIANA__INLINE vector_float vector_round(vector_float x)
{
#if LIANA_VECTOR_BYTES == 64
    return (vector_float)_mm512_roundscale_ps((__m512)x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
#elif LIANA_VECTOR_BYTES == 32
    return (vector_float)_mm256_round_ps((__m256)x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
#else
    /* From 2^23 on all floats are whole (or not numbers); below, adding it leaves no place for a fraction. */
    vector_float magnitude = vector_abs(x), whole = magnitude + 0x1p23f - 0x1p23f;
    return vector_select(magnitude < 0x1p23f, vector_copy_sign(whole, x), x);
#endif
}

LIANA__INLINE vector_float vector_floor(vector_float x)
{
#if LIANA_VECTOR_BYTES == 64
    return (vector_float)_mm512_roundscale_ps((__m512)x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
#elif LIANA_VECTOR_BYTES == 32
    return (vector_float)_mm256_round_ps((__m256)x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
#else
    vector_float near = vector_round(x);
    return vector_select(near > x, near - 1.0f, near);
#endif
}

LIANA__INLINE vector_float vector_ceil(vector_float x)
{
#if LIANA_VECTOR_BYTES == 64
    return (vector_float)_mm512_roundscale_ps((__m512)x, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
#elif LIANA_VECTOR_BYTES == 32
    return (vector_float)_mm256_round_ps((__m256)x, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
#else
    vector_float near = vector_round(x);
    return vector_copy_sign(vector_select(near < x, near + 1.0f, near), x);
#endif
}

/* ---- doubles, for long sums: one for each lane, the lower half of the lanes first ---- */

typedef double vector_double __attribute__((vector_size(LIANA_VECTOR_BYTES)));
typedef double vector_double_at __attribute__((vector_size(LIANA_VECTOR_BYTES), aligned(8), may_alias));

typedef struct vector_wide {
    vector_double half[2];
} vector_wide;

LIANA__INLINE vector_wide vector_widen(vector_float x)
{
#if LIANA_VECTOR_BYTES == 64
    return (vector_wide){{(vector_double)_mm512_cvtps_pd(_mm512_castps512_ps256((__m512)x)),
                          (vector_double)_mm512_cvtps_pd(_mm512_extractf32x8_ps((__m512)x, 1))}};
#elif LIANA_VECTOR_BYTES == 32
    return (vector_wide){{(vector_double)_mm256_cvtps_pd(_mm256_castps256_ps128((__m256)x)),
                          (vector_double)_mm256_cvtps_pd(_mm256_extractf128_ps((__m256)x, 1))}};
#else
    vector_wide wide;
    for (int i = 0; i < VECTOR_LENGTH; i++) wide.half[i / 2][i % 2] = x[i];
    return wide;
#endif
}

LIANA__INLINE vector_double vector_load_double(const double *source)
{
    return *(const vector_double_at *)source;
}

LIANA__INLINE void vector_store_double(double *target, vector_double value)
{
    *(vector_double_at *)target = value;
}

/* Adds each lane to its double. */
LIANA__INLINE void vector_add_to(double *sums, vector_float terms)
{
    vector_wide wide = vector_widen(terms);
    for (int h = 0; h < 2; h++) {
        double *at = sums + h * VECTOR_LENGTH / 2;
        vector_store_double(at, vector_load_double(at) + wide.half[h]);
    }
}

/* x - x is NaN for a NaN and for an infinity, and 0 for any other number. */
LIANA__INLINE vector_int vector_not_finite(vector_float x)
{
    const vector_float difference = x - x;
    return difference != difference;
}

/* Whole numbers to floats. */
LIANA__INLINE vector_float vector_from_int(vector_int x)
{
    return __builtin_convertvector(x, vector_float);
}

/* Whether a mask is set anywhere. */
LIANA__INLINE bool vector_any(vector_int mask)
{
#if LIANA_VECTOR_BYTES == 64
    return _mm512_movepi32_mask((__m512i)mask) != 0;
#elif LIANA_VECTOR_BYTES == 32
    return _mm256_movemask_ps((__m256)mask) != 0;
#else
    int32_t any = 0;
    for (int i = 0; i < VECTOR_LENGTH; i++) any |= mask[i];
    return any != 0;
#endif
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
