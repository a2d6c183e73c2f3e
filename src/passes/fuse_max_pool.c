/* conv2d [+ bias] [and relu] that only max pooling reads becomes conv2d_max_pool. The convolution's result is never
 * stored, and neither is its gradient, of which three quarters are 0 behind a window of 2x2. relu is applied to the
 * pooled values, since it keeps their order. */
#include "ops/conv/convolution.h"
#include "ops/fused/conv2d_max_pool.h"
#include "ops/gradients.h"
#include "ops/pool/pool2d.h"
#include "ops/reduce/reduce.h"
#include "passes/pass.h"

/* The fused nodes; NULL: there is no such node. */
typedef struct chain {
    const liana__node *conv;
    const liana__node *add; /* of the bias, its input 1 */
    const liana__node *relu;
    const liana__node *seen; /* the last of these, which is pooled */
    const liana__node *pool;
    const liana__node *pool_gradient;
    const liana__node *dy; /* the gradient of the convolution's result */
} chain;

static bool reads(const liana__node *node, const liana__node *input)
{
    for (uint32_t i = 0; i < node->num_inputs; i++) {
        if (node->inputs[i] == input) return true;
    }
    return false;
}

/* Goes from the pooled node back to the convolution. Each node in between must have only the next node as its
 * reader. */
static bool find_convolution(const liana__rewriter *rewriter, const liana__node *seen, chain *c)
{
    *c = (chain){.seen = seen};
    const liana__node *node = seen;
    if (node->op == &liana__op_relu) {
        c->relu = node;
        node = node->inputs[0];
    }
    if (node->op == &liana__op_add) {
        c->add = node;
        node = node->inputs[0];
        const liana_shape *bias = liana__input_shape(c->add, 1);
        if (bias->rank != 1 || bias->dims[0] != c->add->shape.dims[c->add->shape.rank - 1]) return false;
    }
    if (node->op != &liana__op_conv2d || (node->dtype != LIANA_F32 && node->dtype != LIANA_F64)) return false;
    c->conv = node;
    if (c->add && c->add != seen && rewriter->num_uses[c->add->id] != 1) return false;
    return node == seen || rewriter->num_uses[node->id] == 1;
}

/* Whether the kernels of conv2d_max_pool are made for this convolution: elsewhere unfused ones are faster. */
static bool suits_convolution(const liana__node *conv)
{
    const liana__geometry g = liana__conv_geometry(conv);
    bool known_window = g.window[0] == g.window[1] && (g.window[0] == 3 || g.window[0] == 5);
    return known_window && g.groups == 1 && g.strides[0] == 1 && g.strides[1] == 1 && g.dilations[0] == 1 &&
           g.dilations[1] == 1 && g.output[0] >= 2 && g.output[1] >= 2;
}

/* With many channels unfused kernels are faster: in inference where a kernel is read more often than the images; in
 * training earlier, since the gradients that work through lists of maxima are made for few channels or small images. */
static bool has_few_channels(const chain *c)
{
    enum { MOST_FIXED = 1 << 17, MOST_TRAINED = 1 << 14, MOST_OF_LARGE = 64 * 64 - 1, LARGE = 32 * 32 };
    const liana__geometry g = liana__conv_geometry(c->conv);
    const bool is_large = g.output[0] * g.output[1] > LARGE;
    const int64_t most = !c->dy ? MOST_FIXED : is_large ? MOST_OF_LARGE : MOST_TRAINED;
    return g.channels <= most / g.filters;
}

/* Windows of 2x2, side by side, without padding. */
static bool suits_pooling(const liana__node *pool)
{
    const liana__pool_attributes *attributes = pool->attributes;
    const liana__window *w = &attributes->window;
    bool padded =
        w->vertical_padding[0] || w->vertical_padding[1] || w->horizontal_padding[0] || w->horizontal_padding[1];
    return attributes->size[0] == 2 && attributes->size[1] == 2 && w->strides[0] == 2 && w->strides[1] == 2 && !padded;
}

