/* Fused convolutions with their epilogue, and the factors and offsets from fixed statistics. */
#include "ops/fused/conv2d_affine.h"
#include "kernels/applicable.h"
#include "stablehlo/lowering.h"

#include "ops/conv/conv2d.h"
#include "ops/conv/depthwise_conv2d.h"
#include "ops/linear/product_kernels.h"

#include <math.h>

/* ---- batch_norm_affine ---- */

static const liana__field affine_field_list[] = {
    LIANA__FIELD_ROW(liana__batch_norm_attributes, epsilon, FLOAT,
                     .doc = "Added to the variance, so that a constant channel does not divide by zero."),
};
static const liana__fields affine_fields = {"batch_norm_affine", sizeof(liana__batch_norm_attributes), 1,
                                            affine_field_list};

static liana_status infer_affine(liana__infer *infer)
{
    static const char *const names[] = {"gamma", "beta", "mean", "variance", "bias"};
    LIANA_TRY(liana__infer_float(infer, 0));
    LIANA_TRY(liana__infer_rank(infer, 0, 1, "[channels]"));
    for (size_t i = 1; i < infer->num_inputs; i++) {
        LIANA_TRY(liana__infer_same_dtype(infer, 0, i));
        LIANA_TRY(liana__infer_shape(infer, names[i], &infer->inputs[i]->shape, "gamma's", &infer->inputs[0]->shape));
    }
    infer->dtype = infer->inputs[0]->dtype;
    infer->shape = liana_shape_of(2, infer->inputs[0]->shape.dims[0]);
    return liana__batch_norm_check_epsilon(infer);
}

static liana_status run_affine(const liana__call *call)
{
    const liana__node *node = call->node;
    const int64_t channels = node->shape.dims[1];
    for (int64_t c = 0; c < channels; c++) {
        double value[5] = {0};
        for (uint32_t i = 0; i < node->num_inputs; i++) value[i] = liana__load(call->src[i], node->dtype, c);
        const double scale = value[0] / sqrt(value[3] + liana__batch_norm_epsilon(node));
        liana__store(call->dst, node->dtype, c, scale);
        liana__store(call->dst, node->dtype, channels + c, value[1] - (value[2] - value[4]) * scale);
    }
    return LIANA_OK;
}

/* Vectors of the compiler's making; the mean less a bias is rounded as the images would be. */
static liana_status run_affine_f32(const liana__call *call)
{
    const float *gamma = call->src[0], *beta = call->src[1], *mean = call->src[2], *variance = call->src[3];
    const float *bias = call->node->num_inputs > 4 ? call->src[4] : NULL,
                epsilon = liana__batch_norm_epsilon(call->node);
    const int64_t channels = call->node->shape.dims[1];
    float *restrict scale = call->dst, *restrict shift = scale + channels;
    for (int64_t c = 0; c < channels; c++) scale[c] = gamma[c] / sqrtf(variance[c] + epsilon);
    for (int64_t c = 0; c < channels && bias; c++) shift[c] = beta[c] - (mean[c] - bias[c]) * scale[c];
    for (int64_t c = 0; c < channels && !bias; c++) shift[c] = beta[c] - mean[c] * scale[c];
    return LIANA_OK;
}

static void cost_of_affine(const liana__node *node, liana__cost *cost)
{
    cost->flops = 5 * (double)node->shape.dims[1];
    cost->family = "batch normalisation";
}

static const liana__kernel affine_plain = {.name = "plain", .applicable = liana__applicable_f32, .run = run_affine_f32};

const liana__op liana__op_batch_norm_affine = {
    .name = "batch_norm_affine",
    .doc = "The factor and the offset for each channel that normalisation with fixed statistics becomes.",
    .attributes = &affine_fields,
    .num_inputs = 4,
    .more_inputs = 1,
    .infer = infer_affine,
    .cost = cost_of_affine,
    .lower = liana__lower_cpu_only,
    .kernels = LIANA__KERNELS(&affine_plain, LIANA__REFERENCE(run_affine)),
};

liana_tensor liana__op_batch_norm_affine_at(liana_location here, const liana_tensor parameters[4], liana_tensor bias,
                                            double epsilon)
{
    const liana_tensor inputs[] = {parameters[0], parameters[1], parameters[2], parameters[3], bias};
    return liana__build(here, parameters[0].graph, &liana__op_batch_norm_affine, inputs, bias.id ? 5 : 4,
                        &(liana__batch_norm_attributes){.epsilon = epsilon});
}

/* ---- the convolutions: attributes and shapes ---- */

static const liana__field fields[] = {
    LIANA__FIELD_ROW(liana__conv_attributes, window, SECTION, .section = &liana__window_fields,
                     .doc = "How the kernel slides over the images."),
    LIANA__FIELD_ROW(liana__conv_attributes, groups, INT, .doc = "Groups of channels that are convolved separately."),
    LIANA__FIELD_ROW(liana__conv_attributes, activation, ENUM, .names = liana__fused_activation_names,
                     .doc = "The activation of the scaled and shifted images."),
};
static const liana__fields attributes = {"convolution_affine", sizeof(liana__conv_attributes), 3, fields};

