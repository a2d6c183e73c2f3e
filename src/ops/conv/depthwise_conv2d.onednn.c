/* Depthwise convolutions of bf16 on oneDNN, for channels that fill no vector of liana's kernels. */
#include "ops/conv/depthwise_conv2d.h"
#include "kernels/applicable.h"
#include "kernels/onednn.h"

/* The cases for which oneDNN 2.6 has kernels of its own. It computes all others, above all kernel gradients of larger
 * windows, in slow general kernels. */
static bool is_applicable(const liana__node *node, const char **reason)
{
    if (!liana__applicable_bf16(node, reason)) return false;
    const liana__geometry g = liana__conv_geometry(node);
    *reason = "the multiplier is not 1";
    if (g.filters != g.channels || g.channels == 1) return false;
    *reason = "the window is not 3x3, undilated, of stride 1 or 2";
    for (int i = 0; i < 2; i++) {
        if (g.window[i] != 3 || g.dilations[i] != 1 || g.strides[i] > 2) return false;
        if (g.padding_low[i] > 1 || g.padding_high[i] > 1) return false;
    }
    return liana__applicable_countable(node, reason);
}

const liana__kernel liana__depthwise_conv2d_onednn_bf16 = {
    .name = "onednn_bf16",
    .isa = LIANA__ISA_AVX512_BF16,
    .applicable = is_applicable,
    .prepare = liana__conv_onednn_prepare,
    LIANA__ONEDNN_MEMBERS,
};
