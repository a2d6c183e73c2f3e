/* conv2d.few_channels.kernels.h - convolutions of images with one to four channels, the first layer of most networks,
 * and the gradient of their kernel, for one instruction set.
 *
 * Vectors run over filters. The taps of a row of the window, all their channels, are neighbours in memory, one list of
 * numbers; so are those of the next pixel, `step` numbers further on. Rows of images are copied into scratch memory,
 * as floats and with their border of zeros, each once. */
#include "kernels/applicable.h"
#include "kernels/vector_filters.h"
#include "kernels/vector_kernels.h"
#include "ops/conv/conv2d.h"

enum {
    MOST_CHANNELS = 4,
    MOST_ROWS = 16, /* of the window */
    FILTER_VECTORS = LIANA_VECTOR_BYTES == 64 ? 2 : 1,
    FILTER_BLOCK = FILTER_VECTORS * VECTOR_LENGTH,
    MOST_PIXELS = LIANA_VECTOR_BYTES == 64 ? 12 : 10, /* as many as the registers hold */
    MOST_TAPS = 9,                                    /* the same for the gradient */
};

/* Measured (bench/small-images.md): for each instruction set alike, for where one declines the next is asked. */
static const char *why_not(const liana__node *node, const liana__geometry *g)
{
    bool forward = node->op == &liana__op_conv2d, is_bf16 = node->inputs[0]->dtype == LIANA_BF16;
    if (node->op == &liana__op_conv2d_input_gradient) return "made for images, whose gradient nobody needs";
    if (g->channels > MOST_CHANNELS) return "more than 4 channels";
    if (g->groups != 1) return "more than one group";
    if (g->window[0] > MOST_ROWS || g->window[1] > MOST_ROWS) return "the window is larger than 16x16";
    if (g->dilations[0] != 1 || g->dilations[1] != 1) return "the window is dilated";
    if (forward && !is_bf16) return "oneDNN is faster in f32";
    if (forward && node->dtype != LIANA_BF16) return "the result is not bf16";
    if (!forward && node->dtype != LIANA_F32) return "the result is not f32";
    if (!is_bf16 && g->channels == 1) return "oneDNN is faster for one channel";
    if (!is_bf16 && g->filters <= 16) return "oneDNN is faster for 16 filters or less";
    return NULL;
}

static bool is_applicable(const liana__node *node, const char **reason)
{
    if (!liana__applicable_f32_bf16(node, reason)) return false;
    const liana__geometry g = liana__conv_geometry(node);
    *reason = why_not(node, &g);
    return !*reason;
}

/* Where oneDNN has products of bf16, large windows are enough work to pack for. */
static bool is_preferred(const liana__node *node, liana__isa isa, const char **reason)
{
    const liana__geometry g = liana__conv_geometry(node);
    *reason = "oneDNN is faster for windows of more than 25 cells";
    return node->inputs[0]->dtype != LIANA_BF16 || isa < LIANA__ISA_AVX512_BF16 || g.window[0] * g.window[1] <= 25;
}

static int64_t count_blocks(const liana__geometry *g)
{
    return divide_round_up(g->filters, FILTER_BLOCK);
}

/* ---- rows as floats ---- */

static void copy_floats(float *target, const void *source, int64_t first, int64_t count, bool is_bf16)
{
    if (!is_bf16) {
        memcpy(target, (const float *)source + first, (size_t)count * sizeof(float));
        return;
    }
    const uint16_t *from = (const uint16_t *)source + first;
    int64_t i = 0;
    for (; i + VECTOR_LENGTH <= count; i += VECTOR_LENGTH) vector_store(target + i, vector_load_bf16(from + i));
    if (i < count) vector_store_part(target + i, vector_load_part_bf16(from + i, count - i), count - i);
}

static void store_bf16(uint16_t *target, const float *source, int64_t count)
{
    int64_t i = 0;
    for (; i + VECTOR_LENGTH <= count; i += VECTOR_LENGTH) vector_store_bf16(target + i, vector_load(source + i));
    if (i < count) vector_store_part_bf16(target + i, vector_load_part(source + i, count - i), count - i);
}

/* Rows of padded images: the last as many as a window has, input row r (counted with the border) in line r % window. */
typedef struct row_buffer {
    const liana__geometry *g;
    const void *images;
    bool is_bf16;
    float *lines;
    int64_t line_size;
    int64_t next; /* the row that was not read yet */
} row_buffer;

