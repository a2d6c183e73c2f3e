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

liana_tensor liana_op_conv2d_transpose_at(liana_location here, liana_tensor x, liana_tensor kernel,
                                          const int64_t size[2], liana_conv_options options)
{
    liana__conv_attributes attributes = {
        .window = liana__window_of(options.strides, options.padding, options.explicit_padding, options.dilations),
        .groups = options.groups,
        .size = {size[0], size[1]},
    };
    return liana__build2(here, &liana__op_conv2d_input_gradient, x, kernel, &attributes);
}

/* As images of height 1. */
liana_tensor liana_op_conv1d_at(liana_location here, liana_tensor x, liana_tensor kernel, liana_conv_options_1d options)
{
    liana_shape of_x = liana_tensor_shape(x), of_kernel = liana_tensor_shape(kernel);
    if (x.graph && x.graph->status == LIANA_OK && (of_x.rank != 3 || of_kernel.rank != 3)) {
        return liana__graph_fail(x.graph, here, LIANA_INVALID_ARGUMENT,
                                 "conv1d: x is %s and the kernel %s, expected [batch, steps, channels] and [steps, "
                                 "channels / groups, filters]",
                                 liana__shape_print(&of_x).text, liana__shape_print(&of_kernel).text);
    }
    const int64_t *a = of_x.dims, *k = of_kernel.dims, *padding = options.explicit_padding;
    x = liana_op_reshape_at(here, x, liana_shape_of(a[0], 1, a[1], a[2]));
    kernel = liana_op_reshape_at(here, kernel, liana_shape_of(1, k[0], k[1], k[2]));
    x = liana_op_conv2d_at(here, x, kernel,
                           (liana_conv_options){.strides = {1, options.stride},
                                                .padding = options.padding,
                                                .explicit_padding = {0, 0, padding[0], padding[1]},
                                                .dilations = {1, options.dilation},
                                                .groups = options.groups});
    const liana_shape made = liana_tensor_shape(x);
    return liana_op_reshape_at(here, x, liana_shape_of(made.dims[0], made.dims[2], made.dims[3]));
}
