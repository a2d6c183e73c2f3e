/* conv2d.pointwise.kernels.h - convolutions of single pixels (1x1), with strides or without, and their gradients as
 * matrix products, for one instruction set. */
#include "kernels/product.kernels.h"
#include "ops/conv/conv2d.h"
#include "ops/norm/batch_norm.h"

static bool is_applicable(const liana__node *node, const char **reason)
{
    if (!product_dtype_applicable(node, reason)) return false;
    const liana__geometry g = liana__conv2d_geometry(node);
    *reason = "not 1x1, without padding, in one group";
    return liana__geometry_is_of_pixels(&g);
}

static product describe(const liana__node *node)
{
    const liana__geometry g = liana__conv2d_geometry(node);
    const int64_t pixels = g.batch * g.output[0] * g.output[1];
    product p = {.rows = pixels,
                 .depth = g.channels,
                 .columns = g.filters,
                 .strided = !liana__geometry_is_pointwise(&g),
                 .finished = liana__has_epilogue(node),
                 .activation = liana__conv_activation_of(node),
                 .measured = node->op == &liana__op_conv2d};
    p.grid = (pixel_grid){g.output[0], g.output[1], {g.strides[0], g.strides[1]}, g.input[0], g.input[1]};
    const liana__conv_pass pass = liana__conv_pass_of(&liana__conv2d_family, node);
    if (pass == LIANA__CONV_INPUT_GRADIENT) {
        p.transpose_b = true;
        p.depth = g.filters;
        p.columns = g.channels;
    } else if (pass == LIANA__CONV_KERNEL_GRADIENT) {
        p.transpose_a = true;
        p.rows = g.channels;
        p.depth = pixels;
    }
    return p;
}

#if defined(LIANA__TILES_OF_AMX)
LIANA__PRODUCT_KERNEL(conv2d_pointwise, .applicable = is_applicable);
#else
/* For fewer pixels, the work that is done once for each channel takes as long as reading the pixels again. */
enum { LEAST_MEASURED_ROWS = 256 };

static bool gives_statistics(const liana__node *node, const liana__node *reader)
{
    return node->op == &liana__op_conv2d && liana__batch_norm_is_part_of_statistics(reader) &&
           describe(node).rows >= LEAST_MEASURED_ROWS;
}

LIANA__PRODUCT_KERNEL(conv2d_pointwise, .applicable = is_applicable, .gives_companion = gives_statistics);
#endif
