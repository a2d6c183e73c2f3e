/* depthwise_tiles.kernels.h - what the tiled depthwise convolutions share: how a row is cut into tiles of pixels. */
#ifndef LIANA_OPS_DEPTHWISE_TILES_KERNELS_H
#define LIANA_OPS_DEPTHWISE_TILES_KERNELS_H

#include "kernels/vector.h"
#include "ops/depthwise_conv2d.h"

enum {
    MAX_TILE = 8,
    MAX_PAIRS = LIANA_VECTOR_BYTES == 64 ? 7 : 4, /* twice as many sums must fit into the registers */
    MAX_WINDOW = 7,
};

LIANA__INLINE int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

LIANA__INLINE int64_t greatest(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

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
    return least(v * VECTOR_LENGTH, channels - VECTOR_LENGTH);
}

/* A value that is kept in a register: GCC would load it again for each use, and loads are what is scarce here. */
LIANA__INLINE vector_float keep(vector_float x)
{
#if LIANA_VECTOR_BYTES > 16
    __asm__("" : "+v"(x));
#endif
    return x;
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
