/* winograd_product.h - convolutions of 3x3 windows by Winograd's algorithm (winograd.h): everything from images and a
 * kernel to results, which the including file stores. For *.kernels.h, compiled for one instruction set. Tensors are
 * f32 or bf16; in between everything is f32.
 *
 * The result is cut into tiles of m x m pixels, and these into blocks. For a block, tiles of the input are transformed.
 * Then, for a few filters at a time (a panel), each of the (m + 2)^2 cells is a matrix product of tiles by channels and
 * channels by filters. Its results are transformed back while they are in the cache. */
#ifndef LIANA_KERNELS_WINOGRAD_PRODUCT_H
#define LIANA_KERNELS_WINOGRAD_PRODUCT_H

#include "kernels/matrix_pack.h"
#include "kernels/winograd_tiles.h"

/* The sizes as this pass sees them. */
typedef struct winograd_plan {
    winograd_grid grid;
    bool turned;            /* the kernel is turned around, with its channels exchanged */
    int64_t depth, columns; /* channels that are summed over, and that are made */
    int64_t block;          /* tiles of a block */
    packed_matrix cut;      /* how the columns are cut into panels */
    /* Scratch memory, in floats: transformed input and its cell, sums and their cell, transformed kernels of a panel
     * and its cell, a panel of the kernel, and the window that it is made from. */
    int64_t input_size, input_cell, sums_size, sums_cell, kernel_size, kernel_cell, window_size, rows_size;
} winograd_plan;

/* The tiles of a block, whose transforms stay in the L2 cache. Up to WINOGRAD_SINGLE_BLOCK tiles are one block: then
 * each panel of the kernel is transformed when it is needed, and the whole transform is stored nowhere. */
enum { WINOGRAD_BLOCK = 48, WINOGRAD_SINGLE_BLOCK = 192 };

/* Floats of a transformed panel. */
static int64_t winograd_panel_size(const winograd_plan *p)
{
    return winograd_cells(p->grid.m) * p->kernel_cell;
}

/* Of a grid, over `depth` channels for `columns` filters; or `turned`. */
static winograd_plan winograd_plan_of(const winograd_grid *grid, bool turned, int64_t depth, int64_t columns)
{
    winograd_plan p = {.grid = *grid, .turned = turned, .depth = depth, .columns = columns};
    p.block = grid->count <= WINOGRAD_SINGLE_BLOCK ? grid->count : WINOGRAD_BLOCK;
    p.cut = (packed_matrix){depth, columns, 1, NULL};
    const int64_t rows = p.block > TILE_ROWS ? p.block : TILE_ROWS, width = TILE_VECTORS * VECTOR_LENGTH;
    const int64_t panels = p.block < grid->count ? count_panels(&p.cut) : 1, cells = winograd_cells(grid->m);
    p.input_cell = divide_round_up(rows * depth, WINOGRAD_GAP) * WINOGRAD_GAP + WINOGRAD_GAP;
    p.input_size = cells * p.input_cell;
    p.sums_cell = rows * width + WINOGRAD_GAP;
    p.sums_size = cells * p.sums_cell;
    p.kernel_cell = depth * width + WINOGRAD_GAP;
    p.kernel_size = panels * winograd_panel_size(&p);
    p.window_size = WINOGRAD_WINDOW * WINOGRAD_WINDOW * depth * width;
    p.rows_size = turned ? width * depth : 0;
    return p;
}

/* In bytes. */
static size_t winograd_scratch(const winograd_plan *p)
{
    return (size_t)(p->input_size + p->sums_size + p->kernel_size + p->window_size + p->rows_size + p->depth) *
           sizeof(float);
}

/* Parts of the result for several threads: each of so many tiles that its turn pays. */
static inline size_t winograd_count_cuts(const winograd_plan *p)
{
    enum { TILES_OF_CUT = 36, MOST_CUTS = 16 };
    return (size_t)at_most(MOST_CUTS, divide_round_up(p->grid.count, TILES_OF_CUT));
}

/* In bytes. */
static inline size_t winograd_packed_size(const winograd_plan *p)
{
    return (size_t)(count_panels(&p->cut) * winograd_panel_size(p)) * sizeof(float);
}

