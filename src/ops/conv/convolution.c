/* The common code of convolutions (cross-correlations) of images, dense and depthwise, and of volumes, and of their
 * gradients. */
#include "ops/conv/convolution.h"

#include "ops/linear/product.h"

/* ---- attributes ---- */

static const liana__field fields[] = {
    LIANA__FIELD_ROW(liana__conv_attributes, window, SECTION, .section = &liana__window_fields,
                     .doc = "How the kernel slides over the images."),
    LIANA__FIELD_ROW(liana__conv_attributes, groups, INT, .doc = "Groups of channels that are convolved separately."),
    LIANA__FIELD_ROW(liana__conv_attributes, size, INT_PAIR,
                     .doc = "Height and width of the result, which do not follow from the inputs."),
};
const liana__fields liana__conv_fields = {"convolution", sizeof(liana__conv_attributes), 2, fields};
const liana__fields liana__conv_gradient_fields = {"convolution gradient", sizeof(liana__conv_attributes), 3, fields};

static const liana__field volume_fields[] = {
    LIANA__FIELD_ROW(liana__conv_attributes, depth, SECTION, .section = &liana__depth_fields,
                     .doc = "How the kernel slides over the planes."),
    LIANA__FIELD_ROW(liana__conv_attributes, window, SECTION, .section = &liana__window_fields,
                     .doc = "How the kernel slides over each plane."),
    LIANA__FIELD_ROW(liana__conv_attributes, groups, INT, .doc = "Groups of channels that are convolved separately."),
    LIANA__FIELD_ROW(liana__conv_attributes, depth_size, INT,
                     .doc = "Depth of the result, which does not follow from the inputs."),
    LIANA__FIELD_ROW(liana__conv_attributes, size, INT_PAIR,
                     .doc = "Height and width of the result, which do not follow from the inputs."),
};
const liana__fields liana__conv3d_fields = {"convolution", sizeof(liana__conv_attributes), 3, volume_fields};
const liana__fields liana__conv3d_gradient_fields = {"convolution gradient", sizeof(liana__conv_attributes), 5,
                                                     volume_fields};

liana_tensor liana__conv_build(liana_location here, const liana__op *op, liana_tensor x, liana_tensor kernel,
                               const liana_conv_options *options)
{
    const liana__conv_attributes attributes = {
        .window = liana__window_of(options->strides, options->padding, options->explicit_padding, options->dilations),
        .groups = options->groups,
    };
    return liana__build2(here, op, x, kernel, &attributes);
}

static const liana__conv_family *family_of(const liana__op *op)
{
    return op->details;
}

/* ---- gradients ---- */

/* The axis of the height in images and in kernels. */
static int image_height(const liana__conv_family *family)
{
    return family->volumes ? 2 : 1;
}

static int kernel_height(const liana__conv_family *family)
{
    return family->volumes ? 1 : 0;
}

enum { AS_INFERRED = -1 };

/* Builds `op` with this node's window and groups, as a gradient for the node's input `index`. That input has the height
 * of the result as axis `height` (-1: the op finds the sizes itself), the width behind it and the depth before it.
 * Gradients of kernels arrive and leave wide; casts are between them and the other operands, if these are narrow. */
static liana_tensor build_like(const liana__gradient *g, const liana__op *op, liana_tensor a, liana_tensor b,
                               uint32_t index, int height)
{
    const liana__node *input = g->node->inputs[index];
    liana__conv_attributes attributes = *(const liana__conv_attributes *)g->node->attributes;
    for (int i = 0; i < 2; i++) attributes.size[i] = height < 0 ? 0 : input->shape.dims[height + i];
    attributes.depth_size = height < 0 || !family_of(op)->volumes ? 0 : input->shape.dims[height - 1];
    liana_tensor made = liana__build2(g->node->where, op, liana_op_cast_at(g->node->where, a, input->dtype),
                                      liana_op_cast_at(g->node->where, b, input->dtype), &attributes);
    return liana_op_cast_at(g->node->where, made, input->dtype);
}

void liana__conv_forward_gradient(liana__gradient *g)
{
    const liana__conv_family *family = family_of(g->node->op);
    liana_tensor x = g->inputs[0], kernel = g->inputs[1], dy = g->output_gradient;
    if (g->wanted[0])
        g->input_gradients[0] = build_like(g, family->input_gradient, dy, kernel, 0, image_height(family));
    if (g->wanted[1]) g->input_gradients[1] = build_like(g, family->kernel_gradient, x, dy, 1, kernel_height(family));
}

