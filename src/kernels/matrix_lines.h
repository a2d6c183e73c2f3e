/* matrix_lines.h - the gradient of a convolution's kernel as matrix products. For *.kernels.h files, which are compiled
 * for one instruction set.
 *
 * For each cell of the window the product is A^T B. The rows of A are the pixels of x that the cell sees, one after the
 * other; the rows of B are the pixels of dy.
 *
 * Lines of images are packed; x once for all cells of the window, since a cell only begins elsewhere in a line. bf16
 * that is multiplied as floats becomes floats there. If a unit is two neighbours along the line (bf16), lines are
 * packed twice: as pairs that begin at even pixels, and as pairs that begin at odd pixels. So each cell finds its own
 * pairs. The order of additions depends only on the geometry. */
#ifndef LIANA_KERNELS_MATRIX_LINES_H
#define LIANA_KERNELS_MATRIX_LINES_H

#include "kernels/geometry.h"
#include "kernels/matrix_pack.h"

/* A block of the sum is some lines of one image, or several whole images. It has as many steps as leave a panel of B in
 * the L1 cache. If the gradient is large, a block has more steps, because each block reads and writes the gradient. */
enum { LINES_STEPS = 160, LINES_STEPS_OF_LARGE = 320, LARGE_GRADIENT = 512 << 10 };

typedef struct lines_plan {
    const liana__geometry *g;
    int64_t steps;         /* of a line of dy */
    int64_t images, lines; /* of dy in a block */
    int64_t rows;          /* of x that the lines see */
    int64_t phases;        /* how often a line of x is packed */
    int64_t phase_size;    /* units of one channel */
    int64_t tile_size;     /* units of TILE_ROWS channels in a block */
} lines_plan;

/* Windows of one pixel may have strides; others have none. No dilations, one group. */
static lines_plan plan_lines(const liana__geometry *g)
{
    lines_plan plan = {.g = g, .steps = divide_round_up(g->output[1], TILE_STEP), .lines = g->output[0]};
    const int64_t gradient = g->window[0] * g->window[1] * g->channels * g->filters * (int64_t)sizeof(float);
    const int64_t most = gradient > LARGE_GRADIENT ? LINES_STEPS_OF_LARGE : LINES_STEPS;
    const int64_t images = most / (plan.steps * plan.lines);
    plan.images = at_most(images > 0 ? images : 1, g->batch);
    if (images == 0) {
        const int64_t blocks = divide_round_up(plan.lines, most / plan.steps > 0 ? most / plan.steps : 1);
        plan.lines = divide_round_up(plan.lines, blocks);
    }
    plan.rows = plan.lines + g->window[0] - 1;
    plan.phases = at_most(TILE_STEP, g->window[1]);
    plan.phase_size = plan.steps + (g->window[1] - 1) / TILE_STEP;
    plan.tile_size = plan.images * plan.rows * plan.phases * plan.phase_size * TILE_ROWS + BEHIND_TILE;
    return plan;
}

/* In units: of x, of a panel of dy, of a line of x with zeros for its padding. */
static int64_t packed_lines_size(const lines_plan *plan)
{
    return tiled_size(plan->g->channels, plan->tile_size);
}

static int64_t packed_panel_size(const lines_plan *plan)
{
    return plan->images * plan->lines * plan->steps * TILE_VECTORS * VECTOR_LENGTH;
}

static int64_t padded_line_size(const lines_plan *plan)
{
    const int64_t pixels = TILE_STEP * plan->phase_size + plan->phases - 1;
    return divide_round_up(pixels * plan->g->channels, TILE_STEP);
}

/* In bytes. */
static size_t lines_scratch(const lines_plan *plan)
{
    return (size_t)(packed_lines_size(plan) + packed_panel_size(plan) + padded_line_size(plan)) * sizeof(tile_unit);
}

/* ---- packing ---- */

/* Copies the pixels of a line that windows see, side by side, after the zeros of the padding. */
static void copy_line(const liana__geometry *g, const tile_element *line, tile_element *padded)
{
    const int64_t low = g->padding_low[1], stride = g->strides[1];
    padded += low * g->channels;
    if (stride == 1) {
        const int64_t seen = at_most(g->input[1], g->output[1] + g->window[1] - 1 - low);
        if (seen > 0) memcpy(padded, line, (size_t)(seen * g->channels) * sizeof *padded);
        return;
    }
    for (int64_t i = 0; i < g->output[1]; i++) {
        memcpy(padded + i * g->channels, line + i * stride * g->channels, (size_t)g->channels * sizeof *padded);
    }
}

