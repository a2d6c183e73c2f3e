/* conv2d.h - what convolutions, their gradients and their kernels share. */
#ifndef LIANA_OPS_CONV2D_H
#define LIANA_OPS_CONV2D_H

#include "kernels/epilogue.h"
#include "kernels/vector_kernels.h"
#include "ops/conv/window.h"

typedef struct liana__conv_attributes {
    liana__window window;
    int64_t groups;  /* 0 means 1; always 1 for depthwise convolutions */
    int64_t size[2]; /* of the gradients' results: the input's, or the kernel's, height and width */
    int activation;  /* for gradients: height and width of the result, which is like the input or the kernel */
} liana__conv_attributes;

/* The attributes of the three ops of a family. The last row, `size`, is only for the two gradients. */
extern const liana__fields liana__conv_fields;
extern const liana__fields liana__conv_gradient_fields;

/* A family (dense or depthwise) is three ops. Each is linear in the results of the other two, so the three build each
 * other's gradients, of any order. Kernel gradients are sums over many pixels; they are wide: f32 for bf16 images. */
typedef struct liana__conv_family {
    const liana__op *forward;         /* y from x and kernel */
    const liana__op *input_gradient;  /* dx from dy and kernel */
    const liana__op *kernel_gradient; /* dkernel (wide) from x and dy */
} liana__conv_family;
extern const liana__conv_family liana__conv2d_family;
extern const liana__conv_family liana__depthwise_conv2d_family;

static inline int liana__conv_activation_of(const liana__node *node)
{
    return ((const liana__conv_attributes *)node->attributes)->activation;
}

/* The `gradient` functions of the nodes, and the attributes for a user's options. */
void liana__conv_forward_gradient(const liana__conv_family *family, liana__gradient *gradient);
void liana__conv_input_gradient_gradient(const liana__conv_family *family, liana__gradient *gradient);
void liana__conv_kernel_gradient_gradient(const liana__conv_family *family, liana__gradient *gradient);
liana__conv_attributes liana__conv_attributes_of(const liana_conv_options *options);

/* Checks the two inputs of any of the six ops: images and kernels have rank 4 and one float dtype, which becomes the
 * result's (wide for kernel gradients). `second` is the layout of input 1. */
liana_status liana__conv_infer_inputs(liana__infer *infer, const char *first, const char *second);

/* Checks that dy has the type of the forward op's result. `expected` is [batch, height, width, filters]. */
liana_status liana__conv_check_output(liana__infer *infer, const liana_shape *dy, const liana_shape *expected);

/* Which of the three ops of a family a node is. */
liana__conv_pass liana__conv_pass_of(const liana__conv_family *family, const liana__node *node);

/* The sizes of the convolution to which a node of one of the three dense ops belongs. */
liana__geometry liana__conv2d_geometry(const liana__node *node);
/* The same for depthwise ops, seen as a dense convolution with one group for each channel. */
liana__geometry liana__depthwise_conv2d_geometry(const liana__node *node);

/* Plain loops for all six ops. In memory, a depthwise kernel [height, width, channels, multiplier] is like the dense
 * one of its grouped convolution, [height, width, 1, channels * multiplier]. */
liana_status liana__conv_run_reference(const liana__call *call, liana__conv_pass pass, const liana__geometry *geometry);
/* The forward pass that finishes each sum before storing it; `element` is its place in the result. */
liana_status liana__conv_run_finished_reference(const liana__call *call, const liana__geometry *geometry,
                                                double (*finish)(const liana__call *call, int64_t element, double sum));

/* The cost of a node of any of the six: two operations for each cell of the window and output. The variant is the
 * window's size. */
void liana__conv_cost(const liana__geometry *geometry, liana__cost *cost);

/* f32; bf16 if the processor has instructions for it; bf16 computed in f32 elsewhere. */
extern const liana__kernel liana__conv2d_onednn, liana__conv2d_onednn_bf16, liana__conv2d_onednn_widened;

/* The gradient of a kernel is a sum over the images, dense or depthwise. */
liana__parts liana__conv_kernel_gradient_parts(const liana__node *node);
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
