/* depthwise_moments.kernels.h - mean and variance of a depthwise convolution's results, from tiles in registers. */
#ifndef LIANA_OPS_DEPTHWISE_MOMENTS_KERNELS_H
#define LIANA_OPS_DEPTHWISE_MOMENTS_KERNELS_H

#include "kernels/vector_moments.h"
#include "ops/conv/depthwise_conv2d.tiles.kernels.h"
#include "ops/norm/batch_norm.h"

/* Of the vectors of channels; `pending`: pixels of the block that is not closed. */
typedef struct tile_moments {
    vector_moments *vectors;
    int64_t pending;
} tile_moments;

/* In bytes. */
static inline size_t moments_size(const liana__geometry *g)
{
    return (size_t)count_vectors(g->channels) * sizeof(vector_moments);
}

#if defined(LIANA__DOTS)

/* Two pixels of 32 channels, word by word: those of the first 16 channels, or of the last. */
LIANA__INLINE __m512i pair_pixels(__m512i first, __m512i second, const int last)
{
    const __m512i low = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i from = _mm512_add_epi32(low, _mm512_set1_epi32(last ? 16 : 0));
    const __m512i places = _mm512_or_si512(from, _mm512_slli_epi32(_mm512_add_epi32(from, _mm512_set1_epi32(32)), 16));
    return _mm512_permutex2var_epi16(first, places, second);
}

/* Stores a tile of pixels and adds it to the moments of its channels. */
LIANA__INLINE void store_measured(const int parts, const int tile, element *target, int64_t column,
                                  vector_float sums[MAX_TILE][MAX_PARTS], vector_moments *m)
{
    vector_float sum[MAX_PARTS], square[MAX_PARTS];
    for (int p = 0; p < parts; p++) {
        sum[p] = vector_load(m[p].sum);
        square[p] = vector_load(m[p].square);
    }
#pragma GCC unroll 4
    for (int i = 0; i < tile; i += 2, target += 2 * column) {
        const bool two = i + 1 < tile;
        if (parts == 2) {
            const __m512i first = pack_parts(sums[i]), second = two ? pack_parts(sums[i + 1]) : _mm512_setzero_si512();
            _mm512_storeu_si512(target, first);
            if (two) _mm512_storeu_si512(target + column, second);
            moments_add_pairs(pair_pixels(first, second, false), &sum[0], &square[0]);
            moments_add_pairs(pair_pixels(first, second, true), &sum[1], &square[1]);
        } else {
            const vector_float second = two ? sums[i + 1][0] : vector_set(0);
            const __m512i both = (__m512i)_mm512_cvtne2ps_pbh((__m512)second, (__m512)sums[i][0]);
            _mm256_storeu_si256((__m256i *)target, _mm512_castsi512_si256(both));
            if (two) _mm256_storeu_si256((__m256i *)(target + column), _mm512_extracti64x4_epi64(both, 1));
            moments_add_pairs(moments_pair(both), &sum[0], &square[0]);
        }
    }
    for (int p = 0; p < parts; p++) {
        vector_store(m[p].sum, sum[p]);
        vector_store(m[p].square, square[p]);
    }
}

#elif defined(LIANA__STORES_BF16)

/* Stores a pixel; `sums` becomes the stored values. */
LIANA__INLINE void store_stored(const int parts, element *target, vector_float *sums)
{
#if defined(LIANA__PAIRED_PARTS)
    if (parts == 2) {
        const __m512i bits = pack_parts(sums);
        _mm512_storeu_si512(target, bits);
        sums[0] = (vector_float)((vector_uint)bits << 16);
        sums[1] = (vector_float)((vector_uint)bits & 0xffff0000);
        return;
    }
#else
    (void)parts;
#endif
    sums[0] = vector_store_rounded(target, sums[0], VECTOR_LENGTH);
}

LIANA__INLINE void store_measured(const int parts, const int tile, element *target, int64_t column,
                                  vector_float sums[MAX_TILE][MAX_PARTS], vector_moments *m)
{
    vector_float sum[MAX_PARTS], square[MAX_PARTS];
    for (int p = 0; p < parts; p++) {
        sum[p] = vector_load(m[p].sum);
        square[p] = vector_load(m[p].square);
    }
#if defined(LIANA__PAIRED_PARTS)
    if (parts == 2) split_parts(sum);
    if (parts == 2) split_parts(square);
#endif
#pragma GCC unroll 8
    for (int i = 0; i < tile; i++) {
        store_stored(parts, target + i * column, sums[i]);
        for (int p = 0; p < parts; p++) moments_add_stored(sums[i][p], &sum[p], &square[p]);
    }
#if defined(LIANA__PAIRED_PARTS)
    if (parts == 2) join_parts(sum);
    if (parts == 2) join_parts(square);
#endif
    for (int p = 0; p < parts; p++) {
        vector_store(m[p].sum, sum[p]);
        vector_store(m[p].square, square[p]);
    }
}

#else

LIANA__INLINE void store_measured(const int parts, const int tile, element *target, int64_t column,
                                  vector_float sums[MAX_TILE][MAX_PARTS], vector_moments *m)
{
#pragma GCC unroll 8
    for (int i = 0; i < tile; i++) store_parts(parts, target + i * column, sums[i]);
    if (!m->started) moments_start(m, sums[0][0]);
    moments_add(tile, &sums[0][0], MAX_PARTS, m);
}

#endif

/* Closes the block for vectors [first, end) of channels. */
static __attribute__((noinline)) void close_moments(tile_moments *m, int64_t first, int64_t end)
{
    for (int64_t v = first; v < end && m->pending > 0; v++) moments_close(&m->vectors[v], m->pending);
    m->pending = 0;
}

/* [2, channels]. */
static void give_moments(const tile_moments *m, int64_t channels, double *statistics)
{
    for (int64_t v = 0; v < count_vectors(channels); v++) {
        double *mean = statistics + vector_start(v, channels);
        moments_give(&m->vectors[v], VECTOR_LENGTH, mean, mean + channels);
    }
}

#endif
