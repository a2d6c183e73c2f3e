/* depthwise_kernel_gradient.kernels.h - the gradient of the kernel of depthwise convolutions, in tiles.
 *
 * The sums of several taps of one vector of channels stay in registers while a tile of pixels of dy, also in
 * registers, meets the rows of x below them: a pixel of x is loaded once for all columns of the window. Products are
 * added up in registers over a run of pixels, these sums in floats over several runs, and those in double: sums of sums
 * stay exact where one running sum would not, and their order is that of the shape. */
#ifndef LIANA_OPS_DEPTHWISE_KERNEL_GRADIENT_KERNELS_H
#define LIANA_OPS_DEPTHWISE_KERNEL_GRADIENT_KERNELS_H

#include "base/memory.h"
#include "ops/depthwise_tiles.kernels.h"

enum {
    PIXELS_IN_REGISTERS = 96, /* at most so many products are added to one register, */
    RUNS_IN_FLOAT = 16,       /* and so many such sums as floats */
    /* Registers but for one of x and one to spare. */
    MAX_SUMS_AND_PIXELS = LIANA_VECTOR_BYTES == 64 ? 30 : 13,
    MAX_SUMS = LIANA_VECTOR_BYTES == 64 ? 25 : 10,
    /* Bytes of x and dy that are read for one vector of channels before the next one begins. */
    BYTES_AT_ONCE = 512 << 10,
};

/* What a run reads. Places are counted in floats from the start of the tensors. */
typedef struct gradient_run {
    const float *x, *dy;
    int64_t x_at, dy_at;   /* of the first row's pixel 0 and the taps of the first row; x_at may lie in the padding */
    int64_t x_row, dy_row; /* from one row of dy to the next */
    int64_t tap_row;       /* from one row of taps to the next, in x */
    int64_t channels;
    int64_t first_in_row;  /* the row of x under the first row and tap */
    int64_t stride;        /* vertical */
    int64_t height, width; /* of x */
    int64_t padding;       /* left */
    int64_t num_rows;
    int64_t first_column, end_column;
} gradient_run;

/* The taps that meet x, of a tile's row of dy: rows [first_row, end_row) of the taps, columns [first_column,
 * end_column) of x, both counted from the tile's first. */
typedef struct tile_limits {
    int64_t first_row, end_row, first_column, end_column;
} tile_limits;

/* Column j of x, of one row of taps, which tap k meets with pixel i where j = i * stride + k. */
LIANA__INLINE void add_pixel(const int window, const int stride, const int tile, const int j, const float *x,
                             const vector_float *dys, vector_float *sums)
{
    vector_float in = keep(vector_load(x));
#pragma GCC unroll 8
    for (int i = 0; i < tile; i++) {
        int k = j - i * stride;
        if (k >= 0 && k < window) sums[k] = vector_fma(in, dys[i], sums[k]);
    }
}

/* Inside an image the rows of taps take turns: their sums do not wait for each other. */
LIANA__INLINE void add_tile(const int rows, const int window, const int stride, const int tile, const bool border,
                            const gradient_run *run, int64_t x_at, int64_t dy_at, const tile_limits *limits,
                            vector_float *sums)
{
    const int columns = (tile - 1) * stride + window;
    vector_float dys[MAX_TILE];
#pragma GCC unroll 8
    for (int i = 0; i < tile; i++) dys[i] = keep(vector_load(run->dy + dy_at + i * run->channels));
    if (!border) {
#pragma GCC unroll 24
        for (int j = 0; j < columns; j++, x_at += run->channels) {
#pragma GCC unroll 8
            for (int row = 0; row < rows; row++) {
                add_pixel(window, stride, tile, j, run->x + (x_at + row * run->tap_row), dys, sums + row * window);
            }
        }
        return;
    }
#pragma GCC unroll 8
    for (int row = 0; row < rows; row++) {
        if (row < limits->first_row || row >= limits->end_row) continue;
        int64_t at = x_at + row * run->tap_row;
#pragma GCC unroll 24
        for (int j = 0; j < columns; j++, at += run->channels) {
            if (j < limits->first_column || j >= limits->end_column) continue;
            add_pixel(window, stride, tile, j, run->x + at, dys, sums + row * window);
        }
    }
}