/* A padded line into the tiles of all channels. */
static void pack_line(const lines_plan *plan, const tile_element *padded, tile_unit *target)
{
    const int64_t channels = plan->g->channels;
#if defined(LIANA__STORES_BF16)
    const bool plain = false;
#else
    const bool plain = true; /* units are the values there */
#endif
    const int64_t at_once = plain ? TILE_ROWS : TILED_COLUMNS;
    for (int64_t c = 0; c < channels; c += at_once, target += at_once / TILE_ROWS * plan->tile_size) {
        const int64_t count = at_most(at_once, channels - c);
        tile_unit *to = target;
        for (int64_t phase = 0; phase < plan->phases; phase++) {
            const tile_element *from = padded + phase * channels + c;
            for (int64_t i = 0; i < plan->phase_size; i++, from += TILE_STEP * channels, to += TILE_ROWS) {
                if (!plain) {
                    store_in_tiles(to, plan->tile_size, load_units(from, channels, TILE_STEP, count));
                } else if (count == TILE_ROWS) {
                    memcpy(to, from, TILE_ROWS * sizeof *to);
                } else {
                    memcpy(to, from, (size_t)count * sizeof *to);
                }
            }
        }
    }
}

/* The lines of dy of a block: `lines` from `first_line` on, of `images` from `first_image` on. */
typedef struct lines_block {
    const lines_plan *plan;
    int64_t first_image, images, first_line, lines;
    const tile_unit *x; /* packed: [tiles][images][rows][phases][phase_size][TILE_ROWS] */
    tile_unit *dy;      /* a panel of filters: [images][lines][steps][vectors] */
    bool add;           /* to the results of other blocks */
} lines_block;

static void pack_lines(const lines_block *block, const tile_element *x, tile_element *padded, tile_unit *target)
{
    const lines_plan *plan = block->plan;
    const liana__geometry *g = plan->g;
    const int64_t line_size = plan->phases * plan->phase_size * TILE_ROWS;
    for (int64_t image = 0; image < block->images; image++) {
        for (int64_t row = 0; row < plan->rows; row++) {
            const int64_t source = (block->first_line + row) * g->strides[0] - g->padding_low[0];
            if (source < 0 || source >= g->input[0]) continue;
            const int64_t line = (block->first_image + image) * g->input[0] + source;
            copy_line(g, x + line * g->input[1] * g->channels, padded);
            pack_line(plan, padded, target + (image * plan->rows + row) * line_size);
        }
    }
}

static void pack_filters(const lines_block *block, const tile_element *dy, const packed_panel *panel)
{
    const lines_plan *plan = block->plan;
    const liana__geometry *g = plan->g;
    const int64_t width = panel->vectors * VECTOR_LENGTH, count = width - VECTOR_LENGTH + panel->last;
    for (int64_t image = 0; image < block->images; image++) {
        for (int64_t i = 0; i < block->lines; i++) {
            const int64_t line = (block->first_image + image) * g->output[0] + block->first_line + i;
            pack_steps(dy + line * g->output[1] * g->filters + panel->first, g->filters, g->output[1], count,
                       block->dy + (image * plan->lines + i) * plan->steps * width, width);
        }
    }
}

/* ---- products ---- */

/* A^T B of packed operands. */
LIANA__INLINE void tile_add_packed(const int rows, const int vectors, const tile_unit *a, const tile_unit *b,
                                   int64_t steps, vector_float (*sums)[TILE_VECTORS])
{
    vector_float right[TILE_VECTORS];
    for (int64_t k = 0; k < steps; k++, a += TILE_ROWS, b += vectors * VECTOR_LENGTH) {
        tile_load(vectors, b, right);
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++) {
            vector_float left = tile_spread(1, a + r);
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++) sums[r][v] = tile_fma(left, right[v], sums[r][v]);
        }
    }
}

/* A cell of the window: where it begins in a packed line, and the lines of the block for which it is in the image. */
typedef struct lines_cell {
    int64_t row, offset;
    int64_t begin, end;
} lines_cell;

static lines_cell cell_at(const lines_block *block, int64_t row, int64_t column)
{
    const lines_plan *plan = block->plan;
    const liana__geometry *g = plan->g;
    lines_cell cell = {.row = row, .end = block->lines};
    cell.offset = (column % plan->phases * plan->phase_size + column / plan->phases) * TILE_ROWS;
    const int64_t source = block->first_line * g->strides[0] + row - g->padding_low[0]; /* of the first line */
    if (g->strides[0] > 1) return cell;
    if (source < 0) cell.begin = at_most(-source, block->lines);
    if (source + cell.end > g->input[0]) cell.end = g->input[0] - source;
    if (cell.end < cell.begin) cell.end = cell.begin;
    return cell;
}