/* dx = I(dy, kernel) is defined by <v, I(dy, kernel)> = <conv(v, kernel), dy> for all v. */
void liana__conv_input_gradient_gradient(liana__gradient *g)
{
    const liana__conv_family *family = family_of(g->node->op);
    liana_tensor dy = g->inputs[0], kernel = g->inputs[1], v = g->output_gradient;
    if (g->wanted[0]) g->input_gradients[0] = build_like(g, family->forward, v, kernel, 0, AS_INFERRED);
    if (g->wanted[1]) g->input_gradients[1] = build_like(g, family->kernel_gradient, v, dy, 1, kernel_height(family));
}

/* dkernel = K(x, dy) is defined by <v, K(x, dy)> = <conv(x, v), dy> for all v. */
void liana__conv_kernel_gradient_gradient(liana__gradient *g)
{
    const liana__conv_family *family = family_of(g->node->op);
    liana_tensor x = g->inputs[0], dy = g->inputs[1], v = g->output_gradient;
    if (g->wanted[0]) g->input_gradients[0] = build_like(g, family->input_gradient, dy, v, 0, image_height(family));
    if (g->wanted[1]) g->input_gradients[1] = build_like(g, family->forward, x, v, 1, AS_INFERRED);
}

/* ---- shapes ---- */

static const char images[] = "[batch, height, width, channels]";
static const char volumes[] = "[batch, depth, height, width, channels]";

static const char *layout_of(const liana__conv_family *family)
{
    return family->volumes ? volumes : images;
}

/* Images and kernels have one rank and one float dtype, which becomes the result's (wide for kernel gradients).
 * `second` is the layout of input 1. */
static liana_status infer_inputs(liana__infer *infer, const char *second)
{
    const liana__conv_family *family = family_of(infer->op);
    const int rank = family->volumes ? 5 : 4;
    LIANA_TRY(liana__infer_rank(infer, 0, rank, layout_of(family)));
    LIANA_TRY(liana__infer_rank(infer, 1, rank, second));
    LIANA_TRY(liana__infer_float(infer, 0));
    LIANA_TRY(liana__infer_same_dtype(infer, 0, 1));
    infer->dtype = infer->inputs[0]->dtype;
    return LIANA_OK;
}

/* The axes of kernels: channels of a group, filters. The filters' axis is also that of the channels of images. */
static int64_t kernel_channels(const liana_shape *kernel)
{
    return kernel->dims[kernel->rank - 2];
}

static int64_t last_of(const liana_shape *shape)
{
    return shape->dims[shape->rank - 1];
}

/* The shape with the batch of `first`, these sizes, and the last axis `last`; or of a kernel, with `first` as its
 * channels: [sizes, first, last]. */
static liana_shape make_shape(const liana__conv_family *family, const liana__conv_attributes *attributes, bool kernel,
                              int64_t first, int64_t last)
{
    const int rank = family->volumes ? 5 : 4, at = kernel ? 0 : 1;
    liana_shape shape = {.rank = rank};
    if (family->volumes) shape.dims[at] = attributes->depth_size;
    for (int i = 0; i < 2; i++) shape.dims[at + (family->volumes ? 1 : 0) + i] = attributes->size[i];
    shape.dims[kernel ? rank - 2 : 0] = first;
    shape.dims[rank - 1] = last;
    return shape;
}

static liana_status check_groups(liana__infer *infer, int64_t filters)
{
    int64_t *groups = &((liana__conv_attributes *)infer->attributes)->groups;
    if (*groups == 0) *groups = 1;
    if (family_of(infer->op)->depthwise) {
        if (*groups == 1) return LIANA_OK;
        return liana__infer_fail(infer,
                                 "groups is %lld, expected 0 or 1: a depthwise convolution has a group for each "
                                 "channel",
                                 (long long)*groups);
    }
    if (*groups >= 1 && filters % *groups == 0) return LIANA_OK;
    return liana__infer_fail(infer, "%lld filters cannot be divided into %lld groups", (long long)filters,
                             (long long)*groups);
}

static liana_status fail_channels(liana__infer *infer, int64_t of_kernel, int64_t groups, int64_t channels)
{
    if (family_of(infer->op)->depthwise) {
        return liana__infer_fail(infer, "kernel expects %lld input channels, x has %lld", (long long)of_kernel,
                                 (long long)channels);
    }
    return liana__infer_fail(infer, "kernel expects %lld input channels (%lld for each of %lld groups), x has %lld",
                             (long long)(of_kernel * groups), (long long)of_kernel, (long long)groups,
                             (long long)channels);
}