/* One row of dy: whole tiles, then one for the rest. */
LIANA__INLINE void add_row_of_dy(const int rows, const int window, const int stride, const gradient_run *run,
                                 int64_t in_row, int64_t x_at, int64_t dy_at, vector_float *sums)
{
    const int largest = MAX_SUMS_AND_PIXELS - rows * window, tile = largest < MAX_TILE ? largest : MAX_TILE;
    tile_limits limits = {.first_row = -in_row, .end_row = run->height - in_row};
    bool whole = in_row >= 0 && in_row + rows <= run->height;
    for (int64_t column = run->first_column; column < run->end_column; column += tile) {
        int64_t in = column * stride - run->padding, at = x_at + in * run->channels;
        int64_t dy = dy_at + column * run->channels;
        limits.first_column = -in;
        limits.end_column = run->width - in;
        int64_t count = run->end_column - column;
        if (count >= tile && whole && in >= 0 && limits.end_column >= (tile - 1) * stride + window) {
            add_tile(rows, window, stride, tile, false, run, at, dy, &limits, sums);
            continue;
        }
        switch (count < tile ? count : tile) {
        case 8:
            if (tile >= 8) add_tile(rows, window, stride, 8, true, run, at, dy, &limits, sums);
            break;
        case 7:
            if (tile >= 7) add_tile(rows, window, stride, 7, true, run, at, dy, &limits, sums);
            break;
        case 6:
            if (tile >= 6) add_tile(rows, window, stride, 6, true, run, at, dy, &limits, sums);
            break;
        case 5:
            if (tile >= 5) add_tile(rows, window, stride, 5, true, run, at, dy, &limits, sums);
            break;
        case 4: add_tile(rows, window, stride, 4, true, run, at, dy, &limits, sums); break;
        case 3: add_tile(rows, window, stride, 3, true, run, at, dy, &limits, sums); break;
        case 2: add_tile(rows, window, stride, 2, true, run, at, dy, &limits, sums); break;
        default: add_tile(rows, window, stride, 1, true, run, at, dy, &limits, sums); break;
        }
    }
}

/* Adds the sums of one run to `total`. */
LIANA__INLINE void add_run(const int rows, const int window, const int stride, const gradient_run *shared,
                           vector_float *total)
{
    const gradient_run own = *shared, *run = &own;
    vector_float sums[MAX_SUMS];
#pragma GCC unroll 32
    for (int k = 0; k < rows * window; k++) sums[k] = vector_set(0);
    int64_t in_row = run->first_in_row, x_at = run->x_at, dy_at = run->dy_at;
    for (int64_t row = 0; row < run->num_rows; row++) {
        add_row_of_dy(rows, window, stride, run, in_row, x_at, dy_at, sums);
        in_row += run->stride;
        x_at += run->x_row;
        dy_at += run->dy_row;
    }
#pragma GCC unroll 32
    for (int k = 0; k < rows * window; k++) total[k] += sums[k];
}

typedef void run_function(const gradient_run *run, vector_float *total);

#define RUN_FUNCTION(rows, window, stride)                                                         \
    static void add_run_##rows##_##window##_##stride(const gradient_run *run, vector_float *total) \
    {                                                                                              \
        add_run(rows, window, stride, run, total);                                                 \
    }
#define RUN_FUNCTIONS(rows, window) RUN_FUNCTION(rows, window, 1) RUN_FUNCTION(rows, window, 2)
RUN_FUNCTIONS(1, 3)
RUN_FUNCTIONS(3, 3)
RUN_FUNCTIONS(1, 5)
RUN_FUNCTIONS(1, 7)
#if LIANA_VECTOR_BYTES == 64
RUN_FUNCTIONS(5, 5)
RUN_FUNCTIONS(2, 7)
#else
RUN_FUNCTIONS(2, 5)
#endif
#undef RUN_FUNCTIONS
#undef RUN_FUNCTION

/* A function and how many rows of taps it sums at once. */
typedef struct run_choice {
    int window;
    int rows;
    run_function *by_stride[2];
} run_choice;

/* Those for a window of this width, the most rows first. */
static const run_choice run_choices[] = {
    {3, 3, {add_run_3_3_1, add_run_3_3_2}}, {3, 1, {add_run_1_3_1, add_run_1_3_2}},
#if LIANA_VECTOR_BYTES == 64
    {5, 5, {add_run_5_5_1, add_run_5_5_2}}, {5, 1, {add_run_1_5_1, add_run_1_5_2}},
    {7, 2, {add_run_2_7_1, add_run_2_7_2}}, {7, 1, {add_run_1_7_1, add_run_1_7_2}},
#else
    {5, 2, {add_run_2_5_1, add_run_2_5_2}}, {5, 1, {add_run_1_5_1, add_run_1_5_2}},
    {7, 1, {add_run_1_7_1, add_run_1_7_2}},
#endif
};

static const run_choice *choose_run(int64_t window, int64_t rows)
{
    const run_choice *choice = run_choices;
    while (choice->window != window || choice->rows > rows) choice++;
    return choice;
}

