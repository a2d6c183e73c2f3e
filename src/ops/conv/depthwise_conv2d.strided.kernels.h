/* depthwise_strided.kernels.h - the gradient of the images of depthwise convolutions with horizontal stride 2.
 *
 * Column q of dx, counted from the left edge of the padding, is reached by the taps of its own parity: column 2i by
 * taps 0, 2, ... from columns i, i - 1, ... of dy, and column 2i + 1 by taps 1, 3, ... from the same columns. So a tile
 * is up to eight such pairs, which share the loaded values of dy. */
#ifndef LIANA_OPS_DEPTHWISE_STRIDED_KERNELS_H
#define LIANA_OPS_DEPTHWISE_STRIDED_KERNELS_H

#include "ops/conv/depthwise_conv2d.rows.kernels.h"

/* Adds one row of dy, of which the tile's first column is (window - 1) / 2 to the left of its first pair. */
LIANA__INLINE void add_row_to_pairs(const int parts, const int window, const int tile, const bool border,
                                    const row_tile *t, int64_t at, int64_t kernel_at,
                                    vector_float sums[2 * MAX_TILE][MAX_PARTS])
{
    const int reach = (window - 1) / 2;
    vector_float taps[MAX_WINDOW][MAX_PARTS], in[MAX_PARTS];
#pragma GCC unroll 8
    for (int k = 0; k < window; k++) load_parts(parts, t->kernel + (kernel_at + k * t->kernel_column), taps[k]);
#pragma GCC unroll 24
    for (int j = 0; j < tile + reach; j++, at += t->source_column) {
        if (border && (j < t->first_column || j >= t->end_column)) continue;
        load_parts(parts, t->source + at, in);
#pragma GCC unroll 16
        for (int i = 0; i < 2 * tile; i++) {
            const int k = 2 * (i / 2 + reach - j) + i % 2;
            if (k < i % 2 || k >= window) continue;
#pragma GCC unroll 2
            for (int p = 0; p < parts; p++) sums[i][p] = vector_fma(in[p], taps[k][p], sums[i][p]);
        }
    }
}

LIANA__INLINE void run_pairs_channels(const int parts, const int window, const int tile, const row_tile *t, int64_t c)
{
    vector_float sums[2 * MAX_TILE][MAX_PARTS];
#pragma GCC unroll 16
    for (int i = 0; i < 2 * tile; i++) {
#pragma GCC unroll 2
        for (int p = 0; p < parts; p++) sums[i][p] = vector_set(0);
    }
    int64_t at = t->source_at + c, kernel_at = t->kernel_at + c, target_at = t->target_at + c;
    for (int64_t row = 0; row < t->num_rows; row++, at += t->source_row, kernel_at += t->kernel_row) {
        if (t->border) {
            add_row_to_pairs(parts, window, tile, true, t, at, kernel_at, sums);
        } else {
            add_row_to_pairs(parts, window, tile, false, t, at, kernel_at, sums);
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < 2 * tile; i++, target_at += t->target_column) {
        if ((i == 0 && t->first_target > 0) || (i == 2 * tile - 1 && t->end_target < 2 * tile)) continue;
        store_parts(parts, t->target + target_at, sums[i]);
    }
}

LIANA__INLINE void run_pairs(const int window, const int tile, const row_tile *shared)
{
    const row_tile own = *shared, *t = &own; /* that no store may change */
    int64_t v = t->first_vector;
    for (; parts_at(v, t->end_vector, t->channels) > 1; v += MAX_PARTS) {
        run_pairs_channels(MAX_PARTS, window, tile, t, v * VECTOR_LENGTH);
    }
    for (; v < t->end_vector; v++) run_pairs_channels(1, window, tile, t, vector_start(v, t->channels));
}

#define PAIRS_FUNCTION(window)                                  \
    static void run_pairs_##window(int tile, const row_tile *t) \
    {                                                           \
        switch (tile) {                                         \
        case 7:                                                 \
            if (MAX_PAIRS >= 7) run_pairs(window, 7, t);        \
            break;                                              \
        case 6:                                                 \
            if (MAX_PAIRS >= 6) run_pairs(window, 6, t);        \
            break;                                              \
        case 4: run_pairs(window, 4, t); break;                 \
        case 2: run_pairs(window, 2, t); break;                 \
        default: run_pairs(window, 1, t); break;                \
        }                                                       \
    }
PAIRS_FUNCTION(3)
PAIRS_FUNCTION(5)
PAIRS_FUNCTION(7)
#undef PAIRS_FUNCTION

/* One row of dx. Pair 0 has the first column of the padding. */
static void run_row_of_pairs(const row_shape *shape, const row_tile *t)
{
    row_tile tile = *t;
    int64_t pairs = divide_up(shape->padding + shape->target_width, 2), first = shape->padding / 2;
    int64_t reach = (shape->window - 1) / 2;
    for (int64_t pair = first; pair < pairs; pair += shape->tile) {
        int64_t left = at_least(first, at_most(pair, pairs - shape->tile));
        int64_t source = left - reach, target = 2 * left - shape->padding;
        int64_t columns = shape->tile + reach;
        tile.source_at = t->source_at + source * t->source_column;
        tile.target_at = t->target_at + target * t->target_column;
        tile.first_column = source < 0 ? -source : 0;
        tile.end_column = at_most(columns, shape->source_width - source);
        tile.first_target = target < 0 ? -target : 0;
        tile.end_target = at_most(2 * shape->tile, shape->target_width - target);
        tile.border = tile.first_column > 0 || tile.end_column < columns;
        shape->run(shape->tile, &tile);
    }
}

static void run_strided_input_gradient(const liana__geometry *g, const liana__call *call)
{
    static tile_function *const functions[] = {run_pairs_3, run_pairs_5, run_pairs_7};
    int64_t padding = g->padding_low[1];
    row_shape shape = {.source_width = g->output[1],
                       .target_width = g->input[1],
                       .window = g->window[1],
                       .padding = padding,
                       .tile = choose_tile(divide_up(padding + g->input[1], 2) - padding / 2, MAX_PAIRS),
                       .run_row = run_row_of_pairs,
                       .run = functions[g->window[1] / 2 - 1]};
    row_tile t = {.source = call->src[0], .kernel = call->src[1], .target = call->dst, .kernel_column = g->channels};
    run_rows(g, &shape, set_gradient_rows, g->output[0] * g->output[1] * g->channels, g->input, 0,
             wanted_rows(call, g->batch, g->input[0]), &t);
}

#endif
