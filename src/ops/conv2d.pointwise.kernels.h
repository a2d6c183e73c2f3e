/* conv2d.pointwise.kernels.h - convolutions of single pixels (1x1) and their gradients as matrix products, for one
 * instruction set. */
#include "ops/conv2d.h"
#include "ops/matrix_product.kernels.h"

static bool is_applicable(const liana__node *node, const char **reason)
{
    if (!product_dtype_applicable(node, reason)) return false;
    const liana__geometry g = liana__conv2d_geometry(node);
    *reason = "not 1x1 of stride 1, without padding, in one group";
    return liana__geometry_is_pointwise(&g);
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

LIANA__PRODUCT_KERNEL(conv2d_pointwise, .applicable = is_applicable);
