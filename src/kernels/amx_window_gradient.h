/* amx_window_gradient.h - gradients of kernels of windows without strides, on the tiles of AMX.
 *
 * The gradient of a cell of the window is a sum over all pixels: x, moved by the cell's place in the window, times dy.
 * Both are in one grid of lines. In it, padding is a gap of zeros after each line and each image, shared by its
 * neighbours. So every cell moves the grid by a number of pixels, and its sum is a matrix product along the grid.
 *
 * The grid is worked on block by block. In a block, x is stored with pixels along its rows: the tiles of a cell begin
 * elsewhere in the same rows. dy is stored as tiles for the right side of the product. All cuts depend on sizes, and
 * every element is one sum in a fixed order. */
#ifndef LIANA_KERNELS_AMX_WINDOW_GRADIENT_H
#define LIANA_KERNELS_AMX_WINDOW_GRADIENT_H

#include "kernels/amx_block.h"
#include "kernels/geometry.h"

typedef struct window_grid {
    liana__geometry g;
    int64_t lines, pitch; /* of an image, and pixels of a line, with the gaps */
    int64_t count;        /* pixels of all images */
    int64_t before;       /* pixels of x before the one that dy's is compared with: the first cell's place */
    int64_t span;         /* from the first cell's to the last one's */
    int64_t block;        /* pixels at a time */
    int64_t row;          /* elements of a row of stored x */
} window_grid;

/* Both operands of a block stay in the L2 cache. Rows are an odd number of cache lines apart; otherwise they would
 * share few sets of the caches. */
enum { WINDOW_BLOCK_BYTES = 768 << 10, LEAST_WINDOW_BLOCK = 256, MOST_WINDOW_BLOCK = 1024 };

static inline int64_t window_gap(const liana__geometry *g, int axis)
{
    return g->padding_low[axis] > g->padding_high[axis] ? g->padding_low[axis] : g->padding_high[axis];
}

static inline window_grid plan_window_grid(const liana__geometry *g)
{
    window_grid w = {.g = *g, .lines = g->input[0] + window_gap(g, 0), .pitch = g->input[1] + window_gap(g, 1)};
    w.count = g->batch * w.lines * w.pitch;
    w.before = g->padding_low[0] * w.pitch + g->padding_low[1];
    w.span = (g->window[0] - 1) * w.pitch + g->window[1] - 1;
    const int64_t room = WINDOW_BLOCK_BYTES / (int64_t)sizeof(tile_element) / (g->channels + g->filters);
    w.block = at_most(room < LEAST_WINDOW_BLOCK ? LEAST_WINDOW_BLOCK : room, MOST_WINDOW_BLOCK);
    w.block = divide_round_up(at_most(w.block, w.count), STEP_ELEMENTS) * STEP_ELEMENTS;
    w.row = (divide_round_up(w.block + w.span, STEP_ELEMENTS) | 1) * STEP_ELEMENTS;
    return w;
}

/* In elements: x with pixels along its rows, dy as tiles, and the pixels of either before. */
static inline int64_t stored_x_size(const window_grid *w)
{
    return divide_round_up(w->g.channels, SIDE) * SIDE * w->row;
}

static inline int64_t stored_dy_size(const window_grid *w)
{
    return w->block / STEP_ELEMENTS * divide_round_up(w->g.filters, SIDE) *
           (AMX_TILE_BYTES / (int64_t)sizeof(tile_element));
}

static inline int64_t gathered_size(const window_grid *w)
{
    const int64_t x = w->row * w->g.channels, dy = w->block * w->g.filters;
    return x > dy ? x : dy;
}

/* In bytes. */
static inline size_t window_gradient_scratch(const window_grid *w)
{
    return (size_t)(stored_x_size(w) + stored_dy_size(w) + gathered_size(w)) * sizeof(tile_element);
}

