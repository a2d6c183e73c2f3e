/* conv2d.winograd_gradient.kernels.h - gradients of 3x3 kernels by Winograd's algorithm (kernels/winograd.h), for one
 * instruction set. Images are f32 or bf16; in between everything is f32.
 *
 * Tiles of x and dy are transformed, block after block. Each of the (m + 2)^2 cells then adds up a product A^T B, for a
 * few filters at a time (a panel). A has a row of channels for each tile, B a row of filters. The sums are the gradient
 * of the transformed kernel. At the end they are transformed back. */
#define LIANA__VECTOR_KERNEL_PREFIX "winograd_"

#include "kernels/matrix_pack.h"
#include "kernels/vector_kernels.h"
#include "kernels/winograd_tiles.h"
#include "ops/conv/conv2d.h"

typedef struct winograd_plan {
    winograd_grid grid;
    int64_t channels, filters;
    int64_t block;     /* tiles of a block */
    packed_matrix cut; /* how the filters are cut into panels */
    /* Scratch memory, in floats: rows and cells of transformed x and dy, cells of a panel of sums, and how many panels
     * of them there are at a time. */
    int64_t x_row, x_cell, dy_row, dy_cell, sums_cell, kept_panels;
} winograd_plan;

/* The tiles of a block, whose transforms stay in the L2 cache. Up to SINGLE_BLOCK tiles are one block: then a panel of
 * sums is finished before the next one begins, and the whole is stored nowhere. */
enum { BLOCK = 48, SINGLE_BLOCK = 192 };

static winograd_plan plan_winograd(const liana__node *node)
{
    const liana__geometry g = liana__conv_geometry(node);
    winograd_plan p = {.grid = winograd_grid_of(&g, false), .channels = g.channels, .filters = g.filters};
    p.block = p.grid.count <= SINGLE_BLOCK ? p.grid.count : BLOCK;
    p.cut = (packed_matrix){p.block, p.filters, 1, NULL};
    p.x_row = divide_round_up(p.channels, WINOGRAD_GAP) * WINOGRAD_GAP + WINOGRAD_GAP;
    p.dy_row = divide_round_up(p.filters, WINOGRAD_GAP) * WINOGRAD_GAP + WINOGRAD_GAP;
    p.x_cell = p.block * p.x_row + WINOGRAD_GAP;
    p.dy_cell = p.block * p.dy_row + WINOGRAD_GAP;
    p.sums_cell = p.channels * TILE_VECTORS * VECTOR_LENGTH + WINOGRAD_GAP;
    p.kept_panels = p.block < p.grid.count ? count_panels(&p.cut) : 1;
    return p;
}

static int64_t most_channels(const winograd_plan *p)
{
    return p->channels > p->filters ? p->channels : p->filters;
}

/* Floats of the sums that are kept at a time. */
static int64_t sums_size(const winograd_plan *p)
{
    return p->kept_panels * winograd_cells(p->grid.m) * p->sums_cell;
}

/* In bytes. */
static size_t winograd_scratch(const winograd_plan *p)
{
    const int64_t tiles = winograd_cells(p->grid.m) * (p->x_cell + p->dy_cell);
    return (size_t)(tiles + sums_size(p) + most_channels(p)) * sizeof(float);
}

/* Where things lie in the scratch memory. */
typedef struct winograd_room {
    float *x, *dy, *sums, *zeros;
} winograd_room;

static winograd_room place_winograd(const winograd_plan *p, void *scratch)
{
    const int64_t cells = winograd_cells(p->grid.m);
    winograd_room room = {.x = scratch};
    room.dy = room.x + cells * p->x_cell;
    room.sums = room.dy + cells * p->dy_cell;
    room.zeros = room.sums + sums_size(p);
    return room;
}

/* ---- sums ---- */

/* The sums of one cell over a block, in a panel. */
typedef struct winograd_sum {
    const float *x, *dy, *next_x, *next_dy; /* and the inputs of the next cell */
    int64_t x_row, dy_row, count, last;
    float *sums;
    bool add;
} winograd_sum;

