/* Convolution (cross-correlation) of volumes with a kernel, and its two gradients. */
#include "ops/conv/conv3d.h"

#include "ops/conv/conv_op.h"

const liana__conv_family liana__conv3d_family = {
    .forward = &liana__op_conv3d,
    .input_gradient = &liana__op_conv3d_input_gradient,
    .kernel_gradient = &liana__op_conv3d_kernel_gradient,
    .volumes = true,
    .kernel_layout = "[depth, height, width, channels / groups, filters]",
};

static const liana__kernel *const kernels[] = {
#if defined(LIANA_X86)
    &liana__conv3d_planes_amx,
    &liana__conv3d_planes_avx512_bf16,
    &liana__conv3d_planes_avx512_bf16_storage,
    &liana__conv3d_planes_avx512,
    &liana__conv3d_planes_avx2,
#endif
    &liana__conv3d_planes_baseline,
    LIANA__REFERENCE(liana__conv3d_run_reference)};

LIANA__CONV_OP(conv3d, forward, liana__conv3d_fields, LIANA__MULTIPLIES, liana__parts_first_input, liana__conv3d_family,
               "Cross-correlation of NDHWC volumes with a DHWIO kernel.")
LIANA__CONV_OP(conv3d_input_gradient, input_gradient, liana__conv3d_gradient_fields, LIANA__MULTIPLIES,
               liana__parts_first_input, liana__conv3d_family,
               "The gradient of conv3d with respect to its volumes, from dy and the kernel.")
LIANA__CONV_OP(conv3d_kernel_gradient, kernel_gradient, liana__conv3d_gradient_fields, LIANA__MULTIPLIES_AND_SUMS,
               liana__conv_kernel_gradient_parts, liana__conv3d_family,
               "The gradient of conv3d with respect to its kernel, from the volumes and dy.")

/* ---- plain loops: sums over planes of the plain loops of images ---- */

typedef struct loop3d {
    const liana__call *call;
    liana__geometry plane, depth;
} loop3d;

static double dy_at(const liana__conv_loop *loop, int64_t n, int64_t row, int64_t column, int64_t filter)
{
    const int64_t at = liana__conv_at_output(&loop->geometry, n, row, column, filter);
    return liana__load(loop->call->src[loop->dy], loop->call->node->inputs[0]->dtype, at);
}

static const void *moved(const loop3d *l, size_t input, int64_t elements)
{
    const size_t size = liana_dtype_size(l->call->node->inputs[0]->dtype);
    return (const char *)l->call->src[input] + (size_t)elements * size;
}

static int64_t input_plane(const loop3d *l)
{
    return l->plane.input[0] * l->plane.input[1] * l->plane.channels;
}

static int64_t output_plane(const loop3d *l)
{
    return l->plane.output[0] * l->plane.output[1] * l->plane.filters;
}

static int64_t kernel_plane(const loop3d *l)
{
    return l->plane.window[0] * l->plane.window[1] * (l->plane.channels / l->plane.groups) * l->plane.filters;
}

/* Element `at` of the plane `plane` of volume `n` of y, or of dx. */
static double sum_of_planes(const loop3d *l, bool forward, int64_t n, int64_t plane, const int64_t at[3])
{
    const liana__geometry *d = &l->depth;
    const int64_t planes = forward ? d->input[0] : d->output[0];
    double total = 0;
    for (int64_t tap = 0; tap < d->window[0]; tap++) {
        const int64_t source =
            forward ? liana__window_source(d, 0, plane, tap) : liana__window_target(d, 0, plane, tap);
        if (source < 0) continue;
        liana__call call = *l->call;
        const void *src[] = {l->call->src[0], moved(l, 1, tap * kernel_plane(l))};
        call.src = src;
        const liana__conv_loop loop = {&call, l->plane, 0, dy_at, NULL};
        liana__conv_element *element = forward ? liana__conv_forward_element : liana__conv_input_gradient_element;
        total += element(&loop, n * planes + source, at[0], at[1], at[2]);
    }
    return total;
}

/* Element `at` (row, column, channel, filter) of the plane `tap` of the kernel's gradient. */
static double sum_of_products(const loop3d *l, int64_t tap, const int64_t at[4])
{
    const liana__geometry *d = &l->depth;
    double total = 0;
    for (int64_t i = 0; i < l->plane.batch * d->output[0]; i++) {
        const int64_t n = i / d->output[0], source = liana__window_source(d, 0, i % d->output[0], tap);
        if (source < 0) continue;
        liana__call call = *l->call;
        const void *src[] = {moved(l, 0, (n * d->input[0] + source) * input_plane(l)),
                             moved(l, 1, i * output_plane(l))};
        call.src = src;
        liana__conv_loop loop = {&call, l->plane, 1, dy_at, NULL};
        loop.geometry.batch = 1;
        total += liana__conv_kernel_gradient_element(&loop, at[0], at[1], at[2], at[3]);
    }
    return total;
}

liana_status liana__conv3d_run_reference(const liana__call *call)
{
    const liana__node *node = call->node;
    const loop3d l = {call, liana__conv_geometry(node), liana__conv_depth(node)};
    const liana__conv_pass pass = liana__conv_pass_of(node);
    const int64_t *dims = node->shape.dims, size = liana_shape_size(&node->shape);
    for (int64_t i = 0; i < size; i++) {
        int64_t at[5], left = i;
        for (int axis = 4; axis >= 0; axis--) {
            at[axis] = left % dims[axis];
            left /= dims[axis];
        }
        const bool forward = pass == LIANA__CONV_FORWARD;
        const double value = pass == LIANA__CONV_KERNEL_GRADIENT ? sum_of_products(&l, at[0], &at[1])
                                                                 : sum_of_planes(&l, forward, at[0], at[1], &at[2]);
        liana__store(call->dst, node->dtype, i, value);
    }
    return LIANA_OK;
}

/* ---- builders ---- */

static liana__conv_attributes attributes_of(const liana_conv_options_3d *options)
{
    const int64_t *strides = options->strides, *padding = options->explicit_padding, *dilations = options->dilations;
    const int64_t none[4] = {padding[0], padding[1]}, depth_strides[2] = {strides[0]},
                  depth_dilations[2] = {dilations[0]};
    return (liana__conv_attributes){
        .window = liana__window_of(strides + 1, options->padding, padding + 2, dilations + 1),
        .depth = liana__window_of(depth_strides, options->padding, none, depth_dilations),
        .groups = options->groups,
    };
}

liana_tensor liana_op_conv3d_at(liana_location here, liana_tensor x, liana_tensor kernel, liana_conv_options_3d options)
{
    const liana__conv_attributes attributes = attributes_of(&options);
    return liana__build2(here, &liana__op_conv3d, x, kernel, &attributes);
}

liana_tensor liana_op_conv3d_transpose_at(liana_location here, liana_tensor x, liana_tensor kernel,
                                          const int64_t size[3], liana_conv_options_3d options)
{
    liana__conv_attributes attributes = attributes_of(&options);
    attributes.depth_size = size[0];
    memcpy(attributes.size, size + 1, sizeof attributes.size);
    return liana__build2(here, &liana__op_conv3d_input_gradient, x, kernel, &attributes);
}
