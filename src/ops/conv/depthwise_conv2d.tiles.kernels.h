/* depthwise_conv2d.tiles.kernels.h - the common code of the tiled depthwise convolutions: how a row is cut into tiles
 * of pixels. */
#ifndef LIANA_OPS_DEPTHWISE_TILES_KERNELS_H
#define LIANA_OPS_DEPTHWISE_TILES_KERNELS_H

#include "kernels/counts.h"
#include "kernels/vector.h"
#include "kernels/vector_epilogue.h"
#include "ops/conv/depthwise_conv2d.h"

enum {
    MAX_TILE = 8,
    MAX_WINDOW = 7,
};

LIANA__INLINE int64_t divide_up(int64_t a, int64_t b)
{
    return a > 0 ? (a + b - 1) / b : 0;
}

/* Channels are vectorised; the last vector of a pixel overlaps the one before where the channels do not fill it, and
 * computes the same values again. */
LIANA__INLINE int64_t count_vectors(int64_t channels)
{
    return (channels + VECTOR_LENGTH - 1) / VECTOR_LENGTH;
}

/* The first channel of vector number v. */
LIANA__INLINE int64_t vector_start(int64_t v, int64_t channels)
{
    return at_most(v * VECTOR_LENGTH, channels - VECTOR_LENGTH);
}

/* A value that is kept in a register: GCC would load it again for each use, and loads are scarce here. */
LIANA__INLINE vector_float keep(vector_float x)
{
#if LIANA_VECTOR_BYTES > 16
    __asm__("" : "+v"(x));
#endif
    return x;
}

/* Elements are floats or bf16. One or two vectors of channels are computed at a time. Two vectors of bf16 are loaded as
 * one; its even channels become the first vector, its odd ones the second, by a shift and a mask: half of the work of
 * widening each. AVX2 has too few registers for that. */
#if defined(LIANA__STORES_BF16)
typedef uint16_t element;
#else
typedef float element;
#endif
#if defined(LIANA__STORES_BF16) && LIANA_VECTOR_BYTES == 64
#define LIANA__PAIRED_PARTS
enum { MAX_PARTS = 2 };
#else
enum { MAX_PARTS = 1 };
#endif
/* Pairs of pixels in a tile of the strided gradient: the sums of both must fit into the registers. */
enum { MAX_PAIRS = LIANA_VECTOR_BYTES == 64 && MAX_PARTS == 1 ? 7 : 4 };

/* How many vectors of channels are computed together from vector v on, of those before `end`. */
LIANA__INLINE int parts_at(int64_t v, int64_t end, int64_t channels)
{
    return MAX_PARTS == 2 && v + 2 <= end && (v + 2) * VECTOR_LENGTH <= channels ? MAX_PARTS : 1;
}

LIANA__INLINE void load_parts(const int parts, const element *source, vector_float *values)
{
#if defined(LIANA__PAIRED_PARTS)
    if (parts == 2) {
        const vector_uint bits = (vector_uint)_mm512_loadu_si512(source); /* bf16 need not lie at multiples of 4 */
        values[0] = keep((vector_float)(bits << 16));
        values[1] = keep((vector_float)(bits & 0xffff0000));
    } else {
        values[0] = keep(vector_load_bf16(source));
    }
#elif defined(LIANA__STORES_BF16)
    (void)parts;
    values[0] = keep(vector_load_bf16(source));
#else
    (void)parts;
    values[0] = keep(vector_load(source));
#endif
}

#if defined(LIANA__PAIRED_PARTS)
/* Two vectors as 32 channels: word i of either half becomes word 2i, or 2i + 1. */
LIANA__INLINE __m512i pack_parts(const vector_float *values)
{
#if defined(__AVX512BF16__)
    const __m512i halves = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i places =
        _mm512_or_si512(halves, _mm512_slli_epi32(_mm512_add_epi32(halves, _mm512_set1_epi32(16)), 16));
    __m512i bits = bf16_round_two((__m512)values[1], (__m512)values[0]);
    return _mm512_permutexvar_epi16(places, bits);
#else
    return (__m512i)(vector_round_bf16(values[0]) >> 16 | (vector_round_bf16(values[1]) & 0xffff0000));
#endif
}

/* Converts two vectors of consecutive channels to even ones and odd ones; and back. */
LIANA__INLINE void split_parts(vector_float *values)
{
    const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const __m512 low = (__m512)values[0], high = (__m512)values[1];
    values[0] = (vector_float)_mm512_permutex2var_ps(low, even, high);
    values[1] = (vector_float)_mm512_permutex2var_ps(low, _mm512_add_epi32(even, _mm512_set1_epi32(1)), high);
}

LIANA__INLINE void join_parts(vector_float *values)
{
    const __m512i first = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    const __m512 even = (__m512)values[0], odd = (__m512)values[1];
    values[0] = (vector_float)_mm512_permutex2var_ps(even, first, odd);
    values[1] = (vector_float)_mm512_permutex2var_ps(even, _mm512_add_epi32(first, _mm512_set1_epi32(8)), odd);
}
#endif

LIANA__INLINE void store_parts(const int parts, element *target, const vector_float *values)
{
#if defined(LIANA__PAIRED_PARTS)
    if (parts == 2) {
        _mm512_storeu_si512(target, pack_parts(values));
    } else {
        vector_store_bf16(target, values[0]);
    }
#elif defined(LIANA__STORES_BF16)
    (void)parts;
    vector_store_bf16(target, values[0]);
#else
    (void)parts;
    vector_store(target, values[0]);
#endif
}

/* Parameters of the channels of `parts` vectors, in the order of load_parts. */
LIANA__INLINE void load_channels(const int parts, const float *source, vector_float *values)
{
    values[0] = vector_load(source);
#if defined(LIANA__PAIRED_PARTS)
    if (parts == 2) {
        values[1] = vector_load(source + VECTOR_LENGTH);
        split_parts(values);
    }
#else
    (void)parts;
#endif
}

/* Applies the epilogue, except swish, to a tile of pixels whose first channel is `channel`. */
LIANA__INLINE void finish_tile(const int parts, const int tile, const epilogue *e, int64_t channel,
                               vector_float sums[MAX_TILE][MAX_PARTS])
{
    vector_float scale[MAX_PARTS], shift[MAX_PARTS];
    load_channels(parts, e->scale + channel, scale);
    load_channels(parts, e->shift + channel, shift);
#pragma GCC unroll 8
    for (int i = 0; i < tile; i++) {
#pragma GCC unroll 2
        for (int p = 0; p < parts; p++) sums[i][p] = clamp(e, vector_fma(sums[i][p], scale[p], shift[p]));
    }
}

/* The size of the tiles that a row of `count` pixels is cut into: one that computes the fewest pixels twice, since the
 * last tile is moved back to end where the row does; the largest of those. */
static int choose_tile(int64_t count, int largest)
{
    static const int sizes[] = {8, 7, 6, 4, 2, 1};
    int best = 1;
    int64_t best_cost = INT64_MAX;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int64_t cost = divide_up(count, sizes[i]) * (sizes[i] + 1); /* a tile costs about one pixel of its own */
        if (sizes[i] > largest || sizes[i] > count || cost >= best_cost) continue;
        best = sizes[i];
        best_cost = cost;
    }
    return best;
}

#endif
