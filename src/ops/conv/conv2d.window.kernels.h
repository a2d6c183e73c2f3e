/* conv2d.window.kernels.h - windows without strides on tiles: forward, and the gradients for the images and for the
 * kernel. */
#define LIANA__VECTOR_KERNEL_PREFIX "window_"

#include "kernels/amx_window.h"
#include "kernels/amx_window_gradient.h"
#include "kernels/applicable.h"
#include "kernels/vector_epilogue.h"
#include "kernels/vector_kernels.h"
#include "ops/conv/conv2d.h"

static window_plan plan_of(const liana__node *node)
{
    const liana__geometry g = liana__conv_geometry(node);
    return plan_window(&g, liana__conv_pass_of(node) == LIANA__CONV_INPUT_GRADIENT);
}

static bool is_kernel_gradient(const liana__node *node)
{
    return liana__conv_pass_of(node) == LIANA__CONV_KERNEL_GRADIENT;
}

static bool is_applicable(const liana__node *node, const char **reason)
{
    if (!liana__applicable_bf16(node, reason) || !liana__applicable_countable(node, reason)) return false;
    const liana__geometry g = liana__conv_geometry(node);
    *reason = "groups, a single pixel, or images of nothing";
    if (g.groups != 1 || g.window[0] * g.window[1] == 1 || g.batch * g.channels * g.filters == 0) return false;
    for (int i = 0; i < 2; i++) {
        *reason = "strides or dilations";
        if (g.strides[i] != 1 || g.dilations[i] != 1) return false;
        *reason = "padding as wide as the window";
        if (g.padding_low[i] < 0 || g.padding_low[i] >= g.window[i]) return false;
        if (g.padding_high[i] < 0 || g.padding_high[i] >= g.window[i]) return false;
        *reason = "images of nothing";
        if (g.input[i] < 1 || g.output[i] < 1) return false;
    }
    return true;
}

/* A gradient's sum runs over the gaps of zeros too: where they are more than a tenth, Winograd's fewer products in f32
 * are faster. */
static bool prefers_gradient(const liana__geometry *g, const char **reason)
{
    *reason = "too few channels or filters for tiles";
    if (g->channels < SIDE || g->filters < SIDE) return false;
    if (g->window[0] != 3 || g->window[1] != 3) return true;
    const window_grid w = plan_window_grid(g);
    *reason = "too little of its sums lies in the images";
    return 10 * g->batch * g->output[0] * g->output[1] >= 9 * w.count;
}

/* As bench_products measures it on an Intel with AMX (bench/products.md). */
static bool is_preferred(const liana__node *node, liana__isa isa, const char **reason)
{
    (void)isa;
    const liana__geometry g = liana__conv_geometry(node);
    if (is_kernel_gradient(node)) return prefers_gradient(&g, reason);
    const window_plan p = plan_of(node);
    *reason = "too few channels or filters for tiles";
    if (p.depth < STEP_ELEMENTS || p.columns < SIDE) return false;
    *reason = "oneDNN is faster forward, where nothing follows";
    return p.turned || liana__has_epilogue(node);
}

static liana_status prepare(const liana__node *node, liana__prepared *prepared, liana__error *error)
{
    (void)error;
    if (is_kernel_gradient(node)) {
        const liana__geometry g = liana__conv_geometry(node);
        const window_grid w = plan_window_grid(&g);
        prepared->scratch_size = window_gradient_scratch(&w);
        return LIANA_OK;
    }
    const window_plan p = plan_of(node);
    prepared->packed_size = window_packed_size(&p);
    prepared->packed_input = 1;
    prepared->scratch_size = prepared->packed_size + (size_t)window_room_size(&p) * sizeof(tile_element);
    return LIANA_OK;
}

static liana_status pack(const liana__call *call, void *packed)
{
    const window_plan p = plan_of(call->node);
    pack_window(&p, call->src[1], packed);
    return LIANA_OK;
}

/* Tiles for several threads are lines of the result. With fewer operations than this they cost more than they gain. */
enum { LEAST_LINES_FLOPS = 8 << 20 };

static liana_status cut(const liana__node *node, liana__prepared *prepared, liana__error *error)
{
    (void)error;
    if (is_kernel_gradient(node)) return LIANA_OK;
    const window_plan p = plan_of(node);
    const int64_t pixels = p.batch * p.output[0] * p.output[1];
    const double flops = 2 * (double)pixels * (double)p.columns * (double)(window_steps(&p) * STEP_ELEMENTS);
    prepared->num_tiles = (size_t)liana__count_tiles(flops, LEAST_LINES_FLOPS, p.batch * p.output[0]);
    return LIANA_OK;
}

static void run_window(const liana__call *call)
{
    const window_plan p = plan_of(call->node);
    if (!call->packed) pack_window(&p, call->src[1], call->scratch);
    product_target target = {.data = call->dst, .stride = p.columns};
    epilogue after;
    if (liana__has_epilogue(call->node)) {
        after = epilogue_of(call, p.columns, liana__conv_activation_of(call->node));
        target.after = &after;
        if (call->node->num_inputs > LIANA__RESIDUAL_INPUT) target.residual = call->src[LIANA__RESIDUAL_INPUT];
    }
    const int64_t lines = p.batch * p.output[0], tiles = call->num_tiles > 1 ? (int64_t)call->num_tiles : 1;
    const int64_t tile = tiles > 1 ? (int64_t)call->tile : 0;
    convolve_window(&p, call->src[0], call->packed ? call->packed : call->scratch, lines * tile / tiles,
                    lines * (tile + 1) / tiles, &target,
                    (tile_element *)((char *)call->scratch + window_packed_size(&p)));
}

static liana_status run(const liana__call *call)
{
    if (is_kernel_gradient(call->node)) {
        const liana__geometry g = liana__conv_geometry(call->node);
        const window_grid w = plan_window_grid(&g);
        multiply_window_gradient(&w, call->src[0], call->src[1], call->dst, call->scratch);
    } else {
        run_window(call);
    }
    return LIANA_OK;
}

LIANA__VECTOR_KERNEL(conv2d_window, .applicable = is_applicable, .preferred = is_preferred, .prepare = prepare,
                     .run = run, .pack = pack, .cut = cut);