LIANA__INLINE void sum_tile(const int rows, const int vectors, const winograd_sum *s, int64_t channel)
{
    vector_float sums[TILE_ROWS][TILE_VECTORS];
    const int64_t width = vectors * VECTOR_LENGTH;
    float *target = s->sums + channel * width;
    const tile_prefetch wanted = {(const char *)(s->next_x + channel), (const char *)s->next_dy,
                                  s->x_row * (int64_t)sizeof(float), s->dy_row * (int64_t)sizeof(float)};
    tile_clear(rows, vectors, sums);
    tile_add_columns(rows, vectors, s->x + channel, s->x_row, s->dy, s->dy_row, s->last, s->count, wanted, sums);
    if (s->add) tile_add_memory(rows, vectors, target, width, VECTOR_LENGTH, sums);
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) tile_store_row(vectors, target + r * width, VECTOR_LENGTH, sums[r]);
}

LIANA__INLINE void sum_channels(const int vectors, const winograd_sum *s, int64_t channels)
{
    int64_t c = 0;
    for (; c + TILE_ROWS <= channels; c += TILE_ROWS) sum_tile(TILE_ROWS, vectors, s, c);
    for (; c < channels; c++) sum_tile(1, vectors, s, c);
}

/* All cells of a panel. A function of its own, so that the loop over a sum has all registers. */
static __attribute__((noinline)) void sum_cells(const winograd_plan *p, const winograd_room *room,
                                                const packed_panel *panel, int64_t count, bool add, float *sums)
{
    const int64_t cells = winograd_cells(p->grid.m);
    for (int64_t k = 0; k < cells; k++) {
        const int64_t next = at_most(k + 1, cells - 1);
        const winograd_sum s = {room->x + k * p->x_cell,
                                room->dy + k * p->dy_cell + panel->first,
                                room->x + next * p->x_cell,
                                room->dy + next * p->dy_cell + panel->first,
                                p->x_row,
                                p->dy_row,
                                count,
                                panel->last,
                                sums + k * p->sums_cell,
                                add};
        switch (panel->vectors) { /* constants, so that the sums are registers */
#if LIANA_VECTOR_BYTES == 64
        case 3: sum_channels(3, &s, p->channels); break;
#endif
        case 2: sum_channels(2, &s, p->channels); break;
        default: sum_channels(1, &s, p->channels); break;
        }
    }
}

/* ---- results ---- */

/* A panel of the gradient from that of the transformed kernel. Whether all of it is finite. */
LIANA__INLINE bool transform_sums(const int m, const winograd_plan *p, const packed_panel *panel, const float *sums,
                                  float *gradient)
{
    vector_float faults = vector_set(0);
    for (int64_t c = 0; c < p->channels; c++) {
        for (int v = 0; v < panel->vectors; v++, sums += VECTOR_LENGTH) {
            const int64_t lanes = v + 1 < panel->vectors ? VECTOR_LENGTH : panel->last;
            float *target = gradient + c * p->filters + panel->first + v * VECTOR_LENGTH;
            vector_float g[WINOGRAD_WINDOW][WINOGRAD_WINDOW];
            winograd_kernel_gradient_cells(m, sums, p->sums_cell, g);
            for (int k = 0; k < WINOGRAD_WINDOW * WINOGRAD_WINDOW; k++) {
                const vector_float made = g[k / WINOGRAD_WINDOW][k % WINOGRAD_WINDOW];
                faults = vector_fma(made, vector_set(0), faults);
                vector_store_up_to(LIANA_F32, target, k * p->channels * p->filters, made, lanes);
            }
        }
    }
    return !vector_any(faults != faults);
}

/* One cell of the window for a channel, in a vector of filters. */
LIANA__INLINE vector_float sum_pixels(liana_dtype dtype, const liana__geometry *g, int64_t cell, int64_t channel,
                                      int64_t filter, int64_t lanes, const void *x, const void *dy)
{
    vector_float sum = vector_set(0);
    for (int64_t line = 0; line < g->batch * g->output[0]; line++) {
        const int64_t row = line % g->output[0] + cell / WINOGRAD_WINDOW - g->padding_low[0];
        if (row < 0 || row >= g->input[0]) continue;
        for (int64_t j = 0; j < g->output[1]; j++) {
            const int64_t column = j + cell % WINOGRAD_WINDOW - g->padding_low[1];
            if (column < 0 || column >= g->input[1]) continue;
            const int64_t seen = (line / g->output[0] * g->input[0] + row) * g->input[1] + column;
            const vector_float pixel = vector_set(vector_load_one(dtype, x, seen * g->channels + channel));
            const int64_t at = (line * g->output[1] + j) * g->filters + filter;
            sum = vector_fma(pixel, vector_load_up_to(dtype, dy, at, lanes), sum);
        }
    }
    return sum;
}

