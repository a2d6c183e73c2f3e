/* Convolutions and pooling: channels first. */
#include "onnx/op_table.h"
#include "ops/conv/convolution.h"
#include "ops/pool/pool2d.h"
#include "ops/shape/slice_pad.h"

enum { MOST_SPATIAL = 3 };

/* A window along the axes of an image or a volume. */
typedef struct window {
    int rank; /* spatial axes */
    int64_t strides[MOST_SPATIAL], dilations[MOST_SPATIAL];
    int64_t pads[2 * MOST_SPATIAL]; /* before all axes, then behind all */
    int64_t size[MOST_SPATIAL];
} window;

static void add_axis(window *w, const liana__window *from, int axis)
{
    const int64_t *padding = axis == 0 ? from->vertical_padding : from->horizontal_padding;
    w->strides[w->rank] = from->strides[axis] ? from->strides[axis] : 1;
    w->dilations[w->rank] = from->dilations[axis] ? from->dilations[axis] : 1;
    w->pads[w->rank] = padding[0];
    w->pads[MOST_SPATIAL + w->rank] = padding[1];
    w->rank++;
}

/* The window of a convolution with this kernel. */
static window window_of(const liana__node *node, const liana__conv_family *family, const liana__node *kernel)
{
    const liana__conv_attributes *own = node->attributes;
    window w = {.rank = 0};
    if (family->volumes) add_axis(&w, &own->depth, 0);
    add_axis(&w, &own->window, 0);
    add_axis(&w, &own->window, 1);
    for (int i = 0; i < w.rank; i++) {
        w.size[i] = kernel->shape.dims[i];
        w.pads[w.rank + i] = w.pads[MOST_SPATIAL + i];
    }
    return w;
}

/* liana's kernel [window.., in, out] becomes [out, in, window..]; a depthwise one, [window.., channels, multiplier],
 * becomes [channels * multiplier, 1, window..]; that of a transposed convolution, whose input has the `out` channels,
 * is the same. */
static const char *kernel_name(liana__onnx_scope *scope, const liana__node *kernel, const window *w, bool depthwise)
{
    const int rank = w->rank;
    const int64_t in = kernel->shape.dims[rank], out = kernel->shape.dims[rank + 1];
    int64_t order[LIANA_MAX_RANK];
    order[0] = depthwise ? rank : rank + 1;
    order[1] = depthwise ? rank + 1 : rank;
    for (int i = 0; i < rank; i++) order[2 + i] = i;
    liana_shape shape = {.rank = rank + 2, .dims = {in * out, 1}};
    for (int i = 0; i < rank; i++) shape.dims[2 + i] = w->size[i];
    return liana__onnx_laid_out(scope, kernel, order, depthwise ? &shape : NULL);
}

static int64_t groups_of(const liana__node *node, const liana__conv_family *family, const liana__node *kernel,
                         const window *w)
{
    const liana__conv_attributes *own = node->attributes;
    if (family->depthwise) return kernel->shape.dims[w->rank];
    return own->groups ? own->groups : 1;
}

static const char *bias_of(liana__onnx_scope *scope, const liana__node *node)
{
    const liana__node *bias = liana__onnx_value_of(scope, node)->bias;
    return bias ? liana__onnx_name(scope, bias, LIANA__ONNX_NATURAL) : "";
}

static void add_padding(window *w, const liana__node *pad)
{
    const liana__pad_attributes *own = pad->attributes;
    for (int i = 0; i < w->rank; i++) {
        w->pads[i] += own->low.values[1 + i];
        w->pads[w->rank + i] += own->high.values[1 + i];
    }
}