/* The layout of the scratch memory. */
typedef struct winograd_room {
    float *input, *sums, *kernel, *window, *rows, *zeros;
} winograd_room;

static winograd_room winograd_place_room(const winograd_plan *p, void *scratch)
{
    winograd_room room = {.input = scratch};
    room.sums = room.input + p->input_size;
    room.kernel = room.sums + p->sums_size;
    room.window = room.kernel + p->kernel_size;
    room.rows = room.window + p->window_size;
    room.zeros = room.rows + p->rows_size;
    return room;
}

/* ---- kernels ---- */

/* The columns of a panel, as [9][depth][width] floats in the order in which this pass sees the window; 0 after them. */
LIANA__INLINE void gather_window(liana_dtype dtype, const winograd_plan *p, const packed_panel *panel,
                                 const void *kernel, const winograd_room *room)
{
    const int64_t width = panel->vectors * VECTOR_LENGTH, count = width - VECTOR_LENGTH + panel->last;
    const int cells = WINOGRAD_WINDOW * WINOGRAD_WINDOW;
    for (int cell = 0; cell < cells; cell++) {
        float *target = room->window + cell * p->depth * width;
        if (!p->turned) {
            const int64_t from = cell * p->depth * p->columns + panel->first;
            for (int64_t d = 0; d < p->depth; d++) {
                for (int64_t c = 0; c < width; c += VECTOR_LENGTH) {
                    vector_store(target + d * width + c,
                                 vector_load_up_to(dtype, kernel, from + d * p->columns + c, count - c));
                }
            }
            continue;
        }
        const int64_t from = ((cells - 1 - cell) * p->columns + panel->first) * p->depth, size = count * p->depth;
        const float *rows = (const float *)kernel + from;
        if (dtype == LIANA_BF16) {
            for (int64_t i = 0; i < size; i += VECTOR_LENGTH) {
                const vector_float row = vector_load_up_to(dtype, kernel, from + i, size - i);
                if (size - i >= VECTOR_LENGTH) {
                    vector_store(room->rows + i, row);
                } else {
                    vector_store_part(room->rows + i, row, size - i);
                }
            }
            rows = room->rows;
        }
        if (count < width) memset(target, 0, (size_t)(p->depth * width) * sizeof *target);
        transpose_words(rows, p->depth, count, p->depth, target, width);
    }
}

LIANA__INLINE void transform_window(const int m, const winograd_plan *p, int64_t width, const float *window,
                                    float *target)
{
    for (int64_t i = 0; i < p->depth * width; i += VECTOR_LENGTH) {
        winograd_kernel_cells(m, window + i, p->depth * width, target + i, p->kernel_cell);
    }
}

/* ---- products ---- */

LIANA__INLINE void multiply_tile(const int vectors, const float *input, int64_t depth, const float *kernel, float *sums)
{
    vector_float tile[TILE_ROWS][TILE_VECTORS];
    const tile_element *row[TILE_ROWS];
#pragma GCC unroll 8
    for (int r = 0; r < TILE_ROWS; r++) row[r] = input + r * depth;
    tile_clear(TILE_ROWS, vectors, tile);
    tile_add_rows(TILE_ROWS, vectors, 1, row, kernel, depth, NULL, tile);
#pragma GCC unroll 8
    for (int r = 0; r < TILE_ROWS; r++) {
        tile_store_row(vectors, sums + r * vectors * VECTOR_LENGTH, VECTOR_LENGTH, tile[r]);
    }
}

/* All cells' products for a panel of transformed kernels. The last rows may be computed twice: there are at least
 * TILE_ROWS. */
LIANA__INLINE void multiply_cells(const int vectors, const winograd_plan *p, int64_t count, const float *kernel,
                                  const winograd_room *room)
{
    const int64_t width = vectors * VECTOR_LENGTH, last = count > TILE_ROWS ? count - TILE_ROWS : 0;
    for (int64_t cell = 0; cell < winograd_cells(p->grid.m); cell++) {
        const float *input = room->input + cell * p->input_cell;
        float *sums = room->sums + cell * p->sums_cell;
        for (int64_t t = 0; t < count; t += TILE_ROWS) {
            const int64_t row = at_most(t, last);
            multiply_tile(vectors, input + row * p->depth, p->depth, kernel + cell * p->kernel_cell,
                          sums + row * width);
        }
    }
}

