/* Convolution (cross-correlation) of images with a kernel, and its two gradients. */
#include "ops/conv/conv2d.h"

#include "ops/conv/conv2d.stablehlo.h"
#include "ops/linear/product_kernels.h"

/* ---- what dense and depthwise convolutions share ---- */

static const liana__field fields[] = {
    {.name = "window",
     .kind = LIANA__FIELD_SECTION,
     .offset = offsetof(liana__conv_attributes, window),
     .section = &liana__window_fields,
     .doc = "How the kernel slides over the images."},
    {.name = "groups",
     .kind = LIANA__FIELD_INT,
     .offset = offsetof(liana__conv_attributes, groups),
     .doc = "Groups of channels that are convolved separately."},
    {.name = "size",
     .kind = LIANA__FIELD_INT_PAIR,
     .offset = offsetof(liana__conv_attributes, size),
     .doc = "Height and width of the result, which do not follow from the inputs."},
};
const liana__fields liana__conv_fields = {"convolution", sizeof(liana__conv_attributes), 2, fields};
const liana__fields liana__conv_gradient_fields = {"convolution gradient", sizeof(liana__conv_attributes), 3, fields};

liana__conv_attributes liana__conv_attributes_of(const liana_conv_options *options)
{
    return (liana__conv_attributes){
        .window = liana__window_of(options->strides, options->padding, options->explicit_padding, options->dilations),
        .groups = options->groups,
    };
}

/* Builds `op` with this node's window and groups, as a gradient for the node's input `index`. That input has, from
 * `first_axis` on, the height and width of the result (-1: the op finds them itself). Gradients of kernels arrive and
 * leave wide; casts are between them and the other operands, if these are narrow. */
static liana_tensor build_like(const liana__gradient *g, const liana__op *op, liana_tensor a, liana_tensor b,
                               uint32_t index, int first_axis)
{
    const liana__node *input = g->node->inputs[index];
    liana__conv_attributes attributes = *(const liana__conv_attributes *)g->node->attributes;
    for (int i = 0; i < 2; i++) attributes.size[i] = first_axis < 0 ? 0 : input->shape.dims[first_axis + i];
    liana_tensor made = liana__build2(g->node->where, op, liana_op_cast_at(g->node->where, a, input->dtype),
                                      liana_op_cast_at(g->node->where, b, input->dtype), &attributes);
    return liana_op_cast_at(g->node->where, made, input->dtype);
}

enum { IMAGE_HEIGHT = 1, KERNEL_HEIGHT = 0, AS_INFERRED = -1 };

void liana__conv_forward_gradient(const liana__conv_family *family, liana__gradient *g)
{
    liana_tensor x = g->inputs[0], kernel = g->inputs[1], dy = g->output_gradient;
    if (g->wanted[0]) g->input_gradients[0] = build_like(g, family->input_gradient, dy, kernel, 0, IMAGE_HEIGHT);
    if (g->wanted[1]) g->input_gradients[1] = build_like(g, family->kernel_gradient, x, dy, 1, KERNEL_HEIGHT);
}

/* dx = I(dy, kernel) is defined by <v, I(dy, kernel)> = <conv(v, kernel), dy> for all v. */
void liana__conv_input_gradient_gradient(const liana__conv_family *family, liana__gradient *g)
{
    liana_tensor dy = g->inputs[0], kernel = g->inputs[1], v = g->output_gradient;
    if (g->wanted[0]) g->input_gradients[0] = build_like(g, family->forward, v, kernel, 0, AS_INFERRED);
    if (g->wanted[1]) g->input_gradients[1] = build_like(g, family->kernel_gradient, v, dy, 1, KERNEL_HEIGHT);
}

/* dkernel = K(x, dy) is defined by <v, K(x, dy)> = <conv(x, v), dy> for all v. */
void liana__conv_kernel_gradient_gradient(const liana__conv_family *family, liana__gradient *g)
{
    liana_tensor x = g->inputs[0], dy = g->inputs[1], v = g->output_gradient;
    if (g->wanted[0]) g->input_gradients[0] = build_like(g, family->input_gradient, dy, v, 0, IMAGE_HEIGHT);
    if (g->wanted[1]) g->input_gradients[1] = build_like(g, family->forward, x, v, 1, AS_INFERRED);
}

