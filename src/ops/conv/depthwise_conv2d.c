/* Depthwise convolution, one for each channel, and its two gradients. */
#include "ops/conv/depthwise_conv2d.h"

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

const liana__op liana__op_depthwise_conv2d = {
    .name = "depthwise_conv2d",
    .doc = "Cross-correlation of each channel of NHWC images with kernels of its own.",
    .attributes = &liana__conv_fields,
    .num_inputs = 2,
    .infer = liana__conv_infer_forward,
    .gradient = liana__conv_forward_gradient,
    .with_epilogue = &liana__op_depthwise_conv2d_affine,
    .precision = LIANA__MULTIPLIES,
    .cost = liana__conv_cost,
    .parts = liana__parts_first_input,
    .lower = liana__conv_lower,
    .kernels = kernels,
    .details = &liana__depthwise_conv2d_family,
};

const liana__op liana__op_depthwise_conv2d_input_gradient = {
    .name = "depthwise_conv2d_input_gradient",
    .doc = "The gradient of depthwise_conv2d with respect to its images, from dy and the kernel.",
    .attributes = &liana__conv_gradient_fields,
    .num_inputs = 2,
    .infer = liana__conv_infer_input_gradient,
    .gradient = liana__conv_input_gradient_gradient,
    .precision = LIANA__MULTIPLIES,
    .cost = liana__conv_cost,
    .parts = liana__parts_first_input,
    .lower = liana__conv_lower,
    .kernels = kernels,
    .details = &liana__depthwise_conv2d_family,
};

const liana__op liana__op_depthwise_conv2d_kernel_gradient = {
    .name = "depthwise_conv2d_kernel_gradient",
    .doc = "The gradient of depthwise_conv2d with respect to its kernel, from the images and dy.",
    .attributes = &liana__conv_gradient_fields,
    .num_inputs = 2,
    .infer = liana__conv_infer_kernel_gradient,
    .gradient = liana__conv_kernel_gradient_gradient,
    .precision = LIANA__MULTIPLIES_AND_SUMS,
    .cost = liana__conv_cost,
    .parts = liana__conv_kernel_gradient_parts,
    .lower = liana__conv_lower,
    .kernels = kernels,
    .details = &liana__depthwise_conv2d_family,
};

liana_tensor liana_op_depthwise_conv2d_at(liana_location here, liana_tensor x, liana_tensor kernel,
                                          liana_conv_options options)
{
    return liana__conv_build(here, &liana__op_depthwise_conv2d, x, kernel, &options);
}