/* The result of the convolution of `x` with `kernel`. */
static liana_status infer_output(liana__infer *infer, const liana_shape *x, const liana_shape *kernel, liana_shape *y)
{
    const liana__conv_family *family = family_of(infer->op);
    liana__conv_attributes *attributes = infer->attributes;
    LIANA_TRY(check_groups(infer, last_of(kernel)));
    if (kernel_channels(kernel) * attributes->groups != last_of(x)) {
        return fail_channels(infer, kernel_channels(kernel), attributes->groups, last_of(x));
    }
    const int64_t repeated = family->depthwise ? kernel_channels(kernel) : 1;
    *y = *x;
    y->dims[y->rank - 1] = repeated * last_of(kernel);
    const int row = image_height(family), kernel_row = kernel_height(family);
    if (family->volumes) {
        LIANA_TRY(liana__window_resolve_depth(infer, &attributes->depth, x->dims[1], kernel->dims[0], &y->dims[1]));
    }
    return liana__window_resolve(infer, &attributes->window, &x->dims[row], &kernel->dims[kernel_row], &y->dims[row]);
}

/* Checks that dy is as large as the result of the convolution of `x` with `kernel`. */
static liana_status check_output(liana__infer *infer, const liana_shape *x, const liana_shape *kernel,
                                 const liana_shape *dy)
{
    liana_shape expected;
    LIANA_TRY(infer_output(infer, x, kernel, &expected));
    return liana__infer_shape(infer, "dy", dy, "the convolution's result", &expected);
}

liana_status liana__conv_infer_forward(liana__infer *infer)
{
    LIANA_TRY(infer_inputs(infer, family_of(infer->op)->kernel_layout));
    return infer_output(infer, &infer->inputs[0]->shape, &infer->inputs[1]->shape, &infer->shape);
}

liana_status liana__conv_infer_input_gradient(liana__infer *infer)
{
    const liana__conv_attributes *attributes = infer->attributes;
    LIANA_TRY(infer_inputs(infer, family_of(infer->op)->kernel_layout));
    const liana_shape *dy = &infer->inputs[0]->shape, *kernel = &infer->inputs[1]->shape;
    LIANA_TRY(check_groups(infer, last_of(kernel)));
    infer->shape =
        make_shape(family_of(infer->op), attributes, false, dy->dims[0], kernel_channels(kernel) * attributes->groups);
    return check_output(infer, &infer->shape, kernel, dy);
}

liana_status liana__conv_infer_kernel_gradient(liana__infer *infer)
{
    const liana__conv_attributes *attributes = infer->attributes;
    const liana__conv_family *family = family_of(infer->op);
    LIANA_TRY(infer_inputs(infer, layout_of(family)));
    infer->dtype = liana__wide_dtype(infer->dtype);
    const liana_shape *x = &infer->inputs[0]->shape, *dy = &infer->inputs[1]->shape;
    LIANA_TRY(check_groups(infer, last_of(dy)));
    const int64_t shared = family->depthwise ? last_of(x) : 1;
    infer->shape = make_shape(family, attributes, true, last_of(x) / attributes->groups, last_of(dy) / shared);
    return check_output(infer, x, &infer->shape, dy);
}

liana__conv_pass liana__conv_pass_of(const liana__node *node)
{
    const liana__conv_family *family = family_of(node->op);
    if (node->op == family->input_gradient) return LIANA__CONV_INPUT_GRADIENT;
    return node->op == family->kernel_gradient ? LIANA__CONV_KERNEL_GRADIENT : LIANA__CONV_FORWARD;
}

/* The shapes of the convolution itself: x, kernel, y. */
typedef struct conv_shapes {
    const liana_shape *x, *kernel, *y;
} conv_shapes;

static conv_shapes shapes_of(const liana__node *node)
{
    const liana_shape *a = liana__input_shape(node, 0), *b = liana__input_shape(node, 1), *result = &node->shape;
    switch (liana__conv_pass_of(node)) {
    case LIANA__CONV_INPUT_GRADIENT: return (conv_shapes){result, b, a};
    case LIANA__CONV_KERNEL_GRADIENT: return (conv_shapes){a, result, b};
    default: return (conv_shapes){a, b, result};
    }
}