/* Direct sums, for numbers that are not finite. The transforms spread an infinity or a NaN over the whole window, and
 * nearly too large numbers may become infinite in between. */
LIANA__INLINE void sum_directly(liana_dtype dtype, const liana__call *call)
{
    const liana__geometry g = liana__conv_geometry(call->node);
    float *gradient = call->dst;
    for (int64_t row = 0; row < WINOGRAD_WINDOW * WINOGRAD_WINDOW * g.channels; row++) {
        for (int64_t f = 0; f < g.filters; f += VECTOR_LENGTH) {
            const vector_float sum =
                sum_pixels(dtype, &g, row / g.channels, row % g.channels, f, g.filters - f, call->src[0], call->src[1]);
            vector_store_up_to(LIANA_F32, gradient, row * g.filters + f, sum, g.filters - f);
        }
    }
}

/* ---- the kernel ---- */

LIANA__INLINE void run_winograd(const int m, liana_dtype dtype, const liana__call *call, const winograd_plan *p)
{
    const winograd_room room = place_winograd(p, call->scratch);
    const winograd_images x = {call->src[0], p->channels, room.zeros, room.x, p->x_row, p->x_cell};
    const winograd_images dy = {call->src[1], p->filters, room.zeros, room.dy, p->dy_row, p->dy_cell};
    bool finite = true;
    memset(room.zeros, 0, (size_t)most_channels(p) * sizeof(float));
    for (int64_t first = 0; first < p->grid.count; first += p->block) {
        const int64_t count = at_most(p->block, p->grid.count - first);
        winograd_transform_input(m, dtype, &p->grid, first, count, &x);
        winograd_transform_gradient(m, dtype, &p->grid, first, count, &dy);
        for (int64_t i = 0; i < count_panels(&p->cut); i++) {
            const packed_panel panel = panel_at(&p->cut, i);
            float *sums = room.sums + i % p->kept_panels * winograd_cells(m) * p->sums_cell;
            sum_cells(p, &room, &panel, count, first > 0, sums);
            if (first + count < p->grid.count) continue;
            finite = transform_sums(m, p, &panel, sums, call->dst) && finite;
        }
    }
    if (!finite) sum_directly(dtype, call);
}

static liana_status run_as(const liana__call *call, liana_dtype dtype)
{
    const winograd_plan p = plan_winograd(call->node);
    if (p.grid.m == 3) {
        run_winograd(3, dtype, call, &p);
    } else {
        run_winograd(4, dtype, call, &p);
    }
    return LIANA_OK;
}

static liana_status run(const liana__call *call)
{
    return vector_run_as(call, run_as);
}

static bool is_applicable(const liana__node *node, const char **reason)
{
    if (!vector_applicable(node, reason)) return false;
    *reason = "made for gradients of kernels";
    if (node->op != &liana__op_conv2d_kernel_gradient) return false;
    const liana__geometry g = liana__conv_geometry(node);
    *reason = "not a window of 3x3 without strides, dilations and groups";
    return winograd_is_window(&g);
}

static bool is_preferred(const liana__node *node, liana__isa isa, const char **reason)
{
    const winograd_plan p = plan_winograd(node);
    return winograd_preferred(&p.grid, p.channels, p.filters, node->inputs[0]->dtype, isa, reason);
}

static liana_status prepare(const liana__node *node, liana__prepared *prepared, liana__error *error)
{
    (void)error;
    const winograd_plan p = plan_winograd(node);
    prepared->scratch_size = winograd_scratch(&p);
    return LIANA_OK;
}

LIANA__VECTOR_KERNEL(conv2d_winograd_gradient, .applicable = is_applicable, .preferred = is_preferred,
                     .prepare = prepare, .run = run, .rounding = WINOGRAD_ROUNDING);
