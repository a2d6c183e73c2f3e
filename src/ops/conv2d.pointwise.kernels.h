/* conv2d.pointwise.kernels.h - convolutions of single pixels (1x1) and their gradients as matrix products, for one
 * instruction set. */
#include "ops/conv2d.h"
#include "ops/matrix_product.kernels.h"

static bool is_pointwise(const liana__geometry *g)
{
    for (int i = 0; i < 2; i++) {
        if (g->window[i] != 1 || g->strides[i] != 1 || g->padding_low[i] != 0 || g->padding_high[i] != 0) return false;
    }
    return g->groups == 1;
}

static bool is_applicable(const liana__node *node, const char **reason)
{
    if (!product_dtype_applicable(node, reason)) return false;
    const liana__geometry g = liana__conv2d_geometry(node);
    *reason = "not 1x1 of stride 1, without padding, in one group";
    return is_pointwise(&g);
}

static product describe(const liana__node *node)
{
    const liana__geometry g = liana__conv2d_geometry(node);
    const int64_t pixels = g.batch * g.output[0] * g.output[1];
    switch (liana__conv_pass_of(&liana__conv2d_family, node)) {
    case LIANA__CONV_INPUT_GRADIENT: return (product){false, true, pixels, g.filters, g.channels};
    case LIANA__CONV_KERNEL_GRADIENT: return (product){true, false, g.channels, pixels, g.filters};
    default: return (product){false, false, pixels, g.channels, g.filters};
    }
}

static bool is_preferred(const liana__node *node, liana__isa isa, const char **reason)
{
    const product p = describe(node);
    return product_preferred(&p, node, isa, reason);
}

static liana_status prepare(const liana__node *node, liana__prepared *prepared, liana__error *error)
{
    (void)error;
    const product p = describe(node);
    product_prepare(&p, prepared);
    return LIANA_OK;
}

static liana_status run(const liana__call *call)
{
    const product p = describe(call->node);
    product_run(&p, call);
    return LIANA_OK;
}

static liana_status pack(const liana__call *call, void *packed)
{
    const product p = describe(call->node);
    product_pack(&p, call, packed);
    return LIANA_OK;
}

LIANA__VECTOR_KERNEL(conv2d_pointwise, .applicable = is_applicable, .preferred = is_preferred, .prepare = prepare,
                     .run = run, .pack = pack);