/* A function of its own, so that the loop over a sum has all registers. */
static __attribute__((noinline)) void multiply_panel(const packed_panel *panel, const winograd_plan *p, int64_t count,
                                                     const float *kernel, const winograd_room *room)
{
    switch (panel->vectors) { /* constants, so that the sums are registers */
#if LIANA_VECTOR_BYTES == 64
    case 3: multiply_cells(3, p, count, kernel, room); break;
#endif
    case 2: multiply_cells(2, p, count, kernel, room); break;
    default: multiply_cells(1, p, count, kernel, room); break;
    }
}

/* ---- results ---- */

typedef struct winograd_job {
    const liana__call *call; /* of images, and a kernel */
    winograd_plan plan;
    winograd_room room;
    const void *target; /* for winograd_store */
} winograd_job;

/* Stores the results of a tile in one vector of filters, which begin at `column`. `lanes` of them are valid; pixels
 * inside the image are stored. Returns their sum times 0. Defined by the including file. */
LIANA__INLINE vector_float winograd_store(const int m, liana_dtype dtype, const winograd_job *job, winograd_place at,
                                          int64_t column, int64_t lanes, vector_float (*y)[WINOGRAD_RESULTS]);

/* A tile's results in one vector of filters, whose window begins at `window`, summed up directly. */
LIANA__INLINE void sum_tile(const int m, liana_dtype dtype, const winograd_job *job, const void *const *cells,
                            const float *window, int64_t width, vector_float (*y)[WINOGRAD_RESULTS])
{
    const int64_t depth = job->plan.depth;
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < m; j++) {
            y[i][j] = vector_set(0);
            for (int64_t k = 0; k < WINOGRAD_WINDOW * WINOGRAD_WINDOW; k++) {
                const void *cell = cells[(i + k / WINOGRAD_WINDOW) * (m + 2) + j + k % WINOGRAD_WINDOW];
                const float *weights = window + k * depth * width;
                for (int64_t d = 0; d < depth && cell != job->room.zeros; d++) {
                    const vector_float x = vector_set(vector_load_one(dtype, cell, d));
                    y[i][j] = vector_fma(x, vector_load(weights + d * width), y[i][j]);
                }
            }
        }
    }
}

/* For numbers that are not finite. The transforms spread an infinity or a NaN over a whole tile, and nearly too large
 * numbers may become infinite in between. `window` is the panel's, from the vector's first filter on. */
static __attribute__((noinline)) void store_directly(const int m, liana_dtype dtype, const winograd_job *job,
                                                     int64_t tile, int64_t column, int64_t lanes, const float *window,
                                                     int64_t width)
{
    const void *cells[WINOGRAD_CELLS * WINOGRAD_CELLS];
    vector_float y[WINOGRAD_RESULTS][WINOGRAD_RESULTS];
    winograd_find_input(m, dtype, &job->plan.grid, job->plan.depth, tile, job->call->src[0], job->room.zeros, cells);
    sum_tile(m, dtype, job, cells, window, width, y);
    winograd_store(m, dtype, job, winograd_place_of(&job->plan.grid, tile), column, lanes, y);
}

static __attribute__((noinline)) void gather_again(liana_dtype dtype, const winograd_job *job,
                                                   const packed_panel *panel)
{
    gather_window(dtype, &job->plan, panel, job->call->src[1], &job->room);
}

