/* Convolutions on oneDNN. */
#include "ops/conv/conv2d.h"
#include "kernels/applicable.h"
#include "kernels/onednn.h"
#include "kernels/widened.h"

static bool applicable_f32(const liana__node *node, const char **reason)
{
    return liana__applicable_f32(node, reason) && liana__applicable_countable(node, reason);
}

/* Whether a cell of the window is always in the padding, wherever the window is. */
static bool has_idle_cell(const liana__geometry *g, int axis)
{
    for (int64_t cell = 0; cell < g->window[axis]; cell++) {
        bool idle = true;
        for (int64_t out = 0; out < g->output[axis] && idle; out++) {
            idle = liana__window_source(g, axis, out, cell) < 0;
        }
        if (idle) return true;
    }
    return false;
}

/* oneDNN 2.6 leaves the bf16 gradient of idle cells undefined where there are strides. */
static bool applicable_bf16(const liana__node *node, const char **reason)
{
    if (!liana__applicable_bf16(node, reason) || !liana__applicable_countable(node, reason)) return false;
    if (node->op != &liana__op_conv2d_kernel_gradient) return true;
    const liana__geometry g = liana__conv_geometry(node);
    *reason = "strides, and cells of the window that see only padding";
    return (g.strides[0] == 1 && g.strides[1] == 1) || (!has_idle_cell(&g, 0) && !has_idle_cell(&g, 1));
}

static liana_status prepare_as(const liana__node *node, liana_dtype dtype, liana__prepared *prepared,
                               liana__error *error)
{
    const liana__geometry geometry = liana__conv_geometry(node);
    return liana__onednn_prepare_conv(liana__conv_pass_of(node), dtype, &geometry, prepared, error);
}

static liana_status cut_as(const liana__node *node, liana_dtype dtype, liana__prepared *prepared, liana__error *error)
{
    const liana__geometry geometry = liana__conv_geometry(node);
    return liana__onednn_cut_conv(liana__conv_pass_of(node), dtype, &geometry, prepared, error);
}

liana_status liana__conv_onednn_prepare(const liana__node *node, liana__prepared *prepared, liana__error *error)
{
    return prepare_as(node, node->inputs[0]->dtype, prepared, error);
}

static liana_status cut(const liana__node *node, liana__prepared *prepared, liana__error *error)
{
    return cut_as(node, node->inputs[0]->dtype, prepared, error);
}

/* On x86 oneDNN adds to the lanes of vectors, which makes several sums of a long one. Elsewhere it adds all pixels to
 * one float for an element of a kernel's gradient. */
#if defined(__x86_64__)
enum { ROUNDING = 1 };
#else
enum { ROUNDING = 2 };
#endif

const liana__kernel liana__conv2d_onednn = {
    .name = "onednn",
    .rounding = ROUNDING,
    .applicable = applicable_f32,
    .prepare = liana__conv_onednn_prepare,
    LIANA__ONEDNN_MEMBERS,
    .cut = cut,
};

const liana__kernel liana__conv2d_onednn_bf16 = {
    .name = "onednn_bf16",
    .isa = LIANA__ISA_AVX512_BF16,
    .applicable = applicable_bf16,
    .prepare = liana__conv_onednn_prepare,
    LIANA__ONEDNN_MEMBERS,
    .cut = cut,
};

static liana_status prepare_widened(const liana__node *node, liana__prepared *prepared, liana__error *error)
{
    liana__prepared plain = {0};
    LIANA_TRY(prepare_as(node, LIANA_F32, &plain, error));
    return liana__widened_prepare(node, &liana__conv2d_onednn, &plain, prepared, error);
}

static liana_status cut_widened(const liana__node *node, liana__prepared *prepared, liana__error *error)
{
    LIANA_TRY(cut_as(node, LIANA_F32, liana__widened_plain(prepared), error));
    liana__widened_use_cut(prepared, liana__onednn_find_part);
    return LIANA_OK;
}

const liana__kernel liana__conv2d_onednn_widened = {
    .name = "onednn_widened",
    .applicable = applicable_bf16,
    .prepare = prepare_widened,
    LIANA__WIDENED_MEMBERS,
    .cut = cut_widened,
};
