/* depthwise_conv2d.lines.kernels.h - depthwise convolutions with any window, stride and dilation.
 *
 * All three passes consist of lines: equally spaced pixels of a row of the result (or of dy), with the list of taps
 * (cells of the window) that reach them. In the gradient of the images, a stride s splits a row into s lines, each
 * reached by every s-th tap. So both directions are the same loop. Channels are vectorised. If they do not fill the
 * last vector of a pixel, it overlaps the one before and computes the same values again. */
#ifndef LIANA_OPS_DEPTHWISE_LINES_KERNELS_H
#define LIANA_OPS_DEPTHWISE_LINES_KERNELS_H

#include "ops/conv/depthwise_conv2d.tiles.kernels.h"

enum { MAX_TAPS = 121, TAPS_AT_ONCE = 9 };

/* A tap: position j of the line takes the pixel at `source` + j * source_step, for j in [begin, end). */
typedef struct line_tap {
    int64_t source; /* floats from the start of the tensor; may point before it where begin > 0 */
    int64_t kernel; /* floats from the start of the kernel */
    int64_t begin, end;
} line_tap;

typedef struct line {
    int64_t count; /* positions */
    int64_t source_step;
    int64_t target, target_step;
    int num_taps;
    line_tap taps[MAX_TAPS];
} line;

/* ---- making lines ---- */

/* The line of row `row` of output image n, as positions of x; the target is the row of y. */
static void make_output_line(const liana__geometry *g, int64_t n, int64_t row, line *made)
{
    made->count = g->output[1];
    made->source_step = g->strides[1] * g->channels;
    made->target = (n * g->output[0] + row) * g->output[1] * g->channels;
    made->target_step = g->channels;
    made->num_taps = 0;
    for (int64_t i = 0; i < g->window[0]; i++) {
        int64_t in_row = liana__window_source(g, 0, row, i);
        for (int64_t j = 0; j < g->window[1] && in_row >= 0; j++) {
            int64_t first = j * g->dilations[1] - g->padding_low[1]; /* the column under position 0 */
            line_tap tap = {.begin = divide_up(-first, g->strides[1])};
            tap.end = at_most(g->output[1], divide_up(g->input[1] - first, g->strides[1]));
            tap.source = ((n * g->input[0] + in_row) * g->input[1] + first) * g->channels;
            tap.kernel = (i * g->window[1] + j) * g->channels;
            if (tap.begin < tap.end) made->taps[made->num_taps++] = tap;
        }
    }
}

/* The pixels phase, phase + stride, ... of row `row` of input image n, as positions of dy; the target is in dx. */
static void make_input_line(const liana__geometry *g, int64_t n, int64_t row, int64_t phase, line *made)
{
    int64_t stride = g->strides[1];
    made->count = divide_up(g->input[1] - phase, stride);
    made->source_step = g->channels;
    made->target = ((n * g->input[0] + row) * g->input[1] + phase) * g->channels;
    made->target_step = stride * g->channels;
    made->num_taps = 0;
    for (int64_t i = 0; i < g->window[0]; i++) {
        int64_t out_row = liana__window_target(g, 0, row, i);
        for (int64_t j = 0; j < g->window[1] && out_row >= 0; j++) {
            int64_t moved = phase + g->padding_low[1] - j * g->dilations[1];
            if (moved % stride != 0) continue;
            int64_t first = moved / stride; /* the column of dy that reaches position 0 */
            line_tap tap = {.begin = first < 0 ? -first : 0, .end = at_most(made->count, g->output[1] - first)};
            tap.source = ((n * g->output[0] + out_row) * g->output[1] + first) * g->channels;
            tap.kernel = (i * g->window[1] + j) * g->channels;
            if (tap.begin < tap.end) made->taps[made->num_taps++] = tap;
        }
    }
}

/* The positions that all of some taps reach: [*begin, *end), possibly empty. */
static void common_positions(const line_tap *taps, int num_taps, int64_t count, int64_t *begin, int64_t *end)
{
    *begin = 0;
    *end = count;
    for (int i = 0; i < num_taps; i++) {
        if (taps[i].begin > *begin) *begin = taps[i].begin;
        if (taps[i].end < *end) *end = taps[i].end;
    }
    if (*end < *begin) *end = *begin;
}

/* ---- forward and gradient of the images ---- */