LIANA__INLINE void lines_tile(const int rows, const int vectors, const lines_block *block, const lines_cell *cell,
                              int64_t last, const tile_unit *a, float *c)
{
    const lines_plan *plan = block->plan;
    const int64_t a_line = plan->phases * plan->phase_size * TILE_ROWS, filters = plan->g->filters;
    const int64_t b_line = plan->steps * vectors * VECTOR_LENGTH;
    vector_float sums[TILE_ROWS][TILE_VECTORS];
    tile_clear(rows, vectors, sums);
    for (int64_t image = 0; image < block->images; image++) {
        const tile_unit *left = a + (image * plan->rows + cell->begin + cell->row) * a_line + cell->offset;
        const tile_unit *right = block->dy + (image * plan->lines + cell->begin) * b_line;
        for (int64_t line = cell->begin; line < cell->end; line++, left += a_line, right += b_line) {
            tile_add_packed(rows, vectors, left, right, plan->steps, sums);
        }
    }
    if (block->add) tile_add_memory(rows, vectors, c, filters, last, sums);
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) tile_store_row(vectors, c + r * filters, last, sums[r]);
}

LIANA__INLINE void lines_channels(const int rows, const int vectors, const lines_block *block, int64_t tile,
                                  const packed_panel *panel, float *gradient)
{
    const liana__geometry *g = block->plan->g;
    const tile_unit *a = block->x + tile * block->plan->tile_size;
    float *c = gradient + tile * TILE_ROWS * g->filters + panel->first;
    for (int64_t i = 0; i < g->window[0]; i++) {
        for (int64_t j = 0; j < g->window[1]; j++, c += g->channels * g->filters) {
            const lines_cell cell = cell_at(block, i, j);
            lines_tile(rows, vectors, block, &cell, panel->last, a, c);
        }
    }
}

LIANA__INLINE void lines_panel(const int vectors, const lines_block *block, const packed_panel *panel, float *gradient)
{
    const int64_t channels = block->plan->g->channels, whole = channels / TILE_ROWS;
    for (int64_t tile = 0; tile < whole; tile++) lines_channels(TILE_ROWS, vectors, block, tile, panel, gradient);
    switch (channels - whole * TILE_ROWS) { /* constants, so that the sums are registers */
#if LIANA_VECTOR_BYTES == 64
    case 7: lines_channels(7, vectors, block, whole, panel, gradient); break;
    case 6: lines_channels(6, vectors, block, whole, panel, gradient); break;
#endif
    case 5: lines_channels(5, vectors, block, whole, panel, gradient); break;
    case 4: lines_channels(4, vectors, block, whole, panel, gradient); break;
    case 3: lines_channels(3, vectors, block, whole, panel, gradient); break;
    case 2: lines_channels(2, vectors, block, whole, panel, gradient); break;
    case 1: lines_channels(1, vectors, block, whole, panel, gradient); break;
    default: break;
    }
}

static void add_block(const lines_block *block, const tile_element *dy, float *gradient)
{
    const packed_matrix filters = {.columns = block->plan->g->filters, .step_units = 1};
    for (int64_t i = 0; i < count_panels(&filters); i++) {
        const packed_panel panel = panel_at(&filters, i);
        pack_filters(block, dy, &panel);
        switch (panel.vectors) {
#if LIANA_VECTOR_BYTES == 64
        case 3: lines_panel(3, block, &panel, gradient); break;
#endif
        case 2: lines_panel(2, block, &panel, gradient); break;
        default: lines_panel(1, block, &panel, gradient); break;
        }
    }
}

/* The gradient [window, channels, filters] from x and dy. */
static void multiply_lines(const liana__geometry *g, const tile_element *x, const tile_element *dy, float *gradient,
                           void *scratch)
{
    const lines_plan plan = plan_lines(g);
    tile_unit *packed = scratch, *panel = packed + packed_lines_size(&plan);
    tile_unit *padded = panel + packed_panel_size(&plan);
    memset(padded, 0, (size_t)padded_line_size(&plan) * sizeof *padded);
    lines_block block = {.plan = &plan, .x = packed, .dy = panel};
    for (int64_t image = 0; image < g->batch; image += plan.images) {
        for (int64_t line = 0; line < g->output[0]; line += plan.lines) {
            block.first_image = image;
            block.images = at_most(plan.images, g->batch - image);
            block.first_line = line;
            block.lines = at_most(plan.lines, g->output[0] - line);
            pack_lines(&block, x, (tile_element *)padded, packed);
            add_block(&block, dy, gradient);
            block.add = true;
        }
    }
}

#endif
