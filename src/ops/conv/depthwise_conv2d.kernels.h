/* depthwise_conv2d.kernels.h - depthwise convolutions with multiplier 1, for one instruction set: f32; in files of
 * their own bf16, which is widened when it is loaded; and bf16 by way of f32 for windows without tiles. */
#include "base/memory.h"
#include "kernels/applicable.h"
#include "kernels/vector_kernels.h"
#include "kernels/widened.h"
#include "ops/conv/depthwise_conv2d.moments.kernels.h"
#if !defined(LIANA__DOTS)
#include "ops/conv/depthwise_conv2d.strided.kernels.h"
#endif
#if !defined(__AVX512BF16__)
#include "ops/conv/depthwise_conv2d.kernel_gradient.kernels.h"
#endif

/* Whether the tiles know this window. */
static bool has_tiles(const liana__geometry *g)
{
    bool window = g->window[1] == 3 || g->window[1] == 5 || g->window[1] == 7;
    return window && g->dilations[0] == 1 && g->dilations[1] == 1 && g->strides[1] <= 2;
}

/* Whether channels fill the vectors, each with its own filter. */
static bool has_vectors(const liana__geometry *g, const char **reason)
{
    if (g->filters != g->channels) *reason = "the multiplier is not 1";
    if (g->channels < VECTOR_LENGTH) *reason = "fewer channels than a vector has";
    return g->filters == g->channels && g->channels >= VECTOR_LENGTH;
}

static size_t scratch_size_of(const liana__node *node)
{
    const liana__geometry g = liana__conv_geometry(node);
    if (node->op == &liana__op_depthwise_conv2d) return moments_size(&g);
#if !defined(__AVX512BF16__)
    if (node->op == &liana__op_depthwise_conv2d_kernel_gradient) {
        return (size_t)count_slots(&g) * (sizeof(double) + sizeof(float));
    }
#endif
    return 0;
}

/* Where tiles overlap, pixels would count twice. */
static bool gives_statistics(const liana__node *node, const liana__node *reader)
{
    if (node->op != &liana__op_depthwise_conv2d || !liana__batch_norm_is_part_of_statistics(reader)) return false;
    const liana__geometry g = liana__conv_geometry(node);
    return has_tiles(&g) && g.output[1] % choose_tile(g.output[1], MAX_TILE) == 0;
}

static liana_status prepare(const liana__node *node, liana__prepared *prepared, liana__error *error)
{
    (void)error;
    prepared->scratch_size = scratch_size_of(node);
    return LIANA_OK;
}

/* By rows of images, where they are little larger than the least bytes of a thread's tile: for a window of 3x3, 128
 * KiB. */
enum { LEAST_TILE_BYTES = 128 << 10 };

static liana_status cut(const liana__node *node, liana__prepared *prepared, liana__error *error)
{
    (void)error;
    const liana__geometry g = liana__conv_geometry(node);
    if (!has_tiles(&g) || node->op == &liana__op_depthwise_conv2d_kernel_gradient) return LIANA_OK;
    const double bytes = (double)liana__byte_size(node->dtype, &node->shape) +
                         (double)liana__byte_size(node->inputs[0]->dtype, liana__input_shape(node, 0));
    const double taps = (double)(g.window[0] * g.window[1]);
    const int64_t rows = node->shape.dims[0] * node->shape.dims[1];
    prepared->num_tiles = (size_t)liana__count_tiles(bytes * taps / 9, LEAST_TILE_BYTES, rows / 2);
    return LIANA_OK;
}

#if !defined(LIANA__DOTS)

static void run_tiles(const liana__geometry *g, liana__conv_pass pass, const liana__call *call,
                      add_moments_function *add)
{
    switch (pass) {
    case LIANA__CONV_FORWARD: run_forward(g, call, add); break;
    case LIANA__CONV_INPUT_GRADIENT:
        g->strides[1] == 1 ? run_input_gradient(g, call) : run_strided_input_gradient(g, call);
        break;
    case LIANA__CONV_KERNEL_GRADIENT:
#if !defined(__AVX512BF16__)
        run_kernel_gradient(g, call);
#endif
        break;
    }
}

