/* depthwise_conv2d.kernels.h - depthwise convolutions of floats with multiplier 1, for one instruction set. */
#include "base/memory.h"
#include "kernels/vector_kernels.h"
#include "ops/applicable.h"
#include "ops/depthwise_kernel_gradient.kernels.h"
#include "ops/depthwise_lines.kernels.h"
#include "ops/depthwise_strided.kernels.h"

static bool is_applicable(const liana__node *node, const char **reason)
{
    if (!liana__applicable_f32(node, reason)) return false;
    const liana__geometry g = liana__depthwise_conv2d_geometry(node);
    if (g.filters != g.channels) *reason = "the multiplier is not 1";
    if (g.channels < VECTOR_LENGTH) *reason = "fewer channels than a vector has";
    if (g.window[0] * g.window[1] > MAX_TAPS) *reason = "the window has more than 121 cells";
    return g.filters == g.channels && g.channels >= VECTOR_LENGTH && g.window[0] * g.window[1] <= MAX_TAPS;
}

static liana_status prepare(const liana__node *node, liana__prepared *prepared, liana__error *error)
{
    (void)error;
    if (node->op != &liana__op_depthwise_conv2d_kernel_gradient) return LIANA_OK;
    const liana__geometry g = liana__depthwise_conv2d_geometry(node);
    prepared->scratch_size = (size_t)count_slots(&g) * (sizeof(double) + sizeof(float));
    return LIANA_OK;
}

/* Whether the tiles know this window. */
static bool has_tiles(const liana__geometry *g)
{
    bool window = g->window[1] == 3 || g->window[1] == 5 || g->window[1] == 7;
    return window && g->dilations[0] == 1 && g->dilations[1] == 1 && g->strides[1] <= 2;
}

static void run_tiles(const liana__geometry *g, liana__conv_pass pass, const liana__call *call)
{
    switch (pass) {
    case LIANA__CONV_FORWARD: run_forward(g, call); break;
    case LIANA__CONV_INPUT_GRADIENT:
        g->strides[1] == 1 ? run_input_gradient(g, call) : run_strided_input_gradient(g, call);
        break;
    case LIANA__CONV_KERNEL_GRADIENT: run_kernel_gradient(g, call); break;
    }
}

static void run_lines(const liana__geometry *g, liana__conv_pass pass, const liana__call *call)
{
    switch (pass) {
    case LIANA__CONV_FORWARD: run_forward_lines(g, call); break;
    case LIANA__CONV_INPUT_GRADIENT: run_input_gradient_lines(g, call); break;
    case LIANA__CONV_KERNEL_GRADIENT: run_kernel_gradient_lines(g, call); break;
    }
}

static liana_status run(const liana__call *call)
{
    const liana__geometry g = liana__depthwise_conv2d_geometry(call->node);
    liana__conv_pass pass = liana__conv_pass_of(&liana__depthwise_conv2d_family, call->node);
    has_tiles(&g) ? run_tiles(&g, pass, call) : run_lines(&g, pass, call);
    return LIANA_OK;
}

LIANA__VECTOR_KERNEL(depthwise_conv2d, .applicable = is_applicable, .prepare = prepare, .run = run);