liana_status liana__conv_infer_inputs(liana__infer *infer, const char *first, const char *second)
{
    LIANA_TRY(liana__infer_rank(infer, 0, 4, first));
    LIANA_TRY(liana__infer_rank(infer, 1, 4, second));
    LIANA_TRY(liana__infer_float(infer, 0));
    LIANA_TRY(liana__infer_same_dtype(infer, 0, 1));
    infer->dtype = infer->inputs[0]->dtype;
    return LIANA_OK;
}

liana_status liana__conv_check_output(liana__infer *infer, const liana_shape *dy, const liana_shape *expected)
{
    if (liana_shape_equal(dy, expected)) return LIANA_OK;
    return liana__infer_fail(infer, "dy has the shape %s, expected the convolution's result %s",
                             liana__shape_print(dy).text, liana__shape_print(expected).text);
}

/* ---- shapes ---- */

static const char images[] = "[batch, height, width, channels]";
static const char kernels_layout[] = "[height, width, channels / groups, filters]";

static liana_status check_groups(liana__infer *infer, int64_t filters)
{
    int64_t *groups = &((liana__conv_attributes *)infer->attributes)->groups;
    if (*groups == 0) *groups = 1;
    if (*groups >= 1 && filters % *groups == 0) return LIANA_OK;
    return liana__infer_fail(infer, "%lld filters cannot be divided into %lld groups", (long long)filters,
                             (long long)*groups);
}

/* The result of the convolution of `x` with `kernel`. */
static liana_status infer_output(liana__infer *infer, const liana_shape *x, const liana_shape *kernel, liana_shape *y)
{
    liana__conv_attributes *attributes = infer->attributes;
    LIANA_TRY(check_groups(infer, kernel->dims[3]));
    if (kernel->dims[2] * attributes->groups != x->dims[3]) {
        return liana__infer_fail(infer, "kernel expects %lld input channels (%lld for each of %lld groups), x has %lld",
                                 (long long)(kernel->dims[2] * attributes->groups), (long long)kernel->dims[2],
                                 (long long)attributes->groups, (long long)x->dims[3]);
    }
    *y = liana_shape_of(x->dims[0], 0, 0, kernel->dims[3]);
    return liana__window_resolve(infer, &attributes->window, &x->dims[1], &kernel->dims[0], &y->dims[1]);
}

static liana_status infer_forward(liana__infer *infer)
{
    LIANA_TRY(liana__conv_infer_inputs(infer, images, kernels_layout));
    return infer_output(infer, &infer->inputs[0]->shape, &infer->inputs[1]->shape, &infer->shape);
}

static liana_status infer_input_gradient(liana__infer *infer)
{
    liana__conv_attributes *attributes = infer->attributes;
    LIANA_TRY(liana__conv_infer_inputs(infer, images, kernels_layout));
    const liana_shape *dy = &infer->inputs[0]->shape, *kernel = &infer->inputs[1]->shape;
    LIANA_TRY(check_groups(infer, kernel->dims[3]));
    infer->shape =
        liana_shape_of(dy->dims[0], attributes->size[0], attributes->size[1], kernel->dims[2] * attributes->groups);
    liana_shape expected;
    LIANA_TRY(infer_output(infer, &infer->shape, kernel, &expected));
    return liana__conv_check_output(infer, dy, &expected);
}

static liana_status infer_kernel_gradient(liana__infer *infer)
{
    liana__conv_attributes *attributes = infer->attributes;
    LIANA_TRY(liana__conv_infer_inputs(infer, images, images));
    infer->dtype = liana__wide_dtype(infer->dtype);
    const liana_shape *x = &infer->inputs[0]->shape, *dy = &infer->inputs[1]->shape;
    LIANA_TRY(check_groups(infer, dy->dims[3]));
    infer->shape =
        liana_shape_of(attributes->size[0], attributes->size[1], x->dims[3] / attributes->groups, dy->dims[3]);
    liana_shape expected;
    LIANA_TRY(infer_output(infer, x, &infer->shape, &expected));
    return liana__conv_check_output(infer, dy, &expected);
}

