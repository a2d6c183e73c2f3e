/* amx_window.h - convolutions of windows without strides on the tiles of AMX: forward, and the gradient of the images,
 * which is a convolution of dy with the kernel turned around.
 *
 * Each cell of the window is a matrix product whose rows are pixels, a fixed number of channels apart. A tile takes up
 * to 16 pixels of a line in place, and the sums of all cells stay in the tiles. Images are copied next to each other
 * with their padding, some lines at a time. Images without padding, and with whole steps of channels, are read in
 * place. Lines are cut into tiles of nearly equal size. The last tile ends with the line, and may compute pixels a
 * second time. */
#ifndef LIANA_KERNELS_AMX_WINDOW_H
#define LIANA_KERNELS_AMX_WINDOW_H

#include "kernels/amx_block.h"
#include "kernels/geometry.h"

typedef struct window_plan {
    bool turned;
    int64_t batch, input[2], output[2], window[2];
    int64_t padding[2];     /* before the first line and column */
    int64_t padded[2];      /* lines of an image and pixels of a line, with padding */
    int64_t depth, columns; /* channels that are read, and of the result */
    int64_t pixel;          /* elements from one padded pixel to the next: whole steps */
    int64_t tile, tiles;    /* pixels of a tile, tiles of a line */
    bool in_place;
} window_plan;

static inline window_plan plan_window(const liana__geometry *g, bool turned)
{
    window_plan p = {.turned = turned, .batch = g->batch};
    p.depth = turned ? g->filters : g->channels;
    p.columns = turned ? g->channels : g->filters;
    p.pixel = divide_round_up(p.depth, STEP_ELEMENTS) * STEP_ELEMENTS;
    p.in_place = p.pixel == p.depth;
    for (int i = 0; i < 2; i++) {
        p.input[i] = turned ? g->output[i] : g->input[i];
        p.output[i] = turned ? g->input[i] : g->output[i];
        p.window[i] = g->window[i];
        p.padding[i] = turned ? g->window[i] - 1 - g->padding_low[i] : g->padding_low[i];
        p.padded[i] = p.output[i] + p.window[i] - 1;
        if (p.padding[i] != 0 || p.padded[i] != p.input[i]) p.in_place = false;
    }
    p.tiles = divide_round_up(p.output[1], SIDE);
    p.tile = divide_round_up(p.output[1], p.tiles);
    return p;
}

/* ---- the kernel: panels of [cells][steps][1 or 2 tiles] ---- */

static inline int64_t window_steps(const window_plan *p)
{
    return p->window[0] * p->window[1] * (p->pixel / STEP_ELEMENTS);
}

/* In bytes. */
static inline size_t window_packed_size(const window_plan *p)
{
    return (size_t)(window_steps(p) * divide_round_up(p->columns, SIDE)) * AMX_TILE_BYTES;
}

static void pack_window(const window_plan *p, const tile_element *kernel, tile_unit *units)
{
    const int64_t cells = p->window[0] * p->window[1];
    for (int64_t first = 0; first < p->columns; first += PANEL_COLUMNS) {
        const int64_t count = at_most(PANEL_COLUMNS, p->columns - first);
        for (int64_t cell = 0; cell < cells;
             cell++, units += p->pixel / STEP_ELEMENTS * (count > SIDE ? 2 : 1) * TILE_WORDS) {
            const tile_element *from = kernel + (p->turned ? cells - 1 - cell : cell) * p->depth * p->columns;
            if (p->turned) {
                pack_right_transposed(from + first * p->depth, p->depth, p->depth, count, units);
            } else {
                pack_right(from + first, p->columns, p->depth, count, units);
            }
        }
    }
}

/* ---- lines of images with their padding ---- */

enum { WINDOW_ROOM = 512 << 10 };

static inline int64_t padded_line_size(const window_plan *p)
{
    return p->padded[1] * p->pixel;
}

/* Lines of the result that are computed together. */
static inline int64_t window_lines_at_once(const window_plan *p)
{
    const int64_t lines = WINDOW_ROOM / (padded_line_size(p) * (int64_t)sizeof(tile_element)) - p->window[0] + 1;
    return lines < 2 ? 2 : at_most(lines, p->batch * p->output[0]);
}

/* Of the padded lines that these see, in elements. Each further image brings its own padding. */
static inline int64_t window_room_size(const window_plan *p)
{
    if (p->in_place) return 0;
    const int64_t images = window_lines_at_once(p) / p->output[0] + 2;
    return (window_lines_at_once(p) + images * (p->window[0] - 1)) * padded_line_size(p);
}

/* Padded lines are counted through all images. */
static inline int64_t padded_line_of(const window_plan *p, int64_t line)
{
    return line / p->output[0] * p->padded[0] + line % p->output[0];
}

