/* pad followed by a convolution becomes a convolution with that padding. The padded copy is never made, neither forward
 * nor backward. (Keras's MobileNets have a padding layer before each strided convolution.) */
#include "ops/conv/convolution.h"
#include "ops/shape/slice_pad.h"
#include "passes/pass.h"

enum { HEIGHT = 1, WIDTH = 2, IMAGE_RANK = 4 };

static const liana__conv_family *family_of(const liana__op *op)
{
    static const liana__conv_family *const families[] = {&liana__conv2d_family, &liana__depthwise_conv2d_family};
    for (int i = 0; i < 2; i++) {
        const liana__conv_family *family = families[i];
        if (op == family->forward || op == family->input_gradient || op == family->kernel_gradient) return family;
    }
    return NULL;
}

/* A border of zeros around images, and nothing else. */
static bool is_border(const liana__node *node)
{
    if (node->op != &liana__op_pad || node->shape.rank != IMAGE_RANK) return false;
    const liana__pad_attributes *pad = node->attributes;
    if (pad->value != 0) return false;
    for (int axis = 0; axis < IMAGE_RANK; axis++) {
        bool spatial = axis == HEIGHT || axis == WIDTH;
        if (pad->interior.values[axis] || (!spatial && (pad->low.values[axis] || pad->high.values[axis]))) return false;
    }
    return true;
}

static void widen(liana__window *window, int64_t top, int64_t bottom, int64_t left, int64_t right)
{
    window->vertical_padding[0] += top;
    window->vertical_padding[1] += bottom;
    window->horizontal_padding[0] += left;
    window->horizontal_padding[1] += right;
}

/* A convolution, or its gradient for the kernel, of bordered images. */
static liana_tensor fold_border(const liana__rewriter *rewriter, const liana__node *node)
{
    const liana__node *border = node->inputs[0];
    const liana__pad_attributes *pad = border->attributes;
    liana__conv_attributes attributes = *(const liana__conv_attributes *)node->attributes;
    widen(&attributes.window, pad->low.values[HEIGHT], pad->high.values[HEIGHT], pad->low.values[WIDTH],
          pad->high.values[WIDTH]);
    return liana__build2(node->where, node->op, rewriter->map[border->inputs[0]->id],
                         rewriter->map[node->inputs[1]->id], &attributes);
}

/* A slice that takes a border off. */
static bool takes_border_off(const liana__node *node)
{
    if (node->op != &liana__op_slice || node->shape.rank != IMAGE_RANK) return false;
    const liana__slice_attributes *slice = node->attributes;
    for (int axis = 0; axis < IMAGE_RANK; axis++) {
        bool spatial = axis == HEIGHT || axis == WIDTH;
        bool whole = node->shape.dims[axis] == liana__input_shape(node, 0)->dims[axis];
        if (slice->strides.values[axis] != 1 || (!spatial && !whole)) return false;
    }
    return true;
}

/* The gradient of padded images, whose border is thrown away. */
static liana_tensor fold_slice(const liana__rewriter *rewriter, const liana__node *slice_node)
{
    const liana__node *node = slice_node->inputs[0];
    const liana__slice_attributes *slice = slice_node->attributes;
    liana__conv_attributes attributes = *(const liana__conv_attributes *)node->attributes;
    widen(&attributes.window, slice->start.values[HEIGHT], node->shape.dims[HEIGHT] - slice->limit.values[HEIGHT],
          slice->start.values[WIDTH], node->shape.dims[WIDTH] - slice->limit.values[WIDTH]);
    attributes.size[0] = slice_node->shape.dims[HEIGHT];
    attributes.size[1] = slice_node->shape.dims[WIDTH];
    return liana__build2(node->where, node->op, rewriter->map[node->inputs[0]->id], rewriter->map[node->inputs[1]->id],
                         &attributes);
}

static liana_tensor rewrite(const liana__rewriter *rewriter, const liana__node *node)
{
    const liana__conv_family *family = family_of(node->op);
    if (family && node->op != family->input_gradient && is_border(node->inputs[0])) return fold_border(rewriter, node);
    if (takes_border_off(node)) {
        family = family_of(node->inputs[0]->op);
        if (family && node->inputs[0]->op == family->input_gradient) return fold_slice(rewriter, node);
    }
    return (liana_tensor){0};
}

const liana__pass liana__pass_fold_padding = {
    .name = "fold_padding",
    .doc = "Zero padding before a convolution becomes the convolution's own padding.",
    .rewrite = rewrite,
};