/* The results of a block in the columns of a panel, whose window has been gathered or will be if it is needed. */
LIANA__INLINE void transform_output(const int m, liana_dtype dtype, const winograd_job *job, int64_t first,
                                    int64_t count, const packed_panel *panel, bool gathered)
{
    const winograd_plan *p = &job->plan;
    const int64_t width = panel->vectors * VECTOR_LENGTH;
    for (int64_t t = 0; t < count; t++) {
        const winograd_place at = winograd_place_of(&p->grid, first + t);
        for (int v = 0; v < panel->vectors; v++) {
            const int64_t column = panel->first + v * VECTOR_LENGTH;
            const int64_t lanes = v + 1 < panel->vectors ? VECTOR_LENGTH : panel->last;
            vector_float y[WINOGRAD_RESULTS][WINOGRAD_RESULTS];
            winograd_output_cells(m, job->room.sums + t * width + v * VECTOR_LENGTH, p->sums_cell, y);
            const vector_float fault = winograd_store(m, dtype, job, at, column, lanes, y);
            if (!vector_any(fault != fault)) continue;
            if (!gathered) gather_again(dtype, job, panel);
            gathered = true;
            store_directly(m, dtype, job, first + t, column, lanes, job->room.window + v * VECTOR_LENGTH, width);
        }
    }
}

/* ---- the kernel ---- */

/* All panels of the kernel, transformed. */
LIANA__INLINE void transform_kernel(const int m, liana_dtype dtype, const winograd_plan *p, const void *kernel,
                                    const winograd_room *room, float *target)
{
    for (int64_t i = 0; i < count_panels(&p->cut); i++, target += winograd_panel_size(p)) {
        const packed_panel panel = panel_at(&p->cut, i);
        gather_window(dtype, p, &panel, kernel, room);
        transform_window(m, p, panel.vectors * VECTOR_LENGTH, room->window, target);
    }
}

/* A block's input. There are at least as many rows as a product takes. */
LIANA__INLINE void transform_images(const int m, liana_dtype dtype, const winograd_job *job, int64_t first,
                                    int64_t count)
{
    const winograd_plan *p = &job->plan;
    const winograd_images images = {job->call->src[0], p->depth, job->room.zeros,
                                    job->room.input,   p->depth, p->input_cell};
    winograd_transform_input(m, dtype, &p->grid, first, count, &images);
    for (int64_t cell = 0; cell < winograd_cells(m) && count < TILE_ROWS; cell++) {
        memset(images.target + cell * p->input_cell + count * p->depth, 0,
               (size_t)((TILE_ROWS - count) * p->depth) * sizeof(float));
    }
}

LIANA__INLINE void run_block(const int m, liana_dtype dtype, const winograd_job *job, int64_t first, int64_t count,
                             const float *kernel)
{
    const winograd_plan *p = &job->plan;
    transform_images(m, dtype, job, first, count);
    for (int64_t i = 0; i < count_panels(&p->cut); i++) {
        const packed_panel panel = panel_at(&p->cut, i);
        const float *transformed = kernel ? kernel + i * winograd_panel_size(p) : job->room.kernel;
        if (!kernel) {
            gather_window(dtype, p, &panel, job->call->src[1], &job->room);
            transform_window(m, p, panel.vectors * VECTOR_LENGTH, job->room.window, job->room.kernel);
        }
        multiply_panel(&panel, p, count, transformed, &job->room);
        transform_output(m, dtype, job, first, count, &panel, !kernel);
    }
}

LIANA__INLINE void winograd_run(const int m, liana_dtype dtype, const winograd_job *job)
{
    const winograd_plan *p = &job->plan;
    const liana__call *call = job->call;
    const int64_t parts = call->num_tiles > 1 ? (int64_t)call->num_tiles : 1, part = (int64_t)call->tile;
    const int64_t begin = p->grid.count * part / parts, end = p->grid.count * (part + 1) / parts;
    const float *kernel = call->packed;
    memset(job->room.zeros, 0, (size_t)p->depth * sizeof(float));
    if (!kernel && end - begin > p->block) {
        transform_kernel(m, dtype, p, call->src[1], &job->room, job->room.kernel);
        kernel = job->room.kernel;
    }
    for (int64_t first = begin; first < end; first += p->block) {
        run_block(m, dtype, job, first, at_most(p->block, end - first), kernel);
    }
}

/* The kernel as `packed` will have it. */
LIANA__INLINE void winograd_pack(const int m, liana_dtype dtype, const winograd_plan *p, const liana__call *call,
                                 void *packed)
{
    const winograd_room room = winograd_place_room(p, call->scratch);
    transform_kernel(m, dtype, p, call->src[1], &room, packed);
}

#endif
