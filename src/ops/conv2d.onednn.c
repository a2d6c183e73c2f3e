/* Convolutions on oneDNN. */
#include "ops/conv2d.h"
#include "kernels/onednn.h"

static bool applicable(const liana__node *node, const char **reason)
{
    if (node->dtype != LIANA_F32) {
        *reason = "dtype is not f32";
        return false;
    }
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
    liana__conv_pass pass = LIANA__CONV_FORWARD;
    if (node->op == &liana__op_conv2d_input_gradient) pass = LIANA__CONV_INPUT_GRADIENT;
    if (node->op == &liana__op_conv2d_kernel_gradient) pass = LIANA__CONV_KERNEL_GRADIENT;
    return liana__onednn_prepare_conv(pass, &geometry, prepared, error);
}

const liana__kernel liana__conv2d_onednn = {
    .name = "onednn",
    .applicable = applicable,
    .prepare = prepare,
    .release = liana__onednn_release,
    .run = liana__onednn_run,
};
