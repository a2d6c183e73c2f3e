/* Depthwise convolution, one for each channel, and its two gradients. */
#include "ops/conv/depthwise_conv2d.h"

#include "ops/conv/conv_op.h"
const liana__conv_family liana__depthwise_conv2d_family = {
    .forward = &liana__op_depthwise_conv2d,
    .input_gradient = &liana__op_depthwise_conv2d_input_gradient,
    .kernel_gradient = &liana__op_depthwise_conv2d_kernel_gradient,
    .depthwise = true,
    .kernel_layout = "[height, width, channels, multiplier]",
};

static const liana__kernel *const kernels[] = {LIANA__DEPTHWISE_KERNELS,
                                               &liana__depthwise_conv2d_onednn_bf16,
                                               LIANA__VECTOR_KERNELS(depthwise_conv2d_widened),
                                               &liana__depthwise_conv2d_plain,
                                               &liana__depthwise_conv2d_plain_widened,
                                               LIANA__REFERENCE(liana__conv_run_reference)};

LIANA__CONV_OPS(depthwise_conv2d, liana__depthwise_conv2d_family,
                "Cross-correlation of each channel of NHWC images with kernels of its own.", .product = NULL)

liana_tensor liana_op_depthwise_conv2d_at(liana_location here, liana_tensor x, liana_tensor kernel,
                                          liana_conv_options options)
{
    return liana__conv_build(here, &liana__op_depthwise_conv2d, x, kernel, &options);
}
