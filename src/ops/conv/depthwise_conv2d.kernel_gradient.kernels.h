/* depthwise_conv2d.kernel_gradient.kernels.h - the gradient of the kernel of depthwise convolutions, in tiles.
 *
 * The sums of several taps (cells of the window) of one vector of channels stay in registers. A tile of pixels of dy,
 * also in registers, meets the rows of x below it: a pixel of x is loaded once for all columns of the window. Products
 * are added in registers over a run of pixels, these sums in floats over several runs, and those in double. Sums of
 * sums stay accurate where one running sum would not. Their order follows from the shape. */
#ifndef LIANA_OPS_DEPTHWISE_KERNEL_GRADIENT_KERNELS_H
#define LIANA_OPS_DEPTHWISE_KERNEL_GRADIENT_KERNELS_H

#include "base/memory.h"
#include "ops/conv/depthwise_conv2d.tiles.kernels.h"

enum {
    PIXELS_IN_REGISTERS = 96, /* products that are added to one register, at most; */
    RUNS_IN_FLOAT = 16,       /* and this number of such sums as floats */
    NUM_REGISTERS = LIANA_VECTOR_BYTES == 64 ? 32 : 16,
    MAX_SUMS = LIANA_VECTOR_BYTES == 64 ? 25 : 10, /* of one vector of channels */
    /* Bytes of x and dy that are read for one vector of channels before the next one. */
    BYTES_AT_ONCE = 512 << 10,
};

/* Slots of whole vectors for each tap. */
static int64_t count_slots(const liana__geometry *g)
{
    return g->window[0] * g->window[1] * count_vectors(g->channels) * VECTOR_LENGTH;
}

