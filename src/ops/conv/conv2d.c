/* Convolution (cross-correlation) of images with a kernel, and its two gradients. */
#include "ops/conv/conv2d.h"

#include "ops/linear/product_kernels.h"

const liana__conv_family liana__conv2d_family = {
    .forward = &liana__op_conv2d,
    .input_gradient = &liana__op_conv2d_input_gradient,
    .kernel_gradient = &liana__op_conv2d_kernel_gradient,
    .kernel_layout = "[height, width, channels / groups, filters]",
};

static const liana__kernel *const kernels[] = {
#if defined(LIANA_X86)
    &liana__product_amx,
    &liana__product_avx512_bf16,
    &liana__product_of_bf16_avx512_bf16_storage,
    &liana__product_of_bf16_avx512,
    &liana__product_of_bf16_avx2,
    &liana__product_avx512,
    &liana__product_avx2,
    &liana__conv2d_window_amx,
    &liana__conv2d_winograd_gradient_avx512,
    &liana__conv2d_winograd_gradient_avx2,
    &liana__conv2d_kernel_gradient_avx512_bf16,
    &liana__conv2d_kernel_gradient_of_bf16_avx512,
    &liana__conv2d_kernel_gradient_of_bf16_avx2,
    &liana__conv2d_kernel_gradient_avx512,
    &liana__conv2d_kernel_gradient_avx2,
    &liana__conv2d_winograd_avx512,
    &liana__conv2d_winograd_avx2,
#endif
    &liana__conv2d_onednn_bf16,
    LIANA__VECTOR_KERNELS(conv2d_few_channels),
    &liana__conv2d_onednn,
    &liana__conv2d_onednn_widened,
    LIANA__REFERENCE(liana__conv_run_reference)};

const liana__op liana__op_conv2d = {
    .name = "conv2d",
    .doc = "Cross-correlation of NHWC images with an HWIO kernel.",
    .attributes = &liana__conv_fields,
    .num_inputs = 2,
    .infer = liana__conv_infer_forward,
    .gradient = liana__conv_forward_gradient,
    .with_epilogue = &liana__op_conv2d_affine,
    .precision = LIANA__MULTIPLIES,
    .cost = liana__conv_cost,
    .parts = liana__parts_first_input,
    .lower = liana__conv_lower,
    .kernels = kernels,
    .product = liana__conv_product,
    .details = &liana__conv2d_family,
};

const liana__op liana__op_conv2d_input_gradient = {
    .name = "conv2d_input_gradient",
    .doc = "The gradient of conv2d with respect to its images, from dy and the kernel.",
    .attributes = &liana__conv_gradient_fields,
    .num_inputs = 2,
    .infer = liana__conv_infer_input_gradient,
    .gradient = liana__conv_input_gradient_gradient,
    .precision = LIANA__MULTIPLIES,
    .cost = liana__conv_cost,
    .parts = liana__parts_first_input,
    .lower = liana__conv_lower,
    .kernels = kernels,
    .product = liana__conv_product,
    .details = &liana__conv2d_family,
};

const liana__op liana__op_conv2d_kernel_gradient = {
    .name = "conv2d_kernel_gradient",
    .doc = "The gradient of conv2d with respect to its kernel, from the images and dy.",
    .attributes = &liana__conv_gradient_fields,
    .num_inputs = 2,
    .infer = liana__conv_infer_kernel_gradient,
    .gradient = liana__conv_kernel_gradient_gradient,
    .precision = LIANA__MULTIPLIES_AND_SUMS,
    .cost = liana__conv_cost,
    .parts = liana__conv_kernel_gradient_parts,
    .lower = liana__conv_lower,
    .kernels = kernels,
    .product = liana__conv_product,
    .details = &liana__conv2d_family,
};

liana_tensor liana_op_conv2d_at(liana_location here, liana_tensor x, liana_tensor kernel, liana_conv_options options)
{
    return liana__conv_build(here, &liana__op_conv2d, x, kernel, &options);
}