/* Finds the readers of the pooled node: pooling once, and the gradients of pooling and of relu at most once. */
static bool find_readers(const liana__rewriter *rewriter, chain *c)
{
    uint32_t uses = 0;
    const liana__node *relu_gradient = NULL;
    for (size_t id = c->seen->id + 1; id < rewriter->old->num_nodes; id++) {
        const liana__node *node = rewriter->old->nodes[id];
        if (!reads(node, c->seen)) continue;
        uses++;
        if (node->op == &liana__op_max_pool2d && !c->pool) {
            c->pool = node;
        } else if (node->op == &liana__op_max_pool2d_gradient && !c->pool_gradient && node->inputs[1] != c->seen) {
            c->pool_gradient = node;
        } else if (node->op == &liana__op_relu_gradient && c->relu && !relu_gradient && node->inputs[1] != c->seen) {
            relu_gradient = node;
        } else {
            return false;
        }
    }
    if (uses != rewriter->num_uses[c->seen->id] || !c->pool || !suits_pooling(c->pool)) return false;
    if (!c->pool_gradient) return !relu_gradient;
    if (!suits_pooling(c->pool_gradient)) return false;
    c->dy = c->relu ? relu_gradient : c->pool_gradient;
    if (!c->relu) return true;
    return c->dy && c->dy->inputs[1] == c->pool_gradient && rewriter->num_uses[c->pool_gradient->id] == 1;
}

/* A sum over all axes but the channels: the gradient of the bias. */
static bool sums_channels(const liana__node *node)
{
    if (node->op != &liana__op_reduce_sum) return false;
    const liana__ints *axes = &((const liana__reduce_attributes *)node->attributes)->axes;
    return axes->count == 3 && axes->values[0] == 0 && axes->values[1] == 1 && axes->values[2] == 2;
}

/* Whether `node` is one of the convolution's gradients from dy. */
static bool is_gradient(const chain *c, const liana__node *node)
{
    if (!c->dy) return false;
    const liana__node *x = c->conv->inputs[0], *kernel = c->conv->inputs[1];
    if (node->op == &liana__op_conv2d_input_gradient) return node->inputs[0] == c->dy && node->inputs[1] == kernel;
    return node->op == &liana__op_conv2d_kernel_gradient && node->inputs[0] == x && node->inputs[1] == c->dy;
}

/* Whether nobody else reads dy. */
static bool readers_of_dy_suit(const liana__rewriter *rewriter, const chain *c)
{
    uint32_t uses = 0;
    for (size_t id = c->dy->id + 1; id < rewriter->old->num_nodes; id++) {
        const liana__node *node = rewriter->old->nodes[id];
        if (!reads(node, c->dy)) continue;
        if (!is_gradient(c, node) && !sums_channels(node)) return false;
        uses++;
    }
    return uses == rewriter->num_uses[c->dy->id];
}

/* Whether `seen` ends a chain that can be fused. */
static bool find_chain(const liana__rewriter *rewriter, const liana__node *seen, chain *c)
{
    return find_convolution(rewriter, seen, c) && suits_convolution(c->conv) && find_readers(rewriter, c) &&
           has_few_channels(c) && (!c->dy || readers_of_dy_suit(rewriter, c));
}

static liana__conv2d_max_pool_attributes attributes_of(const chain *c, const liana__node *node)
{
    const liana__conv_attributes *conv = node->attributes;
    const liana__pool_attributes *pool = c->pool->attributes;
    return (liana__conv2d_max_pool_attributes){
        .window = conv->window,
        .pool = {pool->size[0], pool->size[1]},
        .relu = node == c->conv && c->relu,
        .size = {conv->size[0], conv->size[1]},
    };
}

