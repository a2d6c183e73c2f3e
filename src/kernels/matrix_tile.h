/* matrix_tile.h - the heart of matrix products and dense convolutions: a tile of the result that stays in registers.
 *
 * For *.kernels.h files, which are compiled for one instruction set (see vector_kernels.h). A tile has up to TILE_ROWS
 * rows of up to TILE_VECTORS vectors of floats. A caller works in this order:
 * - tile_clear sets the sums to zero;
 * - any number of tile_add_... add one term each (a term is a tap of a convolution, or a block of a long sum);
 * - the caller may change the sums (its epilogue);
 * - tile_store writes them.
 *
 * `rows`, `vectors` and `units` must be constants where these functions are inlined: only then are the sums registers.
 * Callers have a switch over the possible values.
 *
 * The functions multiply units of 32 bits. A unit is a float. In a file for AVX512_BF16 (LIANA__DOTS) it is two bf16
 * that are neighbours along the sum; both products are added to one float. Where elements are bf16 and units are floats
 * (LIANA__WIDENED), packing makes floats of the operands.
 *
 * One step of a sum takes `units` units (1 or 2) from each operand. With 2, each column of the result has two lanes,
 * and tile_fold adds the two at the end. This fills a vector of 16 lanes where there are only 8 columns. The order of
 * additions depends on nothing but the depth and `units`. */
#ifndef LIANA_KERNELS_MATRIX_TILE_H
#define LIANA_KERNELS_MATRIX_TILE_H

#include "kernels/vector.h"

/* tile_element: the type of operands and results in memory. tile_factor: the type of operands as a tile reads them.
 * TILE_STEP: how many factors one unit has. */
#if defined(LIANA__DOTS)
typedef uint16_t tile_element, tile_factor;
typedef uint32_t tile_unit __attribute__((may_alias));
enum { TILE_STEP = 2 };
#else
#if defined(LIANA__WIDENED)
typedef uint16_t tile_element;
#else
typedef float tile_element;
#endif
typedef float tile_factor;
typedef float tile_unit;
enum { TILE_STEP = 1 };
#endif

/* The largest tile whose sums, with one row of b and one unit of a, fit the registers. There are enough sums
 * that an addition to one can start while the processor still works on the others. */
enum { TILE_ROWS = LIANA_VECTOR_BYTES == 64 ? 8 : 6, TILE_VECTORS = LIANA_VECTOR_BYTES == 64 ? 3 : 2 };

/* A unit, or two neighbours, in all lanes. */
LIANA__INLINE vector_float tile_spread(const int units, const void *source)
{
    if (units == 1) {
        float unit;
        memcpy(&unit, source, sizeof unit);
        return vector_set(unit);
    }
    double pair;
    memcpy(&pair, source, sizeof pair);
#if LIANA_VECTOR_BYTES == 64
    return (vector_float)_mm512_set1_pd(pair);
#else
    return (vector_float)_mm256_set1_pd(pair);
#endif
}

/* a * b + c, lane by lane. */
LIANA__INLINE vector_float tile_fma(vector_float a, vector_float b, vector_float c)
{
#if defined(LIANA__DOTS)
    return (vector_float)bf16_dot((__m512)c, (__m512i)a, (__m512i)b);
#else
    return vector_fma(a, b, c);
#endif
}

LIANA__INLINE void tile_clear(const int rows, const int vectors, vector_float (*sums)[TILE_VECTORS])
{
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) {
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) sums[r][v] = vector_set(0);
    }
}

/* Vectors of b, packed. */
LIANA__INLINE void tile_load(const int vectors, const tile_unit *source, vector_float *b)
{
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) b[v] = vector_load((const float *)source + v * VECTOR_LENGTH);
}

/* Steps [k, end) of tile_add_rows. */
LIANA__INLINE void tile_add_steps(const int rows, const int vectors, const int units, const tile_factor *const *a,
                                  const tile_unit *b, int64_t k, int64_t end, vector_float (*sums)[TILE_VECTORS])
{
    const int step = units * TILE_STEP;
    vector_float right[TILE_VECTORS];
    b += k / step * (vectors * VECTOR_LENGTH);
    for (; k < end; k += step, b += vectors * VECTOR_LENGTH) {
        tile_load(vectors, b, right);
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++) {
            vector_float left = tile_spread(units, a[r] + k);
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++) sums[r][v] = tile_fma(left, right[v], sums[r][v]);
        }
    }
}

/* Adds A B. Rows of A may be anywhere; a[r] is `depth` elements (whole steps if `units` is 2). B is packed: for each
 * step the vectors' lanes, in which column c has those numbered c * units ...; elements beyond the depth are 0. `ahead`
 * is memory that a later call will read, as much as the rows of this call, or NULL. */
