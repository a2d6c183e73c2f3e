/* depthwise_conv2d.moments.kernels.h - mean and variance of a depthwise convolution's results: of floats while a tile
 * is in registers, of bf16 tile by tile as it was stored. */
#ifndef LIANA_OPS_DEPTHWISE_MOMENTS_KERNELS_H
#define LIANA_OPS_DEPTHWISE_MOMENTS_KERNELS_H

#include "kernels/vector_moments.h"
#include "ops/conv/depthwise_conv2d.tiles.kernels.h"
#include "ops/norm/batch_norm.h"

typedef struct tile_moments tile_moments;

/* Adds a tile that was just stored at `stored`: vectors [first, end) of its channels. */
typedef void add_moments_function(tile_moments *m, int tile, const element *stored, int64_t column, int64_t channels,
                                  int64_t first, int64_t end);

/* Of the vectors of channels; `pending`: pixels of the block that is not closed. */
struct tile_moments {
    vector_moments *vectors;
    int64_t pending;
    add_moments_function *add; /* of bf16; floats are added before they are stored */
};

#if defined(__AVX512BF16__)
/* Runs a node of bf16 but the gradient of a kernel. Processors with fast dot products of bf16 and those without share
 * it; only their statistics differ. */
void liana__depthwise_conv2d_run_bf16(const liana__call *call, add_moments_function *add);
#endif

/* In bytes. */
static inline size_t moments_size(const liana__geometry *g)
{
    return (size_t)count_vectors(g->channels) * sizeof(vector_moments);
}

#if defined(LIANA__STORES_BF16)

/* Adds `tile` stored pixels, `column` apart, to the moments of one vector of channels. */
LIANA__INLINE void measure_vector(const int tile, const element *stored, int64_t column, vector_moments *m)
{
    vector_float sum = vector_load(m->sum), square = vector_load(m->square);
#if defined(LIANA__DOTS)
#pragma GCC unroll 4
    for (int i = 0; i < tile; i += 2, stored += 2 * column) {
        const __m256i first = _mm256_loadu_si256((const __m256i *)stored);
        const __m256i second =
            i + 1 < tile ? _mm256_loadu_si256((const __m256i *)(stored + column)) : _mm256_setzero_si256();
        moments_add_pairs(moments_pair(_mm512_inserti64x4(_mm512_castsi256_si512(first), second, 1)), &sum, &square);
    }
#else
#pragma GCC unroll 8
    for (int i = 0; i < tile; i++) moments_add_stored(vector_load_bf16(stored + i * column), &sum, &square);
#endif
    vector_store(m->sum, sum);
    vector_store(m->square, square);
}

LIANA__INLINE void measure_tile(tile_moments *m, const int tile, const element *stored, int64_t column,
                                int64_t channels, int64_t first, int64_t end)
{
    for (int64_t v = first; v < end; v++) {
        measure_vector(tile, stored + vector_start(v, channels), column, &m->vectors[v]);
    }
}

/* Stored values are rounded, so the moments are those of the tile as it can be read again. */
LIANA__ONE_COPY void add_moments(tile_moments *m, int tile, const element *stored, int64_t column, int64_t channels,
                                 int64_t first, int64_t end)
{
    switch (tile) {
    case 8: measure_tile(m, 8, stored, column, channels, first, end); break;
    case 7: measure_tile(m, 7, stored, column, channels, first, end); break;
    case 6: measure_tile(m, 6, stored, column, channels, first, end); break;
    case 4: measure_tile(m, 4, stored, column, channels, first, end); break;
    case 2: measure_tile(m, 2, stored, column, channels, first, end); break;
    default: measure_tile(m, 1, stored, column, channels, first, end); break;
    }
}

#else

/* The moments of sums in registers, which are stored as they are. */
LIANA__INLINE void measure_sums(const int tile, vector_float sums[MAX_TILE][MAX_PARTS], vector_moments *m)
{
    if (!m->started) moments_start(m, sums[0][0]);
    moments_add(tile, &sums[0][0], MAX_PARTS, m);
}

/* Then nothing is left to add. */
static add_moments_function *const add_moments = NULL;

#endif

#if !defined(LIANA__DOTS)

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

#endif