/* The sums of one vector of channels and some taps. */
typedef struct run_sums {
    int num_taps;
    int num_added;  /* runs, to `part` */
    bool has_total; /* else there is only `part` */
    vector_float part[MAX_SUMS];
    double total[MAX_SUMS][VECTOR_LENGTH];
} run_sums;

static void move_part(run_sums *sums)
{
    for (int k = 0; k < sums->num_taps; k++) {
        float part[VECTOR_LENGTH];
        vector_store(part, sums->part[k]);
        for (int i = 0; i < VECTOR_LENGTH; i++) sums->total[k][i] = (sums->has_total ? sums->total[k][i] : 0) + part[i];
        sums->part[k] = vector_set(0);
    }
    sums->has_total = true;
    sums->num_added = 0;
}

/* The rows of taps from `tap_row` on, over one image. */
static void add_image(const liana__geometry *g, const run_choice *choice, const liana__call *call, int64_t image,
                      int64_t channel, int64_t tap_row, run_sums *sums)
{
    int64_t width = g->output[1], rows = greatest(1, PIXELS_IN_REGISTERS / width);
    int64_t x_row = g->input[1] * g->channels;
    gradient_run run = {.x = call->src[0],
                        .dy = call->src[1],
                        .x_row = g->strides[0] * x_row,
                        .dy_row = width * g->channels,
                        .tap_row = x_row,
                        .channels = g->channels,
                        .stride = g->strides[0],
                        .height = g->input[0],
                        .width = g->input[1],
                        .padding = g->padding_low[1]};
    for (int64_t row = 0; row < g->output[0]; row += rows) {
        run.num_rows = least(rows, g->output[0] - row);
        run.first_in_row = row * g->strides[0] - g->padding_low[0] + tap_row;
        run.x_at = (image * g->input[0] + run.first_in_row) * x_row + channel;
        run.dy_at = (image * g->output[0] + row) * run.dy_row + channel;
        for (int64_t column = 0; column < width; column += PIXELS_IN_REGISTERS) {
            run.first_column = column;
            run.end_column = least(width, column + PIXELS_IN_REGISTERS);
            choice->by_stride[g->strides[1] - 1](&run, sums->part);
            if (++sums->num_added == RUNS_IN_FLOAT) move_part(sums);
        }
    }
}

static void write_sums(const liana__geometry *g, const run_sums *sums, float *result)
{
    for (int k = 0; k < sums->num_taps; k++, result += g->channels) {
        if (!sums->has_total) vector_store(result, sums->part[k]);
        for (int i = 0; i < VECTOR_LENGTH && sums->has_total; i++) result[i] = (float)sums->total[k][i];
    }
}

/* Some images' sums of one vector of channels and some rows of taps: those of the images before are in scratch memory,
 * and after the last image they become the result. */
static void add_images(const liana__geometry *g, const liana__call *call, int64_t first, int64_t end, int64_t vector,
                       int64_t tap_row, const run_choice *choice)
{
    run_sums sums;
    sums.num_taps = choice->rows * choice->window;
    sums.num_added = 0;
    sums.has_total = first > 0;
    int64_t first_tap = tap_row * choice->window, channel = vector_start(vector, g->channels);
    size_t size = (size_t)sums.num_taps * sizeof *sums.total;
    double *before = (double *)call->scratch + (vector * g->window[0] * g->window[1] + first_tap) * VECTOR_LENGTH;
    for (int k = 0; k < sums.num_taps; k++) sums.part[k] = vector_set(0);
    if (first > 0) memcpy(sums.total, before, size);
    for (int64_t image = first; image < end; image++) add_image(g, choice, call, image, channel, tap_row, &sums);
    if (sums.has_total || end < g->batch) move_part(&sums);
    if (end < g->batch) {
        memcpy(before, sums.total, size);
    } else {
        write_sums(g, &sums, (float *)call->dst + first_tap * g->channels + channel);
    }
}

static int64_t images_at_once(const liana__geometry *g)
{
    int64_t pixels = g->input[0] * g->input[1] + g->output[0] * g->output[1];
    return greatest(1, BYTES_AT_ONCE / (pixels * g->channels * (int64_t)sizeof(float)));
}

static void run_kernel_gradient(const liana__geometry *g, const liana__call *call)
{
    int64_t vectors = count_vectors(g->channels), at_once = images_at_once(g);
    for (int64_t image = 0; image < g->batch; image += at_once) {
        for (int64_t v = 0; v < vectors; v++) {
            for (int64_t row = 0; row < g->window[0];) {
                const run_choice *choice = choose_run(g->window[1], g->window[0] - row);
                add_images(g, call, image, least(g->batch, image + at_once), v, row, choice);
                row += choice->rows;
            }
        }
    }
}

#endif