static liana_tensor fuse(const liana__rewriter *rewriter, const chain *c)
{
    const liana__conv2d_max_pool_attributes attributes = attributes_of(c, c->conv);
    const liana__node *kernel = c->conv->inputs[1];
    liana_tensor bias =
        c->add ? rewriter->map[c->add->inputs[1]->id]
               : liana__full(c->conv->where, rewriter->graph, c->conv->dtype, liana_shape_of(kernel->shape.dims[3]), 0);
    return liana__build3(c->conv->where, &liana__op_conv2d_max_pool, rewriter->map[c->conv->inputs[0]->id],
                         rewriter->map[kernel->id], bias, &attributes);
}

/* The first half of conv2d_max_pool's result. */
static liana_tensor take_values(const liana__rewriter *rewriter, const chain *c)
{
    const liana_shape *shape = &c->pool->shape;
    int64_t start[5] = {0}, limit[5] = {1};
    for (int i = 0; i < 4; i++) limit[i + 1] = shape->dims[i];
    liana_tensor first = liana_op_slice_at(c->pool->where, rewriter->map[c->seen->id], start, limit, NULL);
    return liana_op_reshape_at(c->pool->where, first, *shape);
}

/* In the new graph, conv2d_max_pool replaces the pooled node, and its pooled gradient replaces dy. Their sizes differ
 * from the old ones. But all their readers are rewritten too, or are sums over all pixels. */
static liana_tensor rewrite_gradient(const liana__rewriter *rewriter, const chain *c, const liana__node *node)
{
    const liana__conv2d_max_pool_attributes attributes = attributes_of(c, node);
    liana_tensor pooled = rewriter->map[c->seen->id], dy = rewriter->map[c->dy->id];
    if (node->op == &liana__op_conv2d_input_gradient) {
        return liana__build3(node->where, &liana__op_conv2d_max_pool_input_gradient, pooled, dy,
                             rewriter->map[node->inputs[1]->id], &attributes);
    }
    return liana__build3(node->where, &liana__op_conv2d_max_pool_kernel_gradient, rewriter->map[node->inputs[0]->id],
                         pooled, dy, &attributes);
}

/* The pooled node for the gradient of a convolution's result; NULL: it is not behind pooling. */
static const liana__node *pooled_behind(const liana__node *dy)
{
    if (dy->op == &liana__op_relu_gradient) return dy->inputs[0];
    return dy->op == &liana__op_max_pool2d_gradient ? dy->inputs[0] : NULL;
}

static liana_tensor rewrite(const liana__rewriter *rewriter, const liana__node *node)
{
    const liana_tensor keep = {0};
    chain c;
    if (node->op == &liana__op_relu || node->op == &liana__op_add || node->op == &liana__op_conv2d) {
        return find_chain(rewriter, node, &c) ? fuse(rewriter, &c) : keep;
    }
    if (node->op == &liana__op_max_pool2d) {
        return find_chain(rewriter, node->inputs[0], &c) ? take_values(rewriter, &c) : keep;
    }
    if (node->op == &liana__op_max_pool2d_gradient) {
        return find_chain(rewriter, node->inputs[0], &c) ? rewriter->map[node->inputs[1]->id] : keep;
    }
    if (node->op == &liana__op_relu_gradient) {
        if (!find_chain(rewriter, node->inputs[0], &c) || c.dy != node) return keep;
        return liana__build2(node->where, node->op, rewriter->map[c.pool->id], rewriter->map[node->inputs[1]->id],
                             NULL);
    }
    bool of_input = node->op == &liana__op_conv2d_input_gradient;
    if (!of_input && node->op != &liana__op_conv2d_kernel_gradient) return keep;
    const liana__node *seen = pooled_behind(node->inputs[of_input ? 0 : 1]);
    if (!seen || !find_chain(rewriter, seen, &c) || !is_gradient(&c, node)) return keep;
    return rewrite_gradient(rewriter, &c, node);
}

const liana__pass liana__pass_fuse_max_pool = {
    .name = "fuse_max_pool",
    .doc = "A convolution that only max pooling reads is pooled while it is computed.",
    .rewrite = rewrite,
};