/* The input of a run. Places are in floats from the start of the tensors. */
typedef struct gradient_run {
    const element *x, *dy;
    int64_t x_at, dy_at;   /* of pixel 0 of the first row and the first row of taps; x_at may be in the padding */
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

/* The taps that meet x for a tile's row of dy: rows [first_row, end_row) of the taps, columns [first_column,
 * end_column) of x, counted from the tile's first column. */
typedef struct tile_limits {
    int64_t first_row, end_row, first_column, end_column;
} tile_limits;

/* Adds column j of x for one row of taps. Tap k meets it with pixel i if j = i * stride + k. */
LIANA__INLINE void add_pixel(const int parts, const int window, const int stride, const int tile, const int j,
                             const gradient_run *run, int64_t x_at, vector_float dys[MAX_TILE][MAX_PARTS],
                             vector_float sums[MAX_WINDOW][MAX_PARTS])
{
    vector_float in[MAX_PARTS];
    load_parts(parts, run->x + x_at, in);
#pragma GCC unroll 8
    for (int i = 0; i < tile; i++) {
        const int k = j - i * stride;
        if (k < 0 || k >= window) continue;
#pragma GCC unroll 2
        for (int p = 0; p < parts; p++) sums[k][p] = vector_fma(in[p], dys[i][p], sums[k][p]);
    }
}

/* Inside an image the rows of taps take turns: their sums do not wait for each other. */
LIANA__INLINE void add_tile(const int parts, const int rows, const int window, const int stride, const int tile,
                            const bool border, const gradient_run *run, int64_t x_at, int64_t dy_at,
                            const tile_limits *limits, vector_float sums[MAX_SUMS][MAX_PARTS])
{
    const int columns = (tile - 1) * stride + window;
    vector_float dys[MAX_TILE][MAX_PARTS];
#pragma GCC unroll 8
    for (int i = 0; i < tile; i++) load_parts(parts, run->dy + (dy_at + i * run->channels), dys[i]);
    if (!border) {
#pragma GCC unroll 24
        for (int j = 0; j < columns; j++, x_at += run->channels) {
#pragma GCC unroll 8
            for (int row = 0; row < rows; row++) {
                add_pixel(parts, window, stride, tile, j, run, x_at + row * run->tap_row, dys, sums + row * window);
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
            add_pixel(parts, window, stride, tile, j, run, at, dys, sums + row * window);
        }
    }
}

/* The size of a tile that fits into the registers with the sums and a pixel of x. */
LIANA__INLINE int gradient_tile(const int parts, const int taps)
{
    return (NUM_REGISTERS - 2 - parts) / parts >= taps + 8 ? 8 : 4;
}

/* One row of dy: whole tiles inside the image, smaller ones at its borders and for the rest. */
LIANA__INLINE void add_row_of_dy(const int parts, const int rows, const int window, const int stride,
                                 const gradient_run *run, int64_t in_row, int64_t x_at, int64_t dy_at,
                                 vector_float sums[MAX_SUMS][MAX_PARTS])
{
    const int tile = gradient_tile(parts, rows * window);
    tile_limits limits = {.first_row = -in_row, .end_row = run->height - in_row};
    bool whole = in_row >= 0 && in_row + rows <= run->height;
    int64_t size;
    for (int64_t column = run->first_column; column < run->end_column; column += size) {
        int64_t in = column * stride - run->padding, at = x_at + in * run->channels, left = run->end_column - column;
        int64_t dy = dy_at + column * run->channels;
        limits.first_column = -in;
        limits.end_column = run->width - in;
        if (whole && in >= 0 && left >= tile && limits.end_column >= (tile - 1) * stride + window) {
            size = tile;
            add_tile(parts, rows, window, stride, tile, false, run, at, dy, &limits, sums);
        } else if (left >= 4) {
            size = 4;
            add_tile(parts, rows, window, stride, 4, true, run, at, dy, &limits, sums);
        } else if (left >= 2) {
            size = 2;
            add_tile(parts, rows, window, stride, 2, true, run, at, dy, &limits, sums);
        } else {
            size = 1;
            add_tile(parts, rows, window, stride, 1, true, run, at, dy, &limits, sums);
        }
    }
}

/* Adds the sums of one run to `total`. */
LIANA__INLINE void add_run(const int parts, const int rows, const int window, const int stride,
                           const gradient_run *shared, vector_float (*total)[MAX_PARTS])
{
    const gradient_run own = *shared, *run = &own;
    vector_float sums[MAX_SUMS][MAX_PARTS];
#pragma GCC unroll 32
    for (int k = 0; k < rows * window; k++) {
#pragma GCC unroll 2
        for (int p = 0; p < parts; p++) sums[k][p] = vector_set(0);
    }
    int64_t in_row = run->first_in_row, x_at = run->x_at, dy_at = run->dy_at;
    for (int64_t row = 0; row < run->num_rows; row++) {
        add_row_of_dy(parts, rows, window, stride, run, in_row, x_at, dy_at, sums);
        in_row += run->stride;
        x_at += run->x_row;
        dy_at += run->dy_row;
    }
#pragma GCC unroll 32
    for (int k = 0; k < rows * window; k++) {
#pragma GCC unroll 2
        for (int p = 0; p < parts; p++) total[k][p] += sums[k][p];
    }
}

typedef void run_function(const gradient_run *run, vector_float (*total)[MAX_PARTS]);

#define RUN_FUNCTION(parts, rows, window, stride)                                                                    \
    static void add_##parts##_##rows##_##window##_##stride(const gradient_run *run, vector_float(*total)[MAX_PARTS]) \
    {                                                                                                                \
        add_run(parts, rows, window, stride, run, total);                                                            \
    }
#if defined(LIANA__PAIRED_PARTS)
#define RUN_FUNCTIONS(rows, window)  \
    RUN_FUNCTION(1, rows, window, 1) \
    RUN_FUNCTION(1, rows, window, 2) \
    RUN_FUNCTION(2, rows, window, 1) \
    RUN_FUNCTION(2, rows, window, 2)
#define RUN_CHOICE(rows, window)                                         \
    {                                                                    \
        window, rows,                                                    \
        {                                                                \
            {add_1_##rows##_##window##_1, add_1_##rows##_##window##_2},  \
            {                                                            \
                add_2_##rows##_##window##_1, add_2_##rows##_##window##_2 \
            }                                                            \
        }                                                                \
    }
#else
#define RUN_FUNCTIONS(rows, window)  \
    RUN_FUNCTION(1, rows, window, 1) \
    RUN_FUNCTION(1, rows, window, 2)
#define RUN_CHOICE(rows, window)                                         \
    {                                                                    \
        window, rows,                                                    \
        {                                                                \
            {                                                            \
                add_1_##rows##_##window##_1, add_1_##rows##_##window##_2 \
            }                                                            \
        }                                                                \
    }
#endif

/* The functions, and the number of rows of taps that each sums at once. */
typedef struct run_choice {
    int window;
    int rows;
    run_function *functions[MAX_PARTS][2]; /* by vectors of channels and stride */
} run_choice;

/* Those for a window of one width, the most rows first: as many sums as there are registers. */
RUN_FUNCTIONS(3, 3)
RUN_FUNCTIONS(1, 3)
RUN_FUNCTIONS(1, 5)
RUN_FUNCTIONS(1, 7)
#if LIANA_VECTOR_BYTES == 64 && !defined(LIANA__PAIRED_PARTS)
RUN_FUNCTIONS(5, 5)
RUN_FUNCTIONS(2, 7)
static const run_choice run_choices[] = {RUN_CHOICE(3, 3), RUN_CHOICE(1, 3), RUN_CHOICE(5, 5),
                                         RUN_CHOICE(1, 5), RUN_CHOICE(2, 7), RUN_CHOICE(1, 7)};
#else
RUN_FUNCTIONS(2, 5)
static const run_choice run_choices[] = {RUN_CHOICE(3, 3), RUN_CHOICE(1, 3), RUN_CHOICE(2, 5), RUN_CHOICE(1, 5),
                                         RUN_CHOICE(1, 7)};
#endif
#undef RUN_CHOICE
#undef RUN_FUNCTIONS
#undef RUN_FUNCTION

static const run_choice *choose_run(int64_t window, int64_t rows)
{
    const run_choice *choice = run_choices;
    while (choice->window != window || choice->rows > rows) choice++;
    return choice;
}

/* The sums of one or two vectors of channels and some taps. */
typedef struct run_sums {
    int num_taps;
    int parts;
    int num_added;  /* runs, to `part` */
    bool has_total; /* else there is only `part` */
    vector_float part[MAX_SUMS][MAX_PARTS];
    double total[MAX_SUMS * MAX_PARTS * VECTOR_LENGTH]; /* channel by channel for each tap */
} run_sums;

/* The sums of tap k as floats, channel by channel. */
static void store_part(const run_sums *sums, int k, float *target)
{
#if defined(LIANA__PAIRED_PARTS)
    if (sums->parts == 2) {
        vector_float parts[MAX_PARTS] = {sums->part[k][0], sums->part[k][1]};
        join_parts(parts);
        vector_store(target, parts[0]);
        vector_store(target + VECTOR_LENGTH, parts[1]);
        return;
    }
#endif
    vector_store(target, sums->part[k][0]);
}

static void move_part(run_sums *sums)
{
    int length = sums->parts * VECTOR_LENGTH;
    for (int k = 0; k < sums->num_taps; k++) {
        float part[MAX_PARTS * VECTOR_LENGTH];
        double *total = sums->total + k * length;
        store_part(sums, k, part);
        for (int i = 0; i < length; i++) total[i] = (sums->has_total ? total[i] : 0) + part[i];
    }
    memset(sums->part, 0, (size_t)sums->num_taps * sizeof *sums->part);
    sums->has_total = true;
    sums->num_added = 0;
}

/* The rows of taps from `tap_row` on, over one image. */
static void add_image(const liana__geometry *g, run_function *function, const liana__call *call, int64_t image,
                      int64_t channel, int64_t tap_row, run_sums *sums)
{
    int64_t width = g->output[1], rows = at_least(1, PIXELS_IN_REGISTERS / width);
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
        run.num_rows = at_most(rows, g->output[0] - row);
        run.first_in_row = row * g->strides[0] - g->padding_low[0] + tap_row;
        run.x_at = (image * g->input[0] + run.first_in_row) * x_row + channel;
        run.dy_at = (image * g->output[0] + row) * run.dy_row + channel;
        for (int64_t column = 0; column < width; column += PIXELS_IN_REGISTERS) {
            run.first_column = column;
            run.end_column = at_most(width, column + PIXELS_IN_REGISTERS);
            function(&run, sums->part);
            if (++sums->num_added == RUNS_IN_FLOAT) move_part(sums);
        }
    }
}

static void write_sums(const liana__geometry *g, const run_sums *sums, float *result)
{
    int length = sums->parts * VECTOR_LENGTH;
    for (int k = 0; k < sums->num_taps; k++, result += g->channels) {
        const double *total = sums->total + k * length;
        if (!sums->has_total) store_part(sums, k, result);
        for (int i = 0; i < length && sums->has_total; i++) result[i] = (float)total[i];
    }
}

/* Some images' sums of `parts` vectors of channels and some rows of taps: those of the images before are in scratch
 * memory, and after the last image they become the result. */
static void add_images(const liana__geometry *g, const liana__call *call, int64_t first, int64_t end, int64_t vector,
                       int parts, int64_t tap_row, const run_choice *choice)
{
    run_sums sums;
    sums.num_taps = choice->rows * choice->window;
    sums.parts = parts;
    sums.num_added = 0;
    sums.has_total = first > 0;
    int64_t first_tap = tap_row * choice->window, channel = vector * VECTOR_LENGTH;
    if (parts == 1) channel = vector_start(vector, g->channels);
    size_t size = (size_t)(sums.num_taps * parts * VECTOR_LENGTH) * sizeof *sums.total;
    double *before =
        (double *)call->scratch + (vector * g->window[0] * g->window[1] + first_tap * parts) * VECTOR_LENGTH;
    memset(sums.part, 0, (size_t)sums.num_taps * sizeof *sums.part);
    if (first > 0) memcpy(sums.total, before, size);
    for (int64_t image = first; image < end; image++) {
        add_image(g, choice->functions[parts - 1][g->strides[1] - 1], call, image, channel, tap_row, &sums);
    }
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
    return at_least(1, BYTES_AT_ONCE / (pixels * g->channels * (int64_t)sizeof(float)));
}

static void run_kernel_gradient(const liana__geometry *g, const liana__call *call)
{
    int64_t vectors = count_vectors(g->channels), at_once = images_at_once(g);
    for (int64_t image = 0; image < g->batch; image += at_once) {
        for (int64_t v = 0; v < vectors;) {
            int parts = parts_at(v, vectors, g->channels);
            for (int64_t row = 0; row < g->window[0];) {
                const run_choice *choice = choose_run(g->window[1], g->window[0] - row);
                add_images(g, call, image, at_most(g->batch, image + at_once), v, parts, row, choice);
                row += choice->rows;
            }
            v += parts;
        }
    }
}

#endif