void liana__onnx_to_conv(liana__onnx_scope *scope, const liana__node *node, const char *type)
{
    const liana__conv_family *family = node->op->details;
    const liana__node *kernel = node->inputs[1], *pad = liana__onnx_value_of(scope, node)->padding;
    window w = window_of(node, family, kernel);
    const char *x = liana__onnx_name(scope, pad ? pad->inputs[0] : node->inputs[0], LIANA__ONNX_CHANNELS_FIRST);
    const char *weights = kernel_name(scope, kernel, &w, family->depthwise);
    (void)type;
    if (pad) add_padding(&w, pad);
    x = liana__onnx_say(scope, node, "Conv", LIANA__ONNX_OF(x, weights, bias_of(scope, node)),
                        LIANA__ONNX_WITH(LIANA__ONNX_INTS("kernel_shape", w.size, w.rank),
                                         LIANA__ONNX_INTS("strides", w.strides, w.rank),
                                         LIANA__ONNX_INTS("pads", w.pads, 2 * w.rank),
                                         LIANA__ONNX_INTS("dilations", w.dilations, w.rank),
                                         LIANA__ONNX_INT("group", groups_of(node, family, kernel, &w))));
    liana__onnx_give(scope, node, x, LIANA__ONNX_CHANNELS_FIRST);
}

void liana__onnx_to_conv_transpose(liana__onnx_scope *scope, const liana__node *node, const char *type)
{
    const liana__conv_family *family = node->op->details;
    const liana__node *dy = node->inputs[0], *kernel = node->inputs[1];
    window w = window_of(node, family, kernel);
    const char *x = liana__onnx_name(scope, dy, LIANA__ONNX_CHANNELS_FIRST);
    const char *weights = kernel_name(scope, kernel, &w, family->depthwise);
    int64_t more[MOST_SPATIAL];
    (void)type;
    /* Cells that no window reaches: behind the last one, which ONNX calls output_padding. */
    for (int i = 0; i < w.rank; i++) {
        const int64_t reached = w.strides[i] * (dy->shape.dims[1 + i] - 1) + w.dilations[i] * (w.size[i] - 1) + 1;
        more[i] = node->shape.dims[1 + i] - (reached - w.pads[i] - w.pads[w.rank + i]);
        if (more[i] < 0) { /* windows end behind the result */
            w.pads[w.rank + i] -= more[i];
            more[i] = 0;
        }
    }
    x = liana__onnx_say(scope, node, "ConvTranspose", LIANA__ONNX_OF(x, weights, bias_of(scope, node)),
                        LIANA__ONNX_WITH(LIANA__ONNX_INTS("kernel_shape", w.size, w.rank),
                                         LIANA__ONNX_INTS("strides", w.strides, w.rank),
                                         LIANA__ONNX_INTS("pads", w.pads, 2 * w.rank),
                                         LIANA__ONNX_INTS("output_padding", more, w.rank),
                                         LIANA__ONNX_INTS("dilations", w.dilations, w.rank),
                                         LIANA__ONNX_INT("group", groups_of(node, family, kernel, &w))));
    liana__onnx_give(scope, node, x, LIANA__ONNX_CHANNELS_FIRST);
}

void liana__onnx_to_pool(liana__onnx_scope *scope, const liana__node *node, const char *type)
{
    const liana__pool_attributes *own = node->attributes;
    window w = {.rank = 0};
    add_axis(&w, &own->window, 0);
    add_axis(&w, &own->window, 1);
    for (int i = 0; i < w.rank; i++) w.pads[w.rank + i] = w.pads[MOST_SPATIAL + i];
    const char *x = liana__onnx_name(scope, node->inputs[0], LIANA__ONNX_CHANNELS_FIRST);
    x = liana__onnx_say(scope, node, type, LIANA__ONNX_OF(x),
                        LIANA__ONNX_WITH(LIANA__ONNX_INTS("kernel_shape", own->size, w.rank),
                                         LIANA__ONNX_INTS("strides", w.strides, w.rank),
                                         LIANA__ONNX_INTS("pads", w.pads, 2 * w.rank)));
    liana__onnx_give(scope, node, x, LIANA__ONNX_CHANNELS_FIRST);
}