/* Padded lines [begin, end) to `room`. */
static void copy_padded_lines(const window_plan *p, const tile_element *images, int64_t begin, int64_t end,
                              tile_element *room)
{
    for (int64_t line = begin; line < end; line++, room += padded_line_size(p)) {
        const int64_t row = line % p->padded[0] - p->padding[0];
        memset(room, 0, (size_t)padded_line_size(p) * sizeof *room);
        if (row < 0 || row >= p->input[0]) continue;
        const tile_element *from = images + (line / p->padded[0] * p->input[0] + row) * p->input[1] * p->depth;
        tile_element *to = room + p->padding[1] * p->pixel;
        if (p->pixel == p->depth) {
            memcpy(to, from, (size_t)(p->input[1] * p->depth) * sizeof *to);
            continue;
        }
        for (int64_t x = 0; x < p->input[1]; x++) {
            memcpy(to + x * p->pixel, from + x * p->depth, (size_t)p->depth * sizeof *to);
        }
    }
}

/* ---- sums ---- */

/* A tile's pixels: the first one in the padded lines, and its number in the result. */
typedef struct window_tile {
    const tile_element *pixels;
    int64_t pixel;
} window_tile;

/* Lines [begin, end) of the result, and the padded line that `padded` begins with. */
typedef struct window_lines {
    const tile_element *padded;
    int64_t first_padded, begin, end;
} window_lines;

static window_tile tile_at(const window_plan *p, const window_lines *lines, int64_t index)
{
    const int64_t line = lines->begin + index / p->tiles;
    const int64_t column = at_most(index % p->tiles * p->tile, p->output[1] - p->tile);
    const int64_t padded = padded_line_of(p, line) - lines->first_padded;
    return (window_tile){lines->padded + padded * padded_line_size(p) + column * p->pixel,
                         line * p->output[1] + column};
}

LIANA__INLINE void add_window(const int rows, const int columns, const window_plan *p, const window_tile *tiles,
                              const tile_unit *right)
{
    const int64_t steps = p->pixel / STEP_ELEMENTS;
    for (int64_t i = 0; i < p->window[0]; i++) {
        for (int64_t j = 0; j < p->window[1]; j++, right += steps * columns * TILE_WORDS) {
            const int64_t at = i * padded_line_size(p) + j * p->pixel;
            const block_steps cell = {{tiles[0].pixels + at, tiles[1].pixels + at},
                                      p->pixel * (int64_t)sizeof(tile_element),
                                      AMX_ROW_BYTES,
                                      right,
                                      steps};
            add_steps(rows, columns, &cell);
        }
    }
}

LIANA__INLINE void window_block(const int rows, const int columns, const window_plan *p, const window_tile *tiles,
                                const tile_unit *right, const product_target *c, int64_t first)
{
    float sums[2 * SIDE][PANEL_COLUMNS] __attribute__((aligned(64)));
    clear_block(rows, columns);
    add_window(rows, columns, p, tiles, right);
    store_block(rows, columns, sums);
    for (int t = 0; t < rows; t++) {
        const product_target from = target_from(c, tiles[t].pixel);
        const block_target target = {.data = (tile_element *)from.data + first,
                                     .stride = c->stride,
                                     .rows = p->tile,
                                     .columns = at_most(PANEL_COLUMNS, p->columns - first),
                                     .after = c->after,
                                     .residual = from.residual ? from.residual + first : NULL,
                                     .first = first};
        write_block(sums + t * SIDE, &target);
    }
}

/* All tiles of these lines times all panels: tile by tile if the panels fit into the L2 cache together with the
 * lines. */
static void multiply_window_lines(const window_plan *p, const window_lines *lines, const tile_unit *units,
                                  const product_target *c)
{
    const int64_t tiles = (lines->end - lines->begin) * p->tiles, blocks = divide_round_up(tiles, 2);
    const int64_t panels = divide_round_up(p->columns, PANEL_COLUMNS), panel_units = window_steps(p) * 2 * TILE_WORDS;
    const bool lines_first = window_packed_size(p) <= PANELS_AT_ONCE;
    for (int64_t k = 0; k < panels * blocks; k++) {
        const int64_t panel = lines_first ? k % panels : k / blocks, block = lines_first ? k / panels : k % blocks;
        const int64_t first = panel * PANEL_COLUMNS, index = 2 * block;
        const bool pair = index + 1 < tiles, wide = p->columns - first > SIDE;
        const window_tile both[2] = {tile_at(p, lines, index), tile_at(p, lines, index + pair)};
        const tile_unit *right = units + panel * panel_units;
        if (pair && wide) window_block(2, 2, p, both, right, c, first);
        if (pair && !wide) window_block(2, 1, p, both, right, c, first);
        if (!pair && wide) window_block(1, 2, p, both, right, c, first);
        if (!pair && !wide) window_block(1, 1, p, both, right, c, first);
    }
}

/* Lines [begin, end) of the result, counted through all images. `room`: window_room_size elements. */
static void convolve_window(const window_plan *p, const tile_element *images, const tile_unit *units, int64_t begin,
                            int64_t end, const product_target *c, tile_element *room)
{
    const int64_t at_once = window_lines_at_once(p);
    configure_tiles((int)p->tile, (int)p->tile);
    for (int64_t first = begin; first < end; first += at_once) {
        window_lines lines = {room, padded_line_of(p, first), first, at_most(first + at_once, end)};
        if (p->in_place) {
            lines.padded = images + lines.first_padded * padded_line_size(p);
        } else {
            copy_padded_lines(p, images, lines.first_padded, padded_line_of(p, lines.end - 1) + p->window[0], room);
        }
        multiply_window_lines(p, &lines, units, c);
    }
    amx_release();
}

#endif