liana__conv_pass liana__conv_pass_of(const liana__conv_family *family, const liana__node *node)
{
    if (node->op == family->input_gradient) return LIANA__CONV_INPUT_GRADIENT;
    return node->op == family->kernel_gradient ? LIANA__CONV_KERNEL_GRADIENT : LIANA__CONV_FORWARD;
}

static liana__geometry geometry_of(const liana__conv_family *family, const liana__node *node)
{
    const liana__conv_attributes *attributes = node->attributes;
    const liana_shape *x = liana__input_shape(node, 0), *kernel = liana__input_shape(node, 1), *y = &node->shape;
    liana__conv_pass pass = liana__conv_pass_of(family, node);
    if (pass == LIANA__CONV_INPUT_GRADIENT) {
        y = x;
        x = &node->shape;
    } else if (pass == LIANA__CONV_KERNEL_GRADIENT) {
        y = kernel;
        kernel = &node->shape;
    }
    liana__geometry g = liana__window_geometry(&attributes->window);
    g.batch = x->dims[0];
    for (int i = 0; i < 2; i++) {
        g.input[i] = x->dims[1 + i];
        g.output[i] = y->dims[1 + i];
        g.window[i] = kernel->dims[i];
    }
    g.channels = x->dims[3];
    g.filters = y->dims[3];
    g.groups = attributes->groups;
    return g;
}

liana__geometry liana__conv2d_geometry(const liana__node *node)
{
    return geometry_of(&liana__conv2d_family, node);
}

liana__geometry liana__depthwise_conv2d_geometry(const liana__node *node)
{
    liana__geometry g = geometry_of(&liana__depthwise_conv2d_family, node);
    g.groups = g.channels;
    return g;
}

/* ---- reference loops ---- */

/* The index of one element of x, y and the kernel. */
static int64_t at_input(const liana__geometry *g, int64_t n, int64_t row, int64_t column, int64_t channel)
{
    return ((n * g->input[0] + row) * g->input[1] + column) * g->channels + channel;
}

static int64_t at_output(const liana__geometry *g, int64_t n, int64_t row, int64_t column, int64_t filter)
{
    return ((n * g->output[0] + row) * g->output[1] + column) * g->filters + filter;
}

static int64_t at_kernel(const liana__geometry *g, int64_t row, int64_t column, int64_t channel, int64_t filter)
{
    return ((row * g->window[1] + column) * (g->channels / g->groups) + channel) * g->filters + filter;
}

static double forward_element(const liana__call *call, const liana__geometry *g, int64_t n, int64_t row, int64_t column,
                              int64_t filter)
{
    liana_dtype dtype = call->node->inputs[0]->dtype;
    int64_t channels = g->channels / g->groups, first = filter / (g->filters / g->groups) * channels;
    double total = 0;
    for (int64_t i = 0; i < g->window[0]; i++) {
        int64_t in_row = liana__window_source(g, 0, row, i);
        for (int64_t j = 0; j < g->window[1] && in_row >= 0; j++) {
            int64_t in_column = liana__window_source(g, 1, column, j);
            for (int64_t c = 0; c < channels && in_column >= 0; c++) {
                total += liana__load(call->src[0], dtype, at_input(g, n, in_row, in_column, first + c)) *
                         liana__load(call->src[1], dtype, at_kernel(g, i, j, c, filter));
            }
        }
    }
    return total;
}

static double input_gradient_element(const liana__call *call, const liana__geometry *g, int64_t n, int64_t row,
                                     int64_t column, int64_t channel)
{
    liana_dtype dtype = call->node->inputs[0]->dtype;
    int64_t channels = g->channels / g->groups, filters = g->filters / g->groups;
    int64_t first = channel / channels * filters;
    double total = 0;
    for (int64_t i = 0; i < g->window[0]; i++) {
        int64_t out_row = liana__window_target(g, 0, row, i);
        for (int64_t j = 0; j < g->window[1] && out_row >= 0; j++) {
            int64_t out_column = liana__window_target(g, 1, column, j);
            for (int64_t f = first; f < first + filters && out_column >= 0; f++) {
                total += liana__load(call->src[0], dtype, at_output(g, n, out_row, out_column, f)) *
                         liana__load(call->src[1], dtype, at_kernel(g, i, j, channel % channels, f));
            }
        }
    }
    return total;
}

