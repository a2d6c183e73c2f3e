/* Convolutions on oneDNN. */
#include "ops/conv2d.h"
#include "kernels/onednn.h"
#include "ops/applicable.h"

static bool applicable(const liana__node *node, const char **reason)
{
    if (!liana__applicable_f32(node, reason)) return false;
    /* oneDNN's kernels count with 32 bits. */
    const liana_shape *shapes[] = {liana__input_shape(node, 0), liana__input_shape(node, 1), &node->shape};
    for (int i = 0; i < 3; i++) {
        if (liana_shape_size(shapes[i]) <= INT32_MAX) continue;
        *reason = "a tensor has 2^31 elements or more";
        return false;
    }
    return true;
}

static liana_status prepare(const liana__node *node, liana__prepared *prepared, liana__error *error)
{
    const liana__geometry geometry = liana__conv2d_geometry(node);
    return liana__onednn_prepare_conv(liana__conv_pass_of(&liana__conv2d_family, node), &geometry, prepared, error);
}

const liana__kernel liana__conv2d_onednn = {
    .name = "onednn",
    .applicable = applicable,
    .prepare = prepare,
    .release = liana__onednn_release,
    .run = liana__onednn_run,
};
