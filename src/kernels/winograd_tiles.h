/* winograd_tiles.h - cuts images into the tiles of winograd.h, and transforms them.
 *
 * For *.kernels.h, compiled for one instruction set. A tile is m x m pixels of the result, and the (m + 2) x (m + 2)
 * pixels of the input that they see. Tiles are counted along lines of tiles, line by line, image by image. */
#ifndef LIANA_KERNELS_WINOGRAD_TILES_H
#define LIANA_KERNELS_WINOGRAD_TILES_H

#include "kernels/geometry.h"
#include "kernels/matrix_words.h"
#include "kernels/winograd.h"

typedef struct winograd_grid {
    int m;
    int64_t input[2], output[2]; /* height and width */
    int64_t padding[2];          /* before the first row and column */
    int64_t tiles[2], count;     /* of an image along the axes, and of all images */
} winograd_grid;

/* Of a tile's first pixel in the result. */
typedef struct winograd_place {
    int64_t image, row, column;
} winograd_place;

/* The gap between cells of transformed tiles: at distances of powers of two they would share few sets of the caches. */
enum { WINOGRAD_GAP = 16 };

static inline int64_t winograd_cells(int m)
{
    return (int64_t)(m + 2) * (m + 2);
}

static inline bool winograd_is_window(const liana__geometry *g)
{
    for (int i = 0; i < 2; i++) {
        if (g->window[i] != WINOGRAD_WINDOW || g->strides[i] != 1 || g->dilations[i] != 1) return false;
    }
    return g->groups == 1;
}

/* Products of a tile of m x m for each channel and filter of an image. */
static inline int64_t winograd_products(const int64_t output[2], int m)
{
    return divide_round_up(output[0], m) * divide_round_up(output[1], m) * winograd_cells(m);
}

/* Whether at most one product is left of `times` that direct sums take. */
static inline bool winograd_saves(const winograd_grid *grid, int64_t times)
{
    const int64_t direct = WINOGRAD_WINDOW * WINOGRAD_WINDOW * grid->output[0] * grid->output[1];
    return times * winograd_products(grid->output, grid->m) <= direct;
}

/* Of a convolution without strides, in tiles of m x m; `turned`: of dy, convolved with the kernel turned around, which
 * gives the gradient for the images. */
static inline winograd_grid winograd_grid_in_tiles(const liana__geometry *g, bool turned, int m)
{
    winograd_grid grid = {.m = m, .count = g->batch};
    for (int i = 0; i < 2; i++) {
        grid.input[i] = turned ? g->output[i] : g->input[i];
        grid.output[i] = turned ? g->input[i] : g->output[i];
        grid.padding[i] = turned ? WINOGRAD_WINDOW - 1 - g->padding_low[i] : g->padding_low[i];
        grid.tiles[i] = divide_round_up(grid.output[i], m);
        grid.count *= grid.tiles[i];
    }
    return grid;
}

/* Chooses large tiles, which take fewer products, unless too much of them is outside of the image. */
static inline winograd_grid winograd_grid_of(const liana__geometry *g, bool turned)
{
    const int64_t *output = turned ? g->input : g->output;
    const bool small = winograd_products(output, 3) < winograd_products(output, 4);
    return winograd_grid_in_tiles(g, turned, small ? 3 : 4);
}

/* The limit of a transformed kernel for each thread, in bytes; it is four times as large as the kernel. */
enum { WINOGRAD_LARGEST_KERNEL = 64 << 20 };

/* Whether fewer products take less time than direct sums, on a processor with that instruction set; as bench_products
 * measures it, with oneDNN 2.6 and direct sums (bench/products.md). */
static inline bool winograd_preferred(const winograd_grid *grid, int64_t channels, int64_t filters, liana_dtype dtype,
                                      liana__isa isa, const char **reason)
{
    const bool narrow = dtype == LIANA_BF16;
#if LIANA_VECTOR_BYTES == 32
    *reason = "made for processors without AVX-512";
    if (isa > LIANA__ISA_AVX2) return false;
#endif
    /* One instruction adds two products of bf16. */
    *reason = "too little of its tiles lies in the image";
    if (!winograd_saves(grid, narrow && isa >= LIANA__ISA_AVX512_BF16 ? 3 : 2)) return false;
    *reason = "too few channels or filters";
    if (channels < VECTOR_LENGTH || filters < VECTOR_LENGTH) return false;
    *reason = "the transformed kernel would take too much memory";
    return channels <= WINOGRAD_LARGEST_KERNEL / (int64_t)sizeof(float) / winograd_cells(grid->m) / filters;
}