static double kernel_gradient_element(const liana__call *call, const liana__geometry *g, int64_t i, int64_t j,
                                      int64_t channel, int64_t filter)
{
    liana_dtype dtype = call->node->inputs[0]->dtype;
    channel += filter / (g->filters / g->groups) * (g->channels / g->groups);
    double total = 0;
    for (int64_t n = 0; n < g->batch; n++) {
        for (int64_t row = 0; row < g->output[0]; row++) {
            int64_t in_row = liana__window_source(g, 0, row, i);
            for (int64_t column = 0; column < g->output[1] && in_row >= 0; column++) {
                int64_t in_column = liana__window_source(g, 1, column, j);
                if (in_column < 0) continue;
                total += liana__load(call->src[0], dtype, at_input(g, n, in_row, in_column, channel)) *
                         liana__load(call->src[1], dtype, at_output(g, n, row, column, filter));
            }
        }
    }
    return total;
}

typedef double element_function(const liana__call *call, const liana__geometry *geometry, int64_t a, int64_t b,
                                int64_t c, int64_t d);

liana_status liana__conv_run_finished_reference(const liana__call *call, const liana__geometry *geometry,
                                                double (*finish)(const liana__call *call, int64_t element, double sum))
{
    const liana__geometry *g = geometry;
    const int64_t size = liana_shape_size(&call->node->shape), pixels = g->output[0] * g->output[1];
    for (int64_t i = 0; i < size; i++) {
        const int64_t pixel = i / g->filters;
        double sum = forward_element(call, g, pixel / pixels, pixel % pixels / g->output[1], pixel % g->output[1],
                                     i % g->filters);
        liana__store(call->dst, call->node->dtype, i, finish(call, i, sum));
    }
    return LIANA_OK;
}

liana_status liana__conv_run_reference(const liana__call *call, liana__conv_pass pass, const liana__geometry *geometry)
{
    const liana__geometry *g = geometry;
    static element_function *const functions[] = {
        [LIANA__CONV_FORWARD] = forward_element,
        [LIANA__CONV_INPUT_GRADIENT] = input_gradient_element,
        [LIANA__CONV_KERNEL_GRADIENT] = kernel_gradient_element,
    };
    /* The result's last three dimensions. */
    const int64_t dims[][3] = {
        [LIANA__CONV_FORWARD] = {g->output[0], g->output[1], g->filters},
        [LIANA__CONV_INPUT_GRADIENT] = {g->input[0], g->input[1], g->channels},
        [LIANA__CONV_KERNEL_GRADIENT] = {g->window[1], g->channels / g->groups, g->filters},
    };
    const int64_t *d = dims[pass];
    int64_t size = liana_shape_size(&call->node->shape);
    for (int64_t i = 0; i < size; i++) {
        double value =
            functions[pass](call, g, i / d[2] / d[1] / d[0], i / d[2] / d[1] % d[0], i / d[2] % d[1], i % d[2]);
        liana__store(call->dst, call->node->dtype, i, value);
    }
    return LIANA_OK;
}

static liana_status run_reference(const liana__call *call)
{
    const liana__geometry geometry = liana__conv2d_geometry(call->node);
    return liana__conv_run_reference(call, liana__conv_pass_of(&liana__conv2d_family, call->node), &geometry);
}

/* ---- cost ---- */

static const char *window_name(const int64_t window[2])
{
    static const char *const names[] = {[1] = "1x1", [2] = "2x2", [3] = "3x3", [5] = "5x5", [7] = "7x7"};
    bool known = window[0] == window[1] && window[0] < (int64_t)(sizeof names / sizeof *names);
    return known ? names[window[0]] : NULL;
}

void liana__conv_cost(const liana__geometry *g, liana__cost *cost)
{
    double outputs = (double)g->batch * (double)g->output[0] * (double)g->output[1] * (double)g->filters;
    double taps = (double)g->window[0] * (double)g->window[1] * (double)(g->channels / g->groups);
    cost->flops = 2 * outputs * taps;
    cost->family = "convolutions";
    cost->variant = window_name(g->window);
    cost->dot_products = g->groups == 1;
}

static void cost_of(const liana__node *node, liana__cost *cost)
{
    const liana__geometry geometry = liana__conv2d_geometry(node);
    liana__conv_cost(&geometry, cost);
}

/* ---- parts ---- */