#endif

#if defined(LIANA__STORES_BF16)

/* Sums are f32's in any case; statistics are dot products where those are fast. */
static bool is_preferred(const liana__node *node, liana__isa isa, const char **reason)
{
    (void)node;
#if defined(LIANA__DOTS)
    *reason = "dot products are slow on processors with tiles";
    return isa == LIANA__ISA_AVX512_BF16;
#elif LIANA_VECTOR_BYTES == 32
    *reason = "made for processors without AVX-512";
    return isa == LIANA__ISA_AVX2;
#else
    (void)isa;
    (void)reason;
    return true;
#endif
}

static bool is_applicable(const liana__node *node, const char **reason)
{
    if (!liana__applicable_bf16(node, reason)) return false;
#if defined(__AVX512BF16__)
    *reason = "rounds nothing to bf16, as widened_avx512 does";
    if (node->op == &liana__op_depthwise_conv2d_kernel_gradient) return false;
#endif
    const liana__geometry g = liana__conv_geometry(node);
    if (!has_tiles(&g)) *reason = "the window is not 3, 5 or 7 wide, undilated, of stride 1 or 2";
    return has_tiles(&g) && has_vectors(&g, reason);
}

#if defined(__AVX512BF16__) && !defined(LIANA__DOTS)
void liana__depthwise_conv2d_run_bf16(const liana__call *call, add_moments_function *add)
{
    const liana__geometry g = liana__conv_geometry(call->node);
    run_tiles(&g, liana__conv_pass_of(call->node), call, add);
}
#endif

static liana_status run(const liana__call *call)
{
#if defined(__AVX512BF16__)
    liana__depthwise_conv2d_run_bf16(call, add_moments);
#else
    const liana__geometry g = liana__conv_geometry(call->node);
    run_tiles(&g, liana__conv_pass_of(call->node), call, add_moments);
#endif
    return LIANA_OK;
}

#else

#include "ops/conv/depthwise_conv2d.lines.kernels.h"

static bool is_computable(const liana__node *node, const char **reason)
{
    const liana__geometry g = liana__conv_geometry(node);
    bool window = has_tiles(&g) || g.window[0] * g.window[1] <= MAX_TAPS;
    if (!window) *reason = "the window has more than 121 cells";
    if (liana__has_epilogue(node) && !has_tiles(&g)) {
        *reason = "the window is not 3, 5 or 7 wide, undilated, of stride 1 or 2";
        return false;
    }
    return window && has_vectors(&g, reason);
}

static bool is_applicable(const liana__node *node, const char **reason)
{
    return liana__applicable_f32(node, reason) && is_computable(node, reason);
}

static bool is_widened_applicable(const liana__node *node, const char **reason)
{
    return liana__applicable_bf16(node, reason) && is_computable(node, reason);
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
    const liana__geometry g = liana__conv_geometry(call->node);
    liana__conv_pass pass = liana__conv_pass_of(call->node);
    has_tiles(&g) ? run_tiles(&g, pass, call, add_moments) : run_lines(&g, pass, call);
    return LIANA_OK;
}

static liana_status prepare_widened(const liana__node *node, liana__prepared *prepared, liana__error *error)
{
    const liana__prepared plain = {.scratch_size = scratch_size_of(node)};
    return liana__widened_prepare(node, &(liana__kernel){.run = run}, &plain, prepared, error);
}

LIANA__VECTOR_KERNEL(depthwise_conv2d_widened, .applicable = is_widened_applicable, .prepare = prepare_widened,
                     .pack = liana__widened_pack, .release = liana__widened_release, .run = liana__widened_run);

static bool is_preferred(const liana__node *node, liana__isa isa, const char **reason)
{
    (void)node;
    (void)isa;
    (void)reason;
    return true;
}

#endif

LIANA__VECTOR_KERNEL(depthwise_conv2d, .applicable = is_applicable, .preferred = is_preferred, .prepare = prepare,
                     .run = run, .cut = cut, .gives_companion = gives_statistics);
