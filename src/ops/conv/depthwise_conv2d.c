/* Depthwise convolution, one for each channel, and its two gradients. */
#include "ops/conv/depthwise_conv2d.h"

#include "ops/conv/conv2d.stablehlo.h"

static const char images[] = "[batch, height, width, channels]";
static const char kernel_layout[] = "[height, width, channels, multiplier]";

/* ---- shapes ---- */

/* The result of the convolution of `x` with `kernel`. */
static liana_status infer_output(liana__infer *infer, const liana_shape *x, const liana_shape *kernel, liana_shape *y)
{
    liana__conv_attributes *attributes = infer->attributes;
    if (attributes->groups == 0) attributes->groups = 1;
    if (attributes->groups != 1) {
        return liana__infer_fail(infer,
                                 "groups is %lld, expected 0 or 1: a depthwise convolution has a group for each "
                                 "channel",
                                 (long long)attributes->groups);
    }
    if (kernel->dims[2] != x->dims[3]) {
        return liana__infer_fail(infer, "kernel expects %lld input channels, x has %lld", (long long)kernel->dims[2],
                                 (long long)x->dims[3]);
    }
    *y = liana_shape_of(x->dims[0], 0, 0, kernel->dims[2] * kernel->dims[3]);
    return liana__window_resolve(infer, &attributes->window, &x->dims[1], &kernel->dims[0], &y->dims[1]);
}

static liana_status infer_forward(liana__infer *infer)
{
    LIANA_TRY(liana__conv_infer_inputs(infer, images, kernel_layout));
    return infer_output(infer, &infer->inputs[0]->shape, &infer->inputs[1]->shape, &infer->shape);
}

static liana_status infer_input_gradient(liana__infer *infer)
{
    const liana__conv_attributes *attributes = infer->attributes;
    LIANA_TRY(liana__conv_infer_inputs(infer, images, kernel_layout));
    const liana_shape *dy = &infer->inputs[0]->shape, *kernel = &infer->inputs[1]->shape;
    infer->shape = liana_shape_of(dy->dims[0], attributes->size[0], attributes->size[1], kernel->dims[2]);
    liana_shape expected;
    LIANA_TRY(infer_output(infer, &infer->shape, kernel, &expected));
    return liana__conv_check_output(infer, dy, &expected);
}

static liana_status infer_kernel_gradient(liana__infer *infer)
{
    const liana__conv_attributes *attributes = infer->attributes;
    LIANA_TRY(liana__conv_infer_inputs(infer, images, images));
    infer->dtype = liana__wide_dtype(infer->dtype);
    const liana_shape *x = &infer->inputs[0]->shape, *dy = &infer->inputs[1]->shape;
    infer->shape = liana_shape_of(attributes->size[0], attributes->size[1], x->dims[3], dy->dims[3] / x->dims[3]);
    liana_shape expected;
    LIANA_TRY(infer_output(infer, x, &infer->shape, &expected));
    return liana__conv_check_output(infer, dy, &expected);
}

/* ---- the ops ---- */

const liana__conv_family liana__depthwise_conv2d_family = {
    .forward = &liana__op_depthwise_conv2d,
    .input_gradient = &liana__op_depthwise_conv2d_input_gradient,
    .kernel_gradient = &liana__op_depthwise_conv2d_kernel_gradient,
};

static void forward_gradient(liana__gradient *gradient)
{
    liana__conv_forward_gradient(&liana__depthwise_conv2d_family, gradient);
}

static void input_gradient_gradient(liana__gradient *gradient)
{
    liana__conv_input_gradient_gradient(&liana__depthwise_conv2d_family, gradient);
}

static void kernel_gradient_gradient(liana__gradient *gradient)
{
    liana__conv_kernel_gradient_gradient(&liana__depthwise_conv2d_family, gradient);
}

static liana_status run_reference(const liana__call *call)
{
    const liana__geometry geometry = liana__depthwise_conv2d_geometry(call->node);
    return liana__conv_run_reference(call, liana__conv_pass_of(&liana__depthwise_conv2d_family, call->node), &geometry);
}

static void cost_of(const liana__node *node, liana__cost *cost)
{
    const liana__geometry geometry = liana__depthwise_conv2d_geometry(node);
    liana__conv_cost(&geometry, cost);
    cost->family = "depthwise convolutions";
}

static liana_status lower_node(liana__lowering *lowering, const liana__node *node)
{
    const liana__geometry geometry = liana__depthwise_conv2d_geometry(node);
    return liana__conv_lower(lowering, node, liana__conv_pass_of(&liana__depthwise_conv2d_family, node), &geometry);
}

static const liana__kernel reference = {.name = "reference", .run = run_reference};

static const liana__kernel *const kernels[] = {LIANA__DEPTHWISE_KERNELS,
                                               &liana__depthwise_conv2d_onednn_bf16,
                                               LIANA__VECTOR_KERNELS(depthwise_conv2d_widened),
                                               &liana__depthwise_conv2d_plain,
                                               &liana__depthwise_conv2d_plain_widened,
                                               &reference,
                                               NULL};

const liana__op liana__op_depthwise_conv2d = {
    .name = "depthwise_conv2d",
    .doc = "Cross-correlation of each channel of NHWC images with kernels of its own.",
    .attributes = &liana__conv_fields,
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = infer_forward,
    .gradient = forward_gradient,
    .with_epilogue = &liana__op_depthwise_conv2d_affine,
    .precision = LIANA__MULTIPLIES,
    .cost = cost_of,
    .parts = liana__parts_first_input,
    .lower = lower_node,
    .kernels = kernels,
};

const liana__op liana__op_depthwise_conv2d_input_gradient = {
    .name = "depthwise_conv2d_input_gradient",
    .doc = "The gradient of depthwise_conv2d with respect to its images, from dy and the kernel.",
    .attributes = &liana__conv_gradient_fields,
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = infer_input_gradient,
    .gradient = input_gradient_gradient,
    .precision = LIANA__MULTIPLIES,
    .cost = cost_of,
    .parts = liana__parts_first_input,
    .lower = lower_node,
    .kernels = kernels,
};

const liana__op liana__op_depthwise_conv2d_kernel_gradient = {
    .name = "depthwise_conv2d_kernel_gradient",
    .doc = "The gradient of depthwise_conv2d with respect to its kernel, from the images and dy.",
    .attributes = &liana__conv_gradient_fields,
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = infer_kernel_gradient,
    .gradient = kernel_gradient_gradient,
    .precision = LIANA__MULTIPLIES_AND_SUMS,
    .cost = cost_of,
    .parts = liana__conv_kernel_gradient_parts,
    .lower = lower_node,
    .kernels = kernels,
};

liana_tensor liana_op_depthwise_conv2d_at(liana_location here, liana_tensor x, liana_tensor kernel,
                                          liana_conv_options options)
{
    liana__conv_attributes attributes = liana__conv_attributes_of(&options);
    return liana__build2(here, &liana__op_depthwise_conv2d, x, kernel, &attributes);
}