liana__parts liana__conv_kernel_gradient_parts(const liana__node *node)
{
    return (liana__parts){.kind = LIANA__PART_SUM, .rows = liana__input_shape(node, 0)->dims[0]};
}

/* ---- the ops ---- */

const liana__conv_family liana__conv2d_family = {
    .forward = &liana__op_conv2d,
    .input_gradient = &liana__op_conv2d_input_gradient,
    .kernel_gradient = &liana__op_conv2d_kernel_gradient,
};

static void forward_gradient(liana__gradient *gradient)
{
    liana__conv_forward_gradient(&liana__conv2d_family, gradient);
}

static void input_gradient_gradient(liana__gradient *gradient)
{
    liana__conv_input_gradient_gradient(&liana__conv2d_family, gradient);
}

static void kernel_gradient_gradient(liana__gradient *gradient)
{
    liana__conv_kernel_gradient_gradient(&liana__conv2d_family, gradient);
}

static liana_status lower_node(liana__lowering *lowering, const liana__node *node)
{
    const liana__geometry geometry = liana__conv2d_geometry(node);
    return liana__conv_lower(lowering, node, liana__conv_pass_of(&liana__conv2d_family, node), &geometry);
}

static const liana__kernel reference = {.name = "reference", .run = run_reference};

static const liana__kernel *const kernels[] = {
#if defined(LIANA_X86)
    &liana__product_amx,
    &liana__product_avx512_bf16,
    &liana__product_of_bf16_avx512_bf16_storage,
    &liana__product_of_bf16_avx512,
    &liana__product_of_bf16_avx2,
    &liana__product_avx512,
    &liana__product_avx2,
    &liana__conv2d_window_amx,
    &liana__conv2d_winograd_gradient_avx512,
    &liana__conv2d_winograd_gradient_avx2,
    &liana__conv2d_kernel_gradient_avx512_bf16,
    &liana__conv2d_kernel_gradient_of_bf16_avx512,
    &liana__conv2d_kernel_gradient_of_bf16_avx2,
    &liana__conv2d_kernel_gradient_avx512,
    &liana__conv2d_kernel_gradient_avx2,
    &liana__conv2d_winograd_avx512,
    &liana__conv2d_winograd_avx2,
#endif
    &liana__conv2d_onednn_bf16,
    LIANA__VECTOR_KERNELS(conv2d_few_channels),
    &liana__conv2d_onednn,
    &liana__conv2d_onednn_widened,
    &reference,
    NULL};

const liana__op liana__op_conv2d = {
    .name = "conv2d",
    .doc = "Cross-correlation of NHWC images with an HWIO kernel.",
    .attributes = &liana__conv_fields,
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = infer_forward,
    .gradient = forward_gradient,
    .with_epilogue = &liana__op_conv2d_affine,
    .precision = LIANA__MULTIPLIES,
    .cost = cost_of,
    .parts = liana__parts_first_input,
    .lower = lower_node,
    .kernels = kernels,
};

const liana__op liana__op_conv2d_input_gradient = {
    .name = "conv2d_input_gradient",
    .doc = "The gradient of conv2d with respect to its images, from dy and the kernel.",
    .attributes = &liana__conv_gradient_fields,
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = infer_input_gradient,
    .gradient = input_gradient_gradient,
    .precision = LIANA__MULTIPLIES,
    .cost = cost_of,
    .parts = liana__parts_first_input,
    .lower = lower_node,
    .kernels = kernels,
};

const liana__op liana__op_conv2d_kernel_gradient = {
    .name = "conv2d_kernel_gradient",
    .doc = "The gradient of conv2d with respect to its kernel, from the images and dy.",
    .attributes = &liana__conv_gradient_fields,
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = infer_kernel_gradient,
    .gradient = kernel_gradient_gradient,
    .precision = LIANA__MULTIPLIES_AND_SUMS,
    .cost = cost_of,
    .parts = liana__conv_kernel_gradient_parts,
    .lower = lower_node,
    .kernels = kernels,
};

liana_tensor liana_op_conv2d_at(liana_location here, liana_tensor x, liana_tensor kernel, liana_conv_options options)
{
    liana__conv_attributes attributes = liana__conv_attributes_of(&options);
    return liana__build2(here, &liana__op_conv2d, x, kernel, &attributes);
}
