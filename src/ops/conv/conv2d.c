/* Convolution (cross-correlation) of images with a kernel, and its two gradients. */
#include "ops/conv/conv2d.h"

#include "ops/conv/conv_op.h"
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

LIANA__CONV_OPS(conv2d, liana__conv2d_family, "Cross-correlation of NHWC images with an HWIO kernel.",
                .product = liana__conv_product)

liana_tensor liana_op_conv2d_at(liana_location here, liana_tensor x, liana_tensor kernel, liana_conv_options options)
{
    return liana__conv_build(here, &liana__op_conv2d, x, kernel, &options);
}
