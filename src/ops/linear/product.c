/* Which nodes are products of two matrices, and of which. */
#include "ops/linear/product.h"

#include "ops/conv/conv2d.h"
#include "ops/linear/matmul.h"

static bool is_matmul_product(const liana__node *node, const char **reason)
{
    const liana__matmul_attributes *options = node->attributes;
    *reason = "several matrices";
    if (liana__matmul_sizes_of(node).batch != 1) return false;
    *reason = "both are transposed";
    if (options->transpose_a && options->transpose_b) return false;
    *reason = "a is transposed and the result not f32";
    return !options->transpose_a || node->dtype == LIANA_F32;
}

bool liana__is_product(const liana__node *node, const char **reason)
{
    if (node->op == &liana__op_matmul) return is_matmul_product(node, reason);
    const liana__geometry g = liana__conv2d_geometry(node);
    *reason = "not 1x1, without padding, in one group";
    return liana__geometry_is_of_pixels(&g);
}

static liana__product product_of_matmul(const liana__node *node)
{
    const liana__matmul_attributes *options = node->attributes;
    const liana__matmul_sizes sizes = liana__matmul_sizes_of(node);
    return (liana__product){.transpose_a = options->transpose_a,
                            .transpose_b = options->transpose_b,
                            .rows = sizes.m,
                            .depth = sizes.k,
                            .columns = sizes.n};
}

liana__product liana__product_of(const liana__node *node)
{
    if (node->op == &liana__op_matmul) return product_of_matmul(node);
    const liana__geometry g = liana__conv2d_geometry(node);
    const int64_t pixels = g.batch * g.output[0] * g.output[1];
    liana__product p = {.rows = pixels,
                        .depth = g.channels,
                        .columns = g.filters,
                        .strided = !liana__geometry_is_pointwise(&g),
                        .finished = liana__has_epilogue(node),
                        .activation = liana__conv_activation_of(node),
                        .measured = node->op == &liana__op_conv2d};
    p.grid = (liana__pixel_grid){g.output[0], g.output[1], {g.strides[0], g.strides[1]}, g.input[0], g.input[1]};
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
