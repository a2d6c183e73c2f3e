/* amx_block.h - a block of the result of a product of matrices of bf16 on the tiles of AMX: 32 rows by 32 columns.
 *
 * That is four tiles of sums and two of each operand; each step of 32 along the sum is four loads and four dot
 * products. Blocks leave through a buffer of floats. */
#ifndef LIANA_KERNELS_AMX_BLOCK_H
#define LIANA_KERNELS_AMX_BLOCK_H

#include "kernels/amx_pack.h"
#include "kernels/product_target.h"

/* Configures tiles for blocks whose two tiles of rows have this many rows; the second may have none. */
static void configure_tiles(int first_rows, int second_rows)
{
    amx_config config = {.palette = 1};
    for (int tile = 0; tile < AMX_TILES; tile++) {
        const bool right = tile > 5, second = tile == 2 || tile == 3 || tile == 5;
        config.rows[tile] = (uint8_t)(right ? AMX_ROWS : second ? second_rows : first_rows);
        config.row_bytes[tile] = config.rows[tile] > 0 ? AMX_ROW_BYTES : 0;
    }
    amx_configure(&config);
}

/* Steps of both operands. Each takes a tile from either row of tiles on the left, and the panel's one or two. */
typedef struct block_steps {
    const void *left[2];
    int64_t left_stride, left_step; /* from row to row, from step to step, in bytes */
    const tile_unit *right;
    int64_t count;
} block_steps;

LIANA__INLINE void clear_block(const int rows, const int columns)
{
    amx_zero(0);
    if (columns == 2) amx_zero(1);
    if (rows == 2) amx_zero(2);
    if (rows == 2 && columns == 2) amx_zero(3);
}

LIANA__INLINE void add_steps(const int rows, const int columns, const block_steps *steps)
{
    const char *first = steps->left[0], *second = steps->left[1];
    const tile_unit *right = steps->right;
    for (int64_t k = 0; k < steps->count; k++) {
        amx_load(6, right, AMX_ROW_BYTES);
        amx_load(4, first, steps->left_stride);
        amx_dot(0, 4, 6);
        if (columns == 2) {
            amx_load(7, right + TILE_WORDS, AMX_ROW_BYTES);
            amx_dot(1, 4, 7);
        }
        if (rows == 2) {
            amx_load(5, second, steps->left_stride);
            amx_dot(2, 5, 6);
            if (columns == 2) amx_dot(3, 5, 7);
            second += steps->left_step;
        }
        first += steps->left_step;
        right += columns * TILE_WORDS;
    }
}

LIANA__INLINE void store_block(const int rows, const int columns, float (*sums)[PANEL_COLUMNS])
{
    amx_store(0, sums[0], sizeof sums[0]);
    if (columns == 2) amx_store(1, sums[0] + SIDE, sizeof sums[0]);
    if (rows == 2) amx_store(2, sums[SIDE], sizeof sums[0]);
    if (rows == 2 && columns == 2) amx_store(3, sums[SIDE] + SIDE, sizeof sums[0]);
}

/* Where a block of C goes: `rows` by `columns` of it. */
typedef struct block_target {
    void *data;
    int64_t stride; /* in elements */
    int64_t rows, columns;
    bool wide, add;               /* results are floats; add to the existing values (floats only) */
    const epilogue *after;        /* applied to bf16 results before they are stored, or NULL; */
    const tile_element *residual; /* added then, laid out like C; NULL: none */
    int64_t first;                /* column of C */
} block_target;

/* Stores one row of a block of bf16, with its epilogue. */
LIANA__INLINE void finish_row(const float *low, const float *high, int64_t columns, const block_target *target,
                              int64_t at)
{
    const epilogue *e = target->after;
    float row[PANEL_COLUMNS] __attribute__((aligned(64)));
    if (columns > SIDE) {
        store_floats(low, high, columns, row, false);
    } else {
        store_few_floats(low, columns, row, false);
    }
    for (int64_t c = 0; c < columns; c += VECTOR_LENGTH) {
        const int64_t count = at_most(VECTOR_LENGTH, columns - c), channel = target->first + c;
        vector_float x = vector_fma(vector_load_part(row + c, count), vector_load_part(e->scale + channel, count),
                                    vector_load_part(e->shift + channel, count));
        if (target->residual) x += vector_load_part_bf16(target->residual + at + c, count);
        x = e->swish ? vector_swish_bf16(x) : clamp(e, x);
        vector_store_part_bf16((tile_element *)target->data + at + c, x, count);
    }
}

/* `columns` and `wide` are those of the target; where they are constants, no row asks for them. */
LIANA__INLINE void write_rows(float (*sums)[PANEL_COLUMNS], int64_t columns, const bool wide,
                              const block_target *target)
{
    const bool whole = columns > SIDE, add = target->add;
    for (int64_t r = 0; r < target->rows; r++) {
        const float *low = sums[r], *high = low + SIDE;
        float *floats = (float *)target->data + r * target->stride;
        tile_element *elements = (tile_element *)target->data + r * target->stride;
        if (wide && whole) store_floats(low, high, columns, floats, add);
        if (wide && !whole) store_few_floats(low, columns, floats, add);
        if (!wide && whole) store_bf16(low, high, columns, elements);
        if (!wide && !whole) store_few_bf16(low, columns, elements);
    }
}

static void finish_block(float (*sums)[PANEL_COLUMNS], const block_target *target)
{
    for (int64_t r = 0; r < target->rows; r++) {
        const float *low = sums[r], *high = low + SIDE;
        if (target->columns == PANEL_COLUMNS) {
            finish_row(low, high, PANEL_COLUMNS, target, r * target->stride);
        } else {
            finish_row(low, high, target->columns, target, r * target->stride);
        }
    }
}

static void write_block(float (*sums)[PANEL_COLUMNS], const block_target *target)
{
    const bool full = target->columns == PANEL_COLUMNS;
    if (target->after) finish_block(sums, target);
    if (target->after) return;
    if (target->wide && full) write_rows(sums, PANEL_COLUMNS, true, target);
    if (target->wide && !full) write_rows(sums, target->columns, true, target);
    if (!target->wide && full) write_rows(sums, PANEL_COLUMNS, false, target);
    if (!target->wide && !full) write_rows(sums, target->columns, false, target);
}

LIANA__INLINE void sized_block(const int rows, const int columns, const block_steps *steps, const block_steps *tail,
                               const block_target *target)
{
    float sums[2 * SIDE][PANEL_COLUMNS] __attribute__((aligned(64)));
    clear_block(rows, columns);
    add_steps(rows, columns, steps);
    if (tail) add_steps(rows, columns, tail);
    store_block(rows, columns, sums);
    write_block(sums, target);
}

/* One block of C: a sum over both runs of steps; `tail` may be NULL. */
static void multiply_block(const block_steps *steps, const block_steps *tail, const block_target *target)
{
    const bool rows = target->rows > SIDE, columns = target->columns > SIDE;
    if (rows && columns) sized_block(2, 2, steps, tail, target);
    if (rows && !columns) sized_block(2, 1, steps, tail, target);
    if (!rows && columns) sized_block(1, 2, steps, tail, target);
    if (!rows && !columns) sized_block(1, 1, steps, tail, target);
}

/* Panels up to this size stay in the L2 cache together with the rows. Then all panels take a block of rows before the
 * next block, and C is written line by line, which is faster. */
enum { PANELS_AT_ONCE = 512 << 10 };

#endif
