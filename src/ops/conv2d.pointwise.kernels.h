/* conv2d.pointwise.kernels.h - convolutions of single pixels (1x1) and their gradients as matrix products, for one
 * instruction set. */
#include "kernels/matrix_product.h"
#include "kernels/vector_kernels.h"
#include "ops/applicable.h"
#include "ops/conv2d.h"

static bool is_pointwise(const liana__geometry *g)
{
    for (int i = 0; i < 2; i++) {
        if (g->window[i] != 1 || g->strides[i] != 1 || g->padding_low[i] != 0 || g->padding_high[i] != 0) return false;
    }
    return g->groups == 1;
}

static bool is_applicable(const liana__node *node, const char **reason)
{
#if defined(__AVX512BF16__)
    if (!liana__applicable_bf16(node, reason)) return false;
#else
    if (!liana__applicable_f32(node, reason)) return false;
#endif
    const liana__geometry g = liana__conv2d_geometry(node);
    *reason = "not 1x1 of stride 1, without padding, in one group";
    return is_pointwise(&g);
}

static packed_matrix plan_kernel(const liana__geometry *g, liana__conv_pass pass)
{
    return pass == LIANA__CONV_FORWARD ? plan_matrix(g->channels, g->filters) : plan_matrix(g->filters, g->channels);
}

/* Where oneDNN is faster, as measured by bench_products. It multiplies by the weights without packing them, which pays
 * when there are few pixels; and its AVX2 kernels use their 16 registers better for sums over pixels. */
static bool is_preferred(const liana__node *node, liana__isa isa, const char **reason)
{
    const liana__geometry g = liana__conv2d_geometry(node);
    const liana__conv_pass pass = liana__conv_pass_of(&liana__conv2d_family, node);
    const int64_t pixels = g.batch * g.output[0] * g.output[1];
    const packed_matrix kernel = plan_kernel(&g, pass);
    const bool idle_lanes = kernel.step_units == 2; /* oneDNN leaves them idle, liana does not */
#if defined(__AVX512BF16__)
    const int64_t least = g.channels < g.filters ? g.channels : g.filters;
    *reason = "oneDNN's tiles are faster";
    if (isa >= LIANA__ISA_AMX && least > 32) return false;
    *reason = "oneDNN is faster where all lanes are used";
    if (pass == LIANA__CONV_KERNEL_GRADIENT) return uses_half(g.channels) || uses_half(g.filters);
#elif LIANA_VECTOR_BYTES == 64
    (void)isa;
    *reason = "fewer pixels than a block";
    if (pass == LIANA__CONV_KERNEL_GRADIENT) return pixels >= 32;
#else
    *reason = "made for processors without AVX-512";
    if (isa > LIANA__ISA_AVX2) return false;
    *reason = "oneDNN is faster for these sums";
    if (pass == LIANA__CONV_KERNEL_GRADIENT || kernel.columns % (2 * VECTOR_LENGTH) != 0) return false;
#endif
    *reason = "bound by writing the result";
    if (kernel.depth <= 16 && !idle_lanes && pixels * kernel.columns > 2 << 20) return false;
    *reason = "too few pixels to pack the kernel for";
    return pixels >= (idle_lanes ? 72 : pass == LIANA__CONV_FORWARD ? 512 : 256);
}

static liana_status prepare(const liana__node *node, liana__prepared *prepared, liana__error *error)
{
    (void)error;
    const liana__geometry g = liana__conv2d_geometry(node);
    const liana__conv_pass pass = liana__conv_pass_of(&liana__conv2d_family, node);
    const packed_matrix kernel = plan_kernel(&g, pass);
    prepared->scratch_size =
        pass == LIANA__CONV_KERNEL_GRADIENT ? columns_scratch(g.channels, g.filters) : packed_size(&kernel);
    return LIANA_OK;
}

static liana_status run(const liana__call *call)
{
    const liana__geometry g = liana__conv2d_geometry(call->node);
    const int64_t pixels = g.batch * g.output[0] * g.output[1];
    const liana__conv_pass pass = liana__conv_pass_of(&liana__conv2d_family, call->node);
    if (pass == LIANA__CONV_KERNEL_GRADIENT) {
        multiply_columns(pixels, call->src[0], g.channels, call->src[1], g.filters, call->dst, call->scratch);
        return LIANA_OK;
    }
    packed_matrix kernel = plan_kernel(&g, pass);
    kernel.units = call->scratch;
    pack_matrix(&kernel, call->src[1], pass == LIANA__CONV_INPUT_GRADIENT, call->scratch);
    const product_target target = {call->dst, kernel.columns, call->node->dtype == LIANA_F32};
    multiply_rows(pixels, call->src[0], kernel.depth, &kernel, &target);
    return LIANA_OK;
}

LIANA__VECTOR_KERNEL(conv2d_pointwise, .applicable = is_applicable, .preferred = is_preferred, .prepare = prepare,
                     .run = run);