liana__geometry liana__conv_geometry(const liana__node *node)
{
    const liana__conv_family *family = family_of(node->op);
    const liana__conv_attributes *attributes = node->attributes;
    const conv_shapes s = shapes_of(node);
    const int row = image_height(family);
    liana__geometry g = liana__window_geometry(&attributes->window);
    g.batch = s.x->dims[0];
    for (int i = 0; i < 2; i++) {
        g.input[i] = s.x->dims[row + i];
        g.output[i] = s.y->dims[row + i];
        g.window[i] = s.kernel->dims[kernel_height(family) + i];
    }
    g.channels = last_of(s.x);
    g.filters = last_of(s.y);
    g.groups = family->depthwise ? g.channels : attributes->groups;
    return g;
}

liana__geometry liana__conv_depth(const liana__node *node)
{
    const conv_shapes s = shapes_of(node);
    liana__geometry g = liana__window_geometry(&((const liana__conv_attributes *)node->attributes)->depth);
    g.input[0] = s.x->dims[1];
    g.output[0] = s.y->dims[1];
    g.window[0] = s.kernel->dims[0];
    return g;
}

/* ---- reference loops ---- */

double liana__conv_forward_element(const liana__conv_loop *loop, int64_t n, int64_t row, int64_t column, int64_t filter)
{
    const liana__call *call = loop->call;
    const liana__geometry *g = &loop->geometry;
    liana_dtype dtype = call->node->inputs[0]->dtype;
    int64_t channels = g->channels / g->groups, first = filter / (g->filters / g->groups) * channels;
    double total = 0;
    for (int64_t i = 0; i < g->window[0]; i++) {
        int64_t in_row = liana__window_source(g, 0, row, i);
        for (int64_t j = 0; j < g->window[1] && in_row >= 0; j++) {
            int64_t in_column = liana__window_source(g, 1, column, j);
            for (int64_t c = 0; c < channels && in_column >= 0; c++) {
                total += liana__load(call->src[0], dtype, liana__conv_at_input(g, n, in_row, in_column, first + c)) *
                         liana__load(call->src[1], dtype, liana__conv_at_kernel(g, i, j, c, filter));
            }
        }
    }
    return total;
}

double liana__conv_input_gradient_element(const liana__conv_loop *loop, int64_t n, int64_t row, int64_t column,
                                          int64_t channel)
{
    const liana__geometry *g = &loop->geometry;
    const void *kernel = loop->call->src[loop->dy + 1];
    liana_dtype dtype = loop->call->node->inputs[0]->dtype;
    int64_t channels = g->channels / g->groups, filters = g->filters / g->groups;
    int64_t first = channel / channels * filters;
    double total = 0;
    for (int64_t i = 0; i < g->window[0]; i++) {
        int64_t out_row = liana__window_target(g, 0, row, i);
        for (int64_t j = 0; j < g->window[1] && out_row >= 0; j++) {
            int64_t out_column = liana__window_target(g, 1, column, j);
            for (int64_t f = first; f < first + filters && out_column >= 0; f++) {
                total += loop->dy_at(loop, n, out_row, out_column, f) *
                         liana__load(kernel, dtype, liana__conv_at_kernel(g, i, j, channel % channels, f));
            }
        }
    }
    return total;
}

double liana__conv_kernel_gradient_element(const liana__conv_loop *loop, int64_t i, int64_t j, int64_t channel,
                                           int64_t filter)
{
    const liana__geometry *g = &loop->geometry;
    liana_dtype dtype = loop->call->node->inputs[0]->dtype;
    channel += filter / (g->filters / g->groups) * (g->channels / g->groups);
    double total = 0;
    for (int64_t n = 0; n < g->batch; n++) {
        for (int64_t row = 0; row < g->output[0]; row++) {
            int64_t in_row = liana__window_source(g, 0, row, i);
            for (int64_t column = 0; column < g->output[1] && in_row >= 0; column++) {
                int64_t in_column = liana__window_source(g, 1, column, j);
                if (in_column < 0) continue;
                int64_t at = liana__conv_at_input(g, n, in_row, in_column, channel);
                total += liana__load(loop->call->src[0], dtype, at) * loop->dy_at(loop, n, row, column, filter);
            }
        }
    }
    return total;
}

static double dy_at(const liana__conv_loop *loop, int64_t n, int64_t row, int64_t column, int64_t filter)
{
    const int64_t at = liana__conv_at_output(&loop->geometry, n, row, column, filter);
    return liana__load(loop->call->src[loop->dy], loop->call->node->inputs[0]->dtype, at);
}