LIANA__INLINE void tile_add_rows(const int rows, const int vectors, const int units, const tile_factor *const *a,
                                 const tile_unit *b, int64_t depth, const char *ahead,
                                 vector_float (*sums)[TILE_VECTORS])
{
    const int64_t whole = depth / TILE_STEP * TILE_STEP, block = 256 / (int64_t)sizeof(tile_factor);
    int64_t k = 0;
    for (; ahead && k + block < whole; k += block) {
        for (int line = 0; line < 4 * rows; line++, ahead += 64) __builtin_prefetch(ahead, 0, 2);
        tile_add_steps(rows, vectors, units, a, b, k, k + block, sums);
    }
    if (ahead) {
        const char *end = ahead + (whole - k) * rows * (int64_t)sizeof(tile_factor);
        for (; ahead < end; ahead += 64) __builtin_prefetch(ahead, 0, 2);
    }
    tile_add_steps(rows, vectors, units, a, b, k, whole, sums);
#if defined(LIANA__DOTS)
    if (whole == depth) return;
    b += whole / TILE_STEP * (vectors * VECTOR_LENGTH);
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) {
        vector_float left = (vector_float)_mm512_set1_epi32(a[r][whole]);
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            vector_float right = vector_load((const float *)b + v * VECTOR_LENGTH);
            sums[r][v] = tile_fma(left, right, sums[r][v]);
        }
    }
#endif
}

/* Memory that a later call will want: each step of this one asks for a line on the left and two on the right of as many
 * rows as the step has elements. */
typedef struct tile_prefetch {
    const char *left, *right;
    int64_t left_stride, right_stride;
} tile_prefetch;

LIANA__INLINE void tile_fetch(tile_prefetch *wanted)
{
#pragma GCC unroll 2
    for (int row = 0; row < TILE_STEP; row++) {
        __builtin_prefetch(wanted->left, 0, 2);
        __builtin_prefetch(wanted->right, 0, 2);
        __builtin_prefetch(wanted->right + 64, 0, 2);
        wanted->left += wanted->left_stride;
        wanted->right += wanted->right_stride;
    }
}

/* Adds A^T B, the sum running over rows of both: step k takes the units a[k * a_stride + row] and
 * b[k * b_stride + column]. Of the last vector only `last` lanes are read; the sums of the others get zeros. */
LIANA__INLINE void tile_add_columns(const int rows, const int vectors, const tile_unit *a, int64_t a_stride,
                                    const tile_unit *b, int64_t b_stride, int64_t last, int64_t steps,
                                    tile_prefetch wanted, vector_float (*sums)[TILE_VECTORS])
{
    vector_float right[TILE_VECTORS];
    for (int64_t k = 0; k < steps; k++, a += a_stride, b += b_stride) {
        tile_fetch(&wanted);
        tile_load(vectors - 1, b, right);
        right[vectors - 1] = vector_load_part((const float *)b + (vectors - 1) * VECTOR_LENGTH, last);
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++) {
            vector_float left = tile_spread(1, a + r);
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++) sums[r][v] = tile_fma(left, right[v], sums[r][v]);
        }
    }
}

/* Adds values in memory to the sums: rows of `stride` floats, `last` lanes of the last vector. */
LIANA__INLINE void tile_add_memory(const int rows, const int vectors, const float *source, int64_t stride, int64_t last,
                                   vector_float (*sums)[TILE_VECTORS])
{
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) {
        const float *row = source + r * stride;
#pragma GCC unroll 4
        for (int v = 0; v < vectors - 1; v++) sums[r][v] += vector_load(row + v * VECTOR_LENGTH);
        sums[r][vectors - 1] += vector_load_part(row + (vectors - 1) * VECTOR_LENGTH, last);
    }
}

/* Lanes 2i and 2i + 1 of a then b, added: i = 0 ... VECTOR_LENGTH - 1. */
LIANA__INLINE vector_float vector_add_pairs(vector_float a, vector_float b)
{
#if LIANA_VECTOR_BYTES == 64
    const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
    return (vector_float)_mm512_permutex2var_ps((__m512)a, even, (__m512)b) +
           (vector_float)_mm512_permutex2var_ps((__m512)a, odd, (__m512)b);
#else
    /* a0+a1 a2+a3 b0+b1 b2+b3 | a4+a5 ... : the middle two quarters change places. */
    __m256 sums = _mm256_hadd_ps((__m256)a, (__m256)b);
    return (vector_float)_mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(sums), 0xd8));
#endif
}

/* Sums of steps of 2 units to sums of columns, half as many vectors. */
LIANA__INLINE void tile_fold(const int rows, const int vectors, vector_float (*sums)[TILE_VECTORS])
{
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) {
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v += 2) {
            sums[r][v / 2] = vector_add_pairs(sums[r][v], v + 1 < vectors ? sums[r][v + 1] : vector_set(0));
        }
    }
}

/* One row of floats, `last` lanes of the last vector. */
LIANA__INLINE void tile_store_row(const int vectors, float *target, int64_t last, const vector_float *sums)
{
#pragma GCC unroll 4
    for (int v = 0; v < vectors - 1; v++) vector_store(target + v * VECTOR_LENGTH, sums[v]);
    vector_store_part(target + (vectors - 1) * VECTOR_LENGTH, sums[vectors - 1], last);
}

/* One row of elements: floats, or bf16. */
LIANA__INLINE void tile_store_elements(const int vectors, tile_element *target, int64_t last, const vector_float *sums)
{
#if defined(LIANA__STORES_BF16)
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) {
        (void)vector_store_rounded(target + v * VECTOR_LENGTH, sums[v], v + 1 < vectors ? VECTOR_LENGTH : last);
    }
#else
    tile_store_row(vectors, target, last, sums);
#endif
}

#endif