/* The result is that of the convolution, whose rule reads the same first inputs and attributes. */
static liana_status infer_convolution(liana__infer *infer)
{
    LIANA_TRY(liana__conv_infer_forward(infer));
    const liana__node *affine = infer->inputs[LIANA__AFFINE_INPUT];
    const liana_shape expected = liana_shape_of(2, infer->shape.dims[3]);
    const liana_dtype wide = liana__wide_dtype(infer->dtype);
    if (affine->dtype != wide || !liana_shape_equal(&affine->shape, &expected)) {
        return liana__infer_fail(infer, "affine is %s, expected %s: factors and offsets of the result's channels",
                                 liana__type_print(affine->dtype, &affine->shape).text,
                                 liana__type_print(wide, &expected).text);
    }
    LIANA_TRY(liana__infer_activation(infer, ((const liana__conv_attributes *)infer->attributes)->activation));
    if (infer->num_inputs <= LIANA__RESIDUAL_INPUT) return LIANA_OK;
    const liana__node *residual = infer->inputs[LIANA__RESIDUAL_INPUT];
    if (residual->dtype == infer->dtype && liana_shape_equal(&residual->shape, &infer->shape)) return LIANA_OK;
    return liana__infer_fail(infer, "the residual is %s, expected the convolution's result %s",
                             liana__type_print(residual->dtype, &residual->shape).text,
                             liana__type_print(infer->dtype, &infer->shape).text);
}

/* ---- reference: each element of the convolution is finished before it is rounded ---- */

static double finish(const liana__call *call, int64_t element, double sum)
{
    const liana__node *node = call->node;
    const int64_t channels = node->shape.dims[3], c = element % channels;
    const liana_dtype wide = node->inputs[LIANA__AFFINE_INPUT]->dtype;
    const void *affine = call->src[LIANA__AFFINE_INPUT];
    double z = sum * liana__load(affine, wide, c) + liana__load(affine, wide, channels + c);
    if (node->num_inputs > LIANA__RESIDUAL_INPUT) {
        z += liana__load(call->src[LIANA__RESIDUAL_INPUT], node->dtype, element);
    }
    return liana__fused_activate(liana__conv_activation_of(node), z);
}

static liana_status run_convolution(const liana__call *call)
{
    const liana__conv_loop loop = {.call = call, .geometry = liana__conv_geometry(call->node), .finish = finish};
    return liana__conv_run_loop(&loop, liana__conv_forward_element);
}

/* ---- cost and parts ---- */

static void cost_of_convolution(const liana__node *node, liana__cost *cost)
{
    liana__conv_cost(node, cost);
    cost->flops += 3 * (double)liana_shape_size(&node->shape);
}

static liana__parts parts_of(const liana__node *node)
{
    return (liana__parts){.kind = LIANA__PART_ROWS,
                          .rows = liana__input_shape(node, 0)->dims[0],
                          .whole = 1 << 1 | 1 << LIANA__AFFINE_INPUT};
}

/* ---- the ops; the kernels are the convolutions' ---- */

const liana__op liana__op_conv2d_affine = {
    .name = "conv2d_affine",
    .doc = "conv2d, scaled and shifted by channel, an optional residual that is added, and an activation.",
    .attributes = &attributes,
    .num_inputs = 3,
    .more_inputs = 1,
    .infer = infer_convolution,
    .cost = cost_of_convolution,
    .parts = parts_of,
    .lower = liana__lower_cpu_only,
    .kernels =
        (const liana__kernel *const[]){
#if defined(LIANA_X86)
            &liana__product_amx, &liana__product_avx512_bf16, &liana__product_of_bf16_avx512_bf16_storage,
            &liana__product_of_bf16_avx512, &liana__product_of_bf16_avx2, &liana__product_avx512, &liana__product_avx2,
            &liana__conv2d_window_amx, &liana__conv2d_winograd_avx512, &liana__conv2d_winograd_avx2,
#endif
            LIANA__REFERENCE(run_convolution)},
    .product = liana__conv_product,
    .details = &liana__conv2d_family,
};

const liana__op liana__op_depthwise_conv2d_affine = {
    .name = "depthwise_conv2d_affine",
    .doc = "depthwise_conv2d, scaled and shifted by channel, and an activation.",
    .attributes = &attributes,
    .num_inputs = 3,
    .infer = infer_convolution,
    .cost = cost_of_convolution,
    .parts = parts_of,
    .lower = liana__lower_cpu_only,
    .kernels = LIANA__KERNELS(LIANA__DEPTHWISE_KERNELS, LIANA__REFERENCE(run_convolution)),
    .details = &liana__depthwise_conv2d_family,
};