static inline winograd_place winograd_place_of(const winograd_grid *grid, int64_t tile)
{
    const int64_t line = tile / grid->tiles[1];
    return (winograd_place){line / grid->tiles[0], line % grid->tiles[0] * grid->m, tile % grid->tiles[1] * grid->m};
}

/* Finds `size` x `size` pixels of images [height, width, channels], which begin at row and column `from`; pixels
 * outside of the image are zeros. */
LIANA__INLINE void winograd_find(const int size, liana_dtype dtype, const int64_t extent[2], int64_t channels,
                                 winograd_place from, const void *images, const float *zeros, const void **cells)
{
    for (int64_t i = 0; i < size; i++) {
        const int64_t row = from.row + i;
        for (int64_t j = 0; j < size; j++) {
            const int64_t column = from.column + j;
            const bool inside = row >= 0 && row < extent[0] && column >= 0 && column < extent[1];
            const int64_t pixel = (from.image * extent[0] + row) * extent[1] + column;
            cells[i * size + j] = inside ? vector_at(dtype, images, pixel * channels) : zeros;
        }
    }
}

/* The pixels that a tile sees. */
LIANA__INLINE void winograd_find_input(const int m, liana_dtype dtype, const winograd_grid *grid, int64_t channels,
                                       int64_t tile, const void *images, const float *zeros, const void **cells)
{
    winograd_place from = winograd_place_of(grid, tile);
    from.row -= grid->padding[0];
    from.column -= grid->padding[1];
    winograd_find(m + 2, dtype, grid->input, channels, from, images, zeros, cells);
}

/* The input of the transforms of tiles, and their target: tile t of a block has cell k at target + k * cell + t *
 * row. */
typedef struct winograd_images {
    const void *data;
    int64_t channels;
    const float *zeros; /* as many */
    float *target;
    int64_t row, cell;
} winograd_images;

/* `count` tiles of the input. */
LIANA__INLINE void winograd_transform_input(const int m, liana_dtype dtype, const winograd_grid *grid, int64_t first,
                                            int64_t count, const winograd_images *images)
{
    const int64_t channels = images->channels, next = m * channels;
    for (int64_t t = 0; t < count; t++) {
        const void *cells[WINOGRAD_CELLS * WINOGRAD_CELLS];
        winograd_find_input(m, dtype, grid, channels, first + t, images->data, images->zeros, cells);
        float *target = images->target + t * images->row;
        int64_t c = 0;
        for (; c + VECTOR_LENGTH <= channels; c += VECTOR_LENGTH) {
            winograd_input_cells(m, dtype, cells, c, VECTOR_LENGTH, next, target + c, images->cell);
        }
        if (c < channels) winograd_input_cells(m, dtype, cells, c, channels - c, next, target + c, images->cell);
    }
}

/* `count` tiles of the result's gradient. */
LIANA__INLINE void winograd_transform_gradient(const int m, liana_dtype dtype, const winograd_grid *grid, int64_t first,
                                               int64_t count, const winograd_images *images)
{
    const int64_t channels = images->channels, next = m * channels;
    for (int64_t t = 0; t < count; t++) {
        const void *cells[WINOGRAD_RESULTS * WINOGRAD_RESULTS];
        winograd_find(m, dtype, grid->output, channels, winograd_place_of(grid, first + t), images->data, images->zeros,
                      cells);
        float *target = images->target + t * images->row;
        int64_t c = 0;
        for (; c + VECTOR_LENGTH <= channels; c += VECTOR_LENGTH) {
            winograd_gradient_cells(m, dtype, cells, c, VECTOR_LENGTH, next, target + c, images->cell);
        }
        if (c < channels) winograd_gradient_cells(m, dtype, cells, c, channels - c, next, target + c, images->cell);
    }
}

#endif