/* Images of `size` pixels of `channels` elements as pixels [begin, begin + count) of the grid. */
static void gather_grid(const window_grid *w, const tile_element *images, const int64_t size[2], int64_t channels,
                        int64_t begin, int64_t count, tile_element *target)
{
    for (int64_t done = 0; done < count;) {
        const int64_t at = begin + done, line = at < 0 ? -1 : at / w->pitch, column = at < 0 ? 0 : at % w->pitch;
        const int64_t image = at < 0 ? 0 : line / w->lines, row = line - image * w->lines;
        const bool real = at >= 0 && image < w->g.batch && row < size[0] && column < size[1];
        const int64_t left = at < 0 ? -at : (real ? size[1] : w->pitch) - column;
        const int64_t run = at_most(left, count - done);
        const size_t bytes = (size_t)(run * channels) * sizeof *target;
        if (real) {
            memcpy(target, images + ((image * size[0] + row) * size[1] + column) * channels, bytes);
        } else {
            memset(target, 0, bytes);
        }
        target += run * channels;
        done += run;
    }
}

/* All cells for 32 channels (or fewer) and a panel of filters. */
static void add_cells(const window_grid *w, const tile_element *x, const tile_unit *dy, int64_t channel, int64_t filter,
                      bool add, float *result)
{
    const liana__geometry *g = &w->g;
    for (int64_t cell = 0; cell < g->window[0] * g->window[1]; cell++) {
        const tile_element *left = x + channel * w->row + cell / g->window[1] * w->pitch + cell % g->window[1];
        const block_steps steps = {
            {left, left + SIDE * w->row}, w->row * (int64_t)sizeof *left, AMX_ROW_BYTES, dy, w->block / STEP_ELEMENTS};
        const block_target target = {.data = result + (cell * g->channels + channel) * g->filters + filter,
                                     .stride = g->filters,
                                     .rows = at_most(2 * SIDE, g->channels - channel),
                                     .columns = at_most(PANEL_COLUMNS, g->filters - filter),
                                     .wide = true,
                                     .add = add};
        multiply_block(&steps, NULL, &target);
    }
}

/* One block of the grid, from pixel `begin` on. */
static void add_grid_block(const window_grid *w, const tile_element *x, const tile_element *dy, int64_t begin,
                           float *result, tile_element *scratch)
{
    const liana__geometry *g = &w->g;
    const left_layout along_rows = {SIDE * w->row, STEP_ELEMENTS, w->row};
    tile_element *const stored_x = scratch, *const stored_dy = scratch + stored_x_size(w);
    tile_element *const gathered = stored_dy + stored_dy_size(w);
    gather_grid(w, x, g->input, g->channels, begin - w->before, w->row, gathered);
    pack_left(gathered, g->channels, w->row, along_rows, stored_x);
    gather_grid(w, dy, g->output, g->filters, begin, w->block, gathered);
    const int64_t panel_size = w->block / STEP_ELEMENTS * 2 * TILE_WORDS;
    for (int64_t f = 0; f < g->filters; f += PANEL_COLUMNS) {
        pack_right(gathered + f, g->filters, w->block, at_most(PANEL_COLUMNS, g->filters - f),
                   (tile_unit *)stored_dy + f / PANEL_COLUMNS * panel_size);
    }
    for (int64_t c = 0; c < g->channels; c += 2 * SIDE) {
        for (int64_t f = 0; f < g->filters; f += PANEL_COLUMNS) {
            const tile_unit *panel = (const tile_unit *)stored_dy + f / PANEL_COLUMNS * panel_size;
            add_cells(w, stored_x, panel, c, f, begin > 0, result);
        }
    }
}

/* result: [window, channels, filters], floats. scratch: window_gradient_scratch bytes. */
static void multiply_window_gradient(const window_grid *w, const tile_element *x, const tile_element *dy, float *result,
                                     void *scratch)
{
    configure_tiles(SIDE, SIDE);
    for (int64_t begin = 0; begin < w->count; begin += w->block) add_grid_block(w, x, dy, begin, result, scratch);
    amx_release();
}

#endif