/* `tile` neighbouring positions from `position` on, all channels. */
LIANA__INLINE void run_positions(const int tile, const line *l, const line_tap *taps, int num_taps, int64_t position,
                                 int64_t channels, const float *source, const float *kernel, float *target)
{
    target += l->target + position * l->target_step;
    for (int64_t v = 0; v < count_vectors(channels); v++) {
        int64_t c = vector_start(v, channels);
        vector_float sum[8];
        for (int i = 0; i < tile; i++) sum[i] = vector_set(0);
        for (int k = 0; k < num_taps; k++) {
            const float *at = source + (taps[k].source + position * l->source_step + c);
            vector_float weight = vector_load(kernel + taps[k].kernel + c);
            for (int i = 0; i < tile; i++) sum[i] = vector_fma(vector_load(at + i * l->source_step), weight, sum[i]);
        }
        for (int i = 0; i < tile; i++) vector_store(target + i * l->target_step + c, sum[i]);
    }
}

/* A position that not all taps reach. */
static void run_border(const line *l, int64_t position, int64_t channels, const float *source, const float *kernel,
                       float *target)
{
    line_tap taps[MAX_TAPS];
    int num_taps = 0;
    for (int i = 0; i < l->num_taps; i++) {
        if (position >= l->taps[i].begin && position < l->taps[i].end) taps[num_taps++] = l->taps[i];
    }
    run_positions(1, l, taps, num_taps, position, channels, source, kernel, target);
}

static void run_line(const line *l, int64_t channels, const float *source, const float *kernel, float *target)
{
    int64_t begin, end, j = 0;
    common_positions(l->taps, l->num_taps, l->count, &begin, &end);
    for (; j < begin; j++) run_border(l, j, channels, source, kernel, target);
    for (; j + 8 <= end; j += 8) run_positions(8, l, l->taps, l->num_taps, j, channels, source, kernel, target);
    for (; j + 4 <= end; j += 4) run_positions(4, l, l->taps, l->num_taps, j, channels, source, kernel, target);
    for (; j < end; j++) run_positions(1, l, l->taps, l->num_taps, j, channels, source, kernel, target);
    for (; j < l->count; j++) run_border(l, j, channels, source, kernel, target);
}

static void run_forward_lines(const liana__geometry *g, const liana__call *call)
{
    line l;
    for (int64_t i = 0; i < g->batch * g->output[0]; i++) {
        make_output_line(g, i / g->output[0], i % g->output[0], &l);
        run_line(&l, g->channels, call->src[0], call->src[1], call->dst);
    }
}

static void run_input_gradient_lines(const liana__geometry *g, const liana__call *call)
{
    line l;
    for (int64_t i = 0; i < g->batch * g->input[0]; i++) {
        for (int64_t phase = 0; phase < g->strides[1] && phase < g->input[1]; phase++) {
            make_input_line(g, i / g->input[0], i % g->input[0], phase, &l);
            run_line(&l, g->channels, call->src[0], call->src[1], call->dst);
        }
    }
}

/* ---- gradient of the kernel. Products are added over a few positions in registers, these over a part of a row or
 * several short rows in scratch memory, and those in double. Sums of sums stay accurate where one running sum would
 * not. Their order follows from the shape. ---- */

enum { POSITIONS_AT_ONCE = 16, POSITIONS_IN_FLOAT = 64 };

/* Adds dy * x over the positions [begin, end) to the taps' sums. */
LIANA__INLINE void add_positions(const int num_taps, const line_tap *taps, const line *l, int64_t begin, int64_t end,
                                 const float *x, const float *dy, vector_float *sums)
{
    for (int64_t j = begin; j < end; j++) {
        vector_float d = vector_load(dy + l->target + j * l->target_step);
        for (int k = 0; k < num_taps; k++) {
            sums[k] = vector_fma(vector_load(x + (taps[k].source + j * l->source_step)), d, sums[k]);
        }
    }
}

/* One vector of channels of up to TAPS_AT_ONCE taps, whose sums stay in registers. x and dy are shifted to the first of
 * the channels; slots[k] is the place of the k-th tap's sum. */
LIANA__INLINE void add_taps(const int num_taps, const line_tap *taps, const line *l, const float *x, const float *dy,
                            const int64_t *slots, float *part_sums)
{
    vector_float sums[TAPS_AT_ONCE];
    for (int k = 0; k < num_taps; k++) sums[k] = vector_set(0);
    int64_t begin, end;
    common_positions(taps, num_taps, l->count, &begin, &end);
    int64_t first = begin;
    for (; first + POSITIONS_AT_ONCE < end; first += POSITIONS_AT_ONCE) {
        add_positions(num_taps, taps, l, first, first + POSITIONS_AT_ONCE, x, dy, sums);
        for (int k = 0; k < num_taps; k++) {
            float *slot = part_sums + slots[k];
            vector_store(slot, vector_load(slot) + sums[k]);
            sums[k] = vector_set(0);
        }
    }
    add_positions(num_taps, taps, l, first, end, x, dy, sums);
    for (int k = 0; k < num_taps; k++) {
        add_positions(1, taps + k, l, taps[k].begin, at_most(begin, taps[k].end), x, dy, sums + k);
        add_positions(1, taps + k, l, end > taps[k].begin ? end : taps[k].begin, taps[k].end, x, dy, sums + k);
        float *slot = part_sums + slots[k];
        vector_store(slot, vector_load(slot) + sums[k]);
    }
}

