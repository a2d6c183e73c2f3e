/* conv2d.kernel_gradient.kernels.h - gradients of kernels from packed lines of images, for one instruction set. */
#include "kernels/applicable.h"
#include "kernels/matrix_lines.h"
#include "kernels/vector_kernels.h"
#include "ops/conv/conv2d.h"

static bool is_applicable(const liana__node *node, const char **reason)
{
#if defined(LIANA__STORES_BF16)
    if (!liana__applicable_bf16(node, reason)) return false;
#else
    if (!liana__applicable_f32(node, reason)) return false;
#endif
    *reason = "made for gradients of kernels";
    if (node->op != &liana__op_conv2d_kernel_gradient) return false;
    const liana__geometry g = liana__conv_geometry(node);
    *reason = "strides of a window, dilations or groups";
    if (g.groups != 1 || g.dilations[0] != 1 || g.dilations[1] != 1) return false;
    return liana__geometry_is_of_pixels(&g) || (g.strides[0] == 1 && g.strides[1] == 1);
}

#if !defined(LIANA__STORES_BF16) && LIANA_VECTOR_BYTES == 64
enum { LEAST_GRADIENT = 1 << 20 };
#endif

/* As bench_products measures it, with oneDNN 2.6 (bench/products.md). Packing pays if a window has several cells.
 * Single pixels are products without packing; but with AVX2 oneDNN's are slow if rows are 2 KiB apart in memory. */
static bool is_preferred(const liana__node *node, liana__isa isa, const char **reason)
{
    const liana__geometry g = liana__conv_geometry(node);
    const bool single = g.window[0] * g.window[1] == 1;
    *reason = "too few channels or filters";
    if (g.channels < TILE_ROWS || g.filters < VECTOR_LENGTH) return false;
#if defined(LIANA__DOTS)
    *reason = "oneDNN's tiles are faster";
    if (isa >= LIANA__ISA_AMX) return false;
#elif defined(LIANA__WIDENED)
        /* The only kernel that reads bf16 directly. */
#if LIANA_VECTOR_BYTES == 32
    *reason = "made for processors without AVX-512";
    if (isa > LIANA__ISA_AVX2) return false;
#endif
    *reason = "others have instructions for products of bf16";
    if (isa >= LIANA__ISA_AVX512_BF16) return false;
#elif LIANA_VECTOR_BYTES == 32
    *reason = "made for processors without AVX-512";
    if (isa > LIANA__ISA_AVX2) return false;
    const int64_t wide = g.channels > g.filters ? g.channels : g.filters;
    const bool aligned = wide % 512 == 0 && g.channels >= 256 && g.filters >= 256;
    if (single && (aligned || !liana__geometry_is_pointwise(&g))) return true;
#else
    (void)isa;
    *reason = "oneDNN is as fast for small gradients";
    if (g.window[0] * g.window[1] * g.channels * g.filters < LEAST_GRADIENT) return false;
#endif
    *reason = "a single pixel needs no packing";
    return !single;
}

static liana_status prepare(const liana__node *node, liana__prepared *prepared, liana__error *error)
{
    (void)error;
    const liana__geometry g = liana__conv_geometry(node);
    const lines_plan plan = plan_lines(&g);
    prepared->scratch_size = lines_scratch(&plan);
    return LIANA_OK;
}

static liana_status run(const liana__call *call)
{
    const liana__geometry g = liana__conv_geometry(call->node);
    multiply_lines(&g, call->src[0], call->src[1], call->dst, call->scratch);
    return LIANA_OK;
}

LIANA__VECTOR_KERNEL(conv2d_kernel_gradient, .applicable = is_applicable, .preferred = is_preferred, .prepare = prepare,
                     .run = run);