static int64_t line_size_of(const liana__geometry *g)
{
    return (g->input[1] + g->padding_low[1] + g->padding_high[1]) * g->channels;
}

/* The lines begin as zeros, which the borders left and right stay. */
static row_buffer start_rows(const liana__geometry *g, const void *images, bool is_bf16, float *lines)
{
    row_buffer rows = {.g = g, .images = images, .is_bf16 = is_bf16, .lines = lines, .line_size = line_size_of(g)};
    memset(lines, 0, (size_t)(g->window[0] * rows.line_size) * sizeof(float));
    return rows;
}

/* Points to the rows under output row `row` of image n; rows of an image are asked for from the first on. */
static void read_rows(row_buffer *rows, int64_t n, int64_t row, const float *found[MOST_ROWS])
{
    const liana__geometry *g = rows->g;
    int64_t first = row * g->strides[0];
    if (row == 0) rows->next = 0;
    if (rows->next < first) rows->next = first;
    for (; rows->next < first + g->window[0]; rows->next++) {
        int64_t source = rows->next - g->padding_low[0], count = g->input[1] * g->channels;
        float *line = rows->lines + rows->next % g->window[0] * rows->line_size + g->padding_low[1] * g->channels;
        if (source >= 0 && source < g->input[0]) {
            copy_floats(line, rows->images, (n * g->input[0] + source) * count, count, rows->is_bf16);
        } else {
            memset(line, 0, (size_t)count * sizeof(float));
        }
    }
    for (int64_t i = 0; i < g->window[0]; i++) found[i] = rows->lines + (first + i) % g->window[0] * rows->line_size;
}

/* ---- forward ---- */

/* A row of the result, for some filters. */
typedef struct row_job {
    const liana__geometry *g;
    const float *rows[MOST_ROWS];
    const float *weights; /* [window rows][window columns * channels][FILTER_BLOCK] */
    float *y;             /* the row's first element of the first of these filters */
    int64_t filters;      /* how many, at most FILTER_BLOCK */
} row_job;

/* `pixels` neighbours from `column` on. */
LIANA__INLINE void run_pixels(const int pixels, const int vectors, int64_t step, const row_job *job, int64_t column)
{
    const liana__geometry *g = job->g;
    const float *weights = job->weights;
    vector_float sum[MOST_PIXELS][FILTER_VECTORS];
    for (int p = 0; p < pixels; p++) {
        for (int v = 0; v < vectors; v++) sum[p][v] = vector_set(0);
    }
    for (int64_t i = 0; i < g->window[0]; i++) {
        const float *x = job->rows[i] + column * step;
        for (int64_t tap = 0; tap < g->window[1] * g->channels; tap++, x = hide(x + 1), weights += FILTER_BLOCK) {
            vector_float w[FILTER_VECTORS];
            for (int v = 0; v < vectors; v++) w[v] = vector_load(weights + v * VECTOR_LENGTH);
            for (int p = 0; p < pixels; p++) {
                vector_float pixel = vector_set(x[p * step]);
                for (int v = 0; v < vectors; v++) sum[p][v] = vector_fma(pixel, w[v], sum[p][v]);
            }
        }
    }
    for (int p = 0; p < pixels; p++) {
        for (int v = 0; v < vectors; v++) {
            store_filters(job->y + (column + p) * g->filters + v * VECTOR_LENGTH, sum[p][v],
                          job->filters - v * VECTOR_LENGTH);
        }
    }
}

/* The last pixels of a row overlap those before, and compute the same again. */
LIANA__INLINE void run_row(const int vectors, int64_t step, const row_job *job)
{
    int64_t width = job->g->output[1], column = 0;
    if (width >= MOST_PIXELS) {
        for (; column < width; column += MOST_PIXELS) {
            run_pixels(MOST_PIXELS, vectors, step, job, at_most(column, width - MOST_PIXELS));
        }
    }
    for (; column < width; column++) run_pixels(1, vectors, step, job, column);
}

/* The usual distances of two pixels are known to the compiler: one or three channels, stride 1 or 2. */
LIANA__INLINE void run_row_at_steps(const int vectors, int64_t step, const row_job *job)
{
    switch (step) {
    case 1: run_row(vectors, 1, job); break;
    case 3: run_row(vectors, 3, job); break;
    case 6: run_row(vectors, 6, job); break;
    default: run_row(vectors, step, job);
    }
}