liana_status liana__conv_run_loop(const liana__conv_loop *loop, liana__conv_element *element)
{
    const liana__node *node = loop->call->node;
    const liana__geometry *g = &loop->geometry;
    const int64_t kernel[] = {g->window[1], g->channels / g->groups, g->filters};
    const int64_t *d = element == liana__conv_kernel_gradient_element ? kernel : &node->shape.dims[1];
    const int64_t size = liana_shape_size(&node->shape);
    for (int64_t i = 0; i < size; i++) {
        const int64_t pixel = i / d[2], line = pixel / d[1];
        double value = element(loop, line / d[0], line % d[0], pixel % d[1], i % d[2]);
        if (loop->finish) value = loop->finish(loop->call, i, value);
        liana__store(loop->call->dst, node->dtype, i, value);
    }
    return LIANA_OK;
}

liana_status liana__conv_run_reference(const liana__call *call)
{
    static liana__conv_element *const elements[] = {
        [LIANA__CONV_FORWARD] = liana__conv_forward_element,
        [LIANA__CONV_INPUT_GRADIENT] = liana__conv_input_gradient_element,
        [LIANA__CONV_KERNEL_GRADIENT] = liana__conv_kernel_gradient_element,
    };
    const liana__conv_pass pass = liana__conv_pass_of(call->node);
    const size_t dy = pass == LIANA__CONV_KERNEL_GRADIENT;
    const liana__geometry geometry = liana__conv_geometry(call->node);
    return liana__conv_run_loop(&(liana__conv_loop){call, geometry, dy, dy_at, NULL}, elements[pass]);
}

/* ---- cost ---- */

static const char *window_name(const int64_t window[2])
{
    static const char *const names[] = {[1] = "1x1", [2] = "2x2", [3] = "3x3", [5] = "5x5", [7] = "7x7"};
    bool known = window[0] == window[1] && window[0] < (int64_t)(sizeof names / sizeof *names);
    return known ? names[window[0]] : NULL;
}

void liana__conv_cost_of_geometry(const liana__geometry *g, liana__cost *cost)
{
    double outputs = (double)g->batch * (double)g->output[0] * (double)g->output[1] * (double)g->filters;
    double taps = (double)g->window[0] * (double)g->window[1] * (double)(g->channels / g->groups);
    cost->flops = 2 * outputs * taps;
    cost->family = "convolutions";
    cost->variant = window_name(g->window);
    cost->dot_products = g->groups == 1;
}

void liana__conv_cost(const liana__node *node, liana__cost *cost)
{
    const liana__geometry geometry = liana__conv_geometry(node);
    liana__conv_cost_of_geometry(&geometry, cost);
    if (family_of(node->op)->depthwise) cost->family = "depthwise convolutions";
    if (!family_of(node->op)->volumes) return;
    const liana__geometry depth = liana__conv_depth(node);
    cost->flops *= (double)depth.output[0] * (double)depth.window[0];
    cost->family = "convolutions of volumes";
}

liana__parts liana__conv_kernel_gradient_parts(const liana__node *node)
{
    return (liana__parts){.kind = LIANA__PART_SUM, .rows = liana__input_shape(node, 0)->dims[0]};
}

bool liana__conv_product(const liana__node *node, liana__product *product, const char **reason)
{
    const liana__geometry g = liana__conv_geometry(node);
    *reason = "not 1x1, without padding, in one group";
    if (!liana__geometry_is_of_pixels(&g)) return false;
    const int64_t pixels = g.batch * g.output[0] * g.output[1];
    *product = (liana__product){
        .rows = pixels,
        .depth = g.channels,
        .columns = g.filters,
        .strided = !liana__geometry_is_pointwise(&g),
        .grid = {g.output[0], g.output[1], {g.strides[0], g.strides[1]}, g.input[0], g.input[1]},
        .finished = liana__has_epilogue(node),
        .activation = liana__conv_activation_of(node),
        .measured = node->op == family_of(node->op)->forward,
    };
    const liana__conv_pass pass = liana__conv_pass_of(node);
    if (pass == LIANA__CONV_INPUT_GRADIENT) {
        product->transpose_b = true;
        product->depth = g.filters;
        product->columns = g.channels;
    } else if (pass == LIANA__CONV_KERNEL_GRADIENT) {
        product->transpose_a = true;
        product->rows = g.channels;
        product->depth = pixels;
    }
    return true;
}