static void add_line(const line *l, int64_t channels, const float *x, const float *dy, float *part_sums)
{
    int64_t vectors = count_vectors(channels);
    for (int64_t v = 0; v < vectors; v++) {
        int64_t c = vector_start(v, channels);
        for (int first = 0; first < l->num_taps; first += TAPS_AT_ONCE) {
            const line_tap *taps = l->taps + first;
            int num_taps = (int)at_most(TAPS_AT_ONCE, l->num_taps - first);
            int64_t slots[TAPS_AT_ONCE];
            for (int k = 0; k < num_taps; k++) slots[k] = (taps[k].kernel / channels * vectors + v) * VECTOR_LENGTH;
            switch (num_taps) { /* constants, so that the sums are registers */
            case 9: add_taps(9, taps, l, x + c, dy + c, slots, part_sums); break;
            case 8: add_taps(8, taps, l, x + c, dy + c, slots, part_sums); break;
            case 7: add_taps(7, taps, l, x + c, dy + c, slots, part_sums); break;
            case 6: add_taps(6, taps, l, x + c, dy + c, slots, part_sums); break;
            case 5: add_taps(5, taps, l, x + c, dy + c, slots, part_sums); break;
            case 4: add_taps(4, taps, l, x + c, dy + c, slots, part_sums); break;
            case 3: add_taps(3, taps, l, x + c, dy + c, slots, part_sums); break;
            case 2: add_taps(2, taps, l, x + c, dy + c, slots, part_sums); break;
            default: add_taps(1, taps, l, x + c, dy + c, slots, part_sums); break;
            }
        }
    }
}

/* The positions [begin, end) of a line alone. */
static line clip_line(const line *whole, int64_t begin, int64_t end)
{
    line part = *whole;
    for (int i = 0; i < part.num_taps; i++) {
        line_tap *tap = &part.taps[i];
        if (tap->begin < begin) tap->begin = begin;
        if (tap->end > end) tap->end = end;
    }
    return part;
}

static void move_sums(double *sums, float *part_sums, int64_t slots)
{
    for (int64_t i = 0; i < slots; i++) sums[i] += part_sums[i];
    memset(part_sums, 0, (size_t)slots * sizeof *part_sums);
}

/* The channels of vectors that overlap are written twice, the same each time. */
static void write_line_sums(const liana__geometry *g, const double *sums, float *result)
{
    int64_t vectors = count_vectors(g->channels);
    for (int64_t tap = 0; tap < g->window[0] * g->window[1]; tap++) {
        for (int64_t v = 0; v < vectors; v++) {
            const double *from = sums + (tap * vectors + v) * VECTOR_LENGTH;
            float *to = result + tap * g->channels + vector_start(v, g->channels);
            for (int i = 0; i < VECTOR_LENGTH; i++) to[i] = (float)from[i];
        }
    }
}

static void run_kernel_gradient_lines(const liana__geometry *g, const liana__call *call)
{
    double *sums = call->scratch;
    int64_t slots = count_slots(g), added = 0;
    float *part_sums = (float *)(sums + slots);
    memset(sums, 0, (size_t)slots * (sizeof *sums + sizeof *part_sums));
    for (int64_t row = 0; row < g->batch * g->output[0]; row++) {
        line l;
        make_output_line(g, row / g->output[0], row % g->output[0], &l);
        for (int64_t begin = 0; begin < l.count; begin += POSITIONS_IN_FLOAT) {
            line part = clip_line(&l, begin, begin + POSITIONS_IN_FLOAT);
            add_line(&part, g->channels, call->src[0], call->src[1], part_sums);
            added += at_most(POSITIONS_IN_FLOAT, l.count - begin);
            if (added < POSITIONS_IN_FLOAT) continue;
            move_sums(sums, part_sums, slots);
            added = 0;
        }
    }
    move_sums(sums, part_sums, slots);
    write_line_sums(g, sums, call->dst);
}

#endif