static void run_block(int64_t step, const row_job *job)
{
    if (job->filters > VECTOR_LENGTH) {
        run_row_at_steps(FILTER_VECTORS, step, job);
    } else {
        run_row_at_steps(1, step, job);
    }
}

/* [blocks of filters][window][channels][FILTER_BLOCK], with zeros where there is no filter. */
static void pack_weights(const liana__geometry *g, const void *kernel, float *packed)
{
    int64_t taps = g->window[0] * g->window[1] * g->channels;
    memset(packed, 0, (size_t)(count_blocks(g) * taps * FILTER_BLOCK) * sizeof(float));
    for (int64_t first = 0; first < g->filters; first += FILTER_BLOCK) {
        for (int64_t tap = 0; tap < taps; tap++, packed += FILTER_BLOCK) {
            copy_floats(packed, kernel, tap * g->filters + first, at_most(FILTER_BLOCK, g->filters - first), true);
        }
    }
}

/* The layout of the scratch memory, in floats. */
typedef struct memory {
    int64_t lines;
    int64_t weights; /* or their gradient, of an image */
    int64_t total;   /* the gradient of all images so far */
    int64_t row;     /* of y or dy */
} memory;

static memory memory_of(const liana__node *node, const liana__geometry *g)
{
    memory m = {.lines = g->window[0] * line_size_of(g)};
    m.weights = count_blocks(g) * g->window[0] * g->window[1] * g->channels * FILTER_BLOCK;
    m.total = node->op == &liana__op_conv2d ? 0 : m.weights;
    m.row = node->inputs[0]->dtype == LIANA_BF16 ? g->output[1] * g->filters : 0;
    return m;
}

static liana_status prepare(const liana__node *node, liana__prepared *prepared, liana__error *error)
{
    (void)error;
    const liana__geometry g = liana__conv_geometry(node);
    const memory m = memory_of(node, &g);
    prepared->scratch_size = (size_t)(m.lines + m.weights + m.total + m.row) * sizeof(float);
    return LIANA_OK;
}

static void run_forward(const liana__call *call, const liana__geometry *g)
{
    const memory m = memory_of(call->node, g);
    float *lines = call->scratch, *weights = lines + m.lines, *y = weights + m.weights;
    row_buffer rows = start_rows(g, call->src[0], true, lines);
    pack_weights(g, call->src[1], weights);
    row_job job = {.g = g};
    for (int64_t k = 0; k < g->batch * g->output[0]; k++) {
        read_rows(&rows, k / g->output[0], k % g->output[0], job.rows);
        for (int64_t first = 0; first < g->filters; first += FILTER_BLOCK) {
            job.weights = weights + first * (g->window[0] * g->window[1] * g->channels);
            job.y = y + first;
            job.filters = at_most(FILTER_BLOCK, g->filters - first);
            run_block(g->strides[1] * g->channels, &job);
        }
        int64_t width = g->output[1] * g->filters;
        store_bf16((uint16_t *)call->dst + k * width, y, width);
    }
}

/* ---- gradient of the kernel ---- */

/* Some cells of a row of the window, for some filters: a row of dy. */
typedef struct gradient_job {
    const float *x;              /* the first input of the first of the taps */
    const float *dy;             /* of the first of these filters */
    int64_t step, width, stride; /* from a pixel of x to the next, pixels, from a pixel of dy to the next */
    int64_t filters;
} gradient_job;

/* A sum over a row, which begins at 0, is added to that of the rows before: short sums of sums round less. */
LIANA__INLINE void add_taps(const int taps, const int vectors, bool whole, const gradient_job *job, float *gradient)
{
    vector_float sum[MOST_TAPS][FILTER_VECTORS];
    for (int t = 0; t < taps; t++) {
        for (int v = 0; v < vectors; v++) sum[t][v] = vector_set(0);
    }
    for (int64_t k = 0; k < job->width; k++) {
        const float *x = job->x + k * job->step, *at = job->dy + k * job->stride;
        vector_float dy[FILTER_VECTORS];
        for (int v = 0; v < vectors; v++) {
            int64_t left = at_most(job->filters - v * VECTOR_LENGTH, VECTOR_LENGTH);
            dy[v] = whole ? vector_load(at + v * VECTOR_LENGTH) : vector_load_part(at + v * VECTOR_LENGTH, left);
        }
        for (int t = 0; t < taps; t++) {
            vector_float pixel = vector_set(x[t]);
            for (int v = 0; v < vectors; v++) sum[t][v] = vector_fma(pixel, dy[v], sum[t][v]);
        }
    }
    for (int t = 0; t < taps; t++) {
        for (int v = 0; v < vectors; v++) {
            float *target = gradient + t * FILTER_BLOCK + v * VECTOR_LENGTH;
            vector_store(target, vector_load(target) + sum[t][v]);
        }
    }
}

