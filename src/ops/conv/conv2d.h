/* conv2d.h - the kernels of dense convolutions. */
#ifndef LIANA_OPS_CONV2D_H
#define LIANA_OPS_CONV2D_H

#include "kernels/vector_kernels.h"
#include "ops/conv/convolution.h"

/* f32; bf16 if the processor has instructions for it; bf16 computed in f32 elsewhere. */
extern const liana__kernel liana__conv2d_onednn, liana__conv2d_onednn_bf16, liana__conv2d_onednn_widened;

/* For at most four channels: bf16 forward; f32 or bf16 for the gradient of the kernel. */
LIANA__DECLARE_VECTOR_KERNELS(conv2d_few_channels);
/* Gradients of kernels: windows without strides; single pixels with or without strides. */
LIANA__DECLARE_VECTOR_KERNELS(conv2d_kernel_gradient);
/* Winograd's algorithm for windows of 3x3: forward, gradient of the images, gradient of the kernel. */
LIANA__DECLARE_VECTOR_KERNELS(conv2d_winograd);
LIANA__DECLARE_VECTOR_KERNELS(conv2d_winograd_gradient);
/* Windows without strides on tiles of AMX: forward, gradient of the images, gradient of the kernel. */
LIANA__DECLARE_VECTOR_KERNELS(conv2d_window);

#endif