/* All taps of a row of the window. */
LIANA__INLINE void add_row(const int vectors, bool whole, gradient_job job, int64_t taps, float *gradient)
{
    const float *x = job.x;
    int64_t t = 0;
    for (; t + MOST_TAPS <= taps; t += MOST_TAPS) {
        job.x = x + t;
        add_taps(MOST_TAPS, vectors, whole, &job, gradient + t * FILTER_BLOCK);
    }
    for (; t + 3 <= taps; t += 3) {
        job.x = x + t;
        add_taps(3, vectors, whole, &job, gradient + t * FILTER_BLOCK);
    }
    for (; t < taps; t++) {
        job.x = x + t;
        add_taps(1, vectors, whole, &job, gradient + t * FILTER_BLOCK);
    }
}

static void add_block(const gradient_job *job, int64_t taps, float *gradient)
{
    if (job->filters == FILTER_BLOCK) {
        add_row(FILTER_VECTORS, true, *job, taps, gradient);
    } else if (job->filters > VECTOR_LENGTH) {
        add_row(FILTER_VECTORS, false, *job, taps, gradient);
    } else if (job->filters == VECTOR_LENGTH) {
        add_row(1, true, *job, taps, gradient);
    } else {
        add_row(1, false, *job, taps, gradient);
    }
}

static void unpack_gradient(const liana__geometry *g, const float *packed, float *gradient)
{
    int64_t taps = g->window[0] * g->window[1] * g->channels;
    for (int64_t first = 0; first < g->filters; first += FILTER_BLOCK) {
        size_t size = (size_t)at_most(FILTER_BLOCK, g->filters - first) * sizeof(float);
        for (int64_t tap = 0; tap < taps; tap++, packed += FILTER_BLOCK) {
            memcpy(gradient + tap * g->filters + first, packed, size);
        }
    }
}

/* Rows are summed, then images. */
static void run_kernel_gradient(const liana__call *call, const liana__geometry *g, bool is_bf16)
{
    const memory m = memory_of(call->node, g);
    float *lines = call->scratch, *gradient = lines + m.lines, *total = gradient + m.weights, *row = total + m.total;
    int64_t taps = g->window[1] * g->channels, width = g->output[1] * g->filters;
    row_buffer rows = start_rows(g, call->src[0], is_bf16, lines);
    memset(gradient, 0, (size_t)(m.weights + m.total) * sizeof(float));
    for (int64_t k = 0; k < g->batch * g->output[0]; k++) {
        const float *found[MOST_ROWS], *dy = is_bf16 ? row : (const float *)call->src[1] + k * width;
        read_rows(&rows, k / g->output[0], k % g->output[0], found);
        if (is_bf16) copy_floats(row, call->src[1], k * width, width, true);
        gradient_job job = {.step = g->strides[1] * g->channels, .width = g->output[1], .stride = g->filters};
        float *target = gradient;
        for (int64_t first = 0; first < g->filters; first += FILTER_BLOCK) {
            job.dy = dy + first;
            job.filters = at_most(FILTER_BLOCK, g->filters - first);
            for (int64_t i = 0; i < g->window[0]; i++, target += taps * FILTER_BLOCK) {
                job.x = found[i];
                add_block(&job, taps, target);
            }
        }
        if (k % g->output[0] != g->output[0] - 1) continue;
        for (int64_t i = 0; i < m.weights; i++) total[i] += gradient[i];
        memset(gradient, 0, (size_t)m.weights * sizeof(float));
    }
    unpack_gradient(g, total, call->dst);
}

static liana_status run(const liana__call *call)
{
    const liana__geometry g = liana__conv_geometry(call->node);
    bool is_bf16 = call->node->inputs[0]->dtype == LIANA_BF16;
    if (call->node->op == &liana__op_conv2d) {
        run_forward(call, &g);
    } else {
        run_kernel_gradient(call, &g, is_bf16);
    }
    return LIANA_OK;
}

LIANA__VECTOR_KERNEL(conv2d_few_channels, .applicable = is_applicable, .preferred = is_preferred, .prepare = prepare,
                     .run = run);
