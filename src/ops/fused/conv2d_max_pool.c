/* Convolution, bias and max pooling (and relu) in one, and the gradients. */
#include "ops/fused/conv2d_max_pool.h"
#include "stablehlo/lowering.h"

#include "ops/conv/convolution.h"

static const liana__field fields[] = {
    LIANA__FIELD_ROW(liana__conv2d_max_pool_attributes, window, SECTION, .section = &liana__window_fields,
                     .doc = "How the kernel slides over the images."),
    LIANA__FIELD_ROW(liana__conv2d_max_pool_attributes, pool, INT_PAIR,
                     .doc = "Height and width of the pooling's window; its strides are the same."),
    LIANA__FIELD_ROW(liana__conv2d_max_pool_attributes, relu, BOOL,
                     .doc = "Whether relu is applied to the pooled values."),
    LIANA__FIELD_ROW(liana__conv2d_max_pool_attributes, size, INT_PAIR,
                     .doc = "Height and width of the result, which do not follow from the inputs."),
};
static const liana__fields forward_fields = {"pooled convolution", sizeof(liana__conv2d_max_pool_attributes), 3,
                                             fields};
static const liana__fields gradient_fields = {"pooled convolution gradient", sizeof(liana__conv2d_max_pool_attributes),
                                              4, fields};

/* ---- shapes ---- */

enum { POOLED_RANK = 5 };

static liana_status check_inputs(liana__infer *infer)
{
    for (size_t i = 0; i < infer->num_inputs; i++) {
        LIANA_TRY(liana__infer_float(infer, i));
        LIANA_TRY(liana__infer_same_dtype(infer, 0, i));
    }
    infer->dtype = infer->inputs[0]->dtype;
    return LIANA_OK;
}

/* The result of the forward op. */
static liana_status infer_pooled(liana__infer *infer, const liana_shape *x, const liana_shape *kernel,
                                 liana_shape *pooled)
{
    liana__conv2d_max_pool_attributes *attributes = infer->attributes;
    if (kernel->dims[2] != x->dims[3]) {
        return liana__infer_fail(infer, "kernel expects %lld input channels, x has %lld", (long long)kernel->dims[2],
                                 (long long)x->dims[3]);
    }
    int64_t output[2];
    LIANA_TRY(liana__window_resolve(infer, &attributes->window, &x->dims[1], &kernel->dims[0], output));
    for (int i = 0; i < 2; i++) {
        if (attributes->pool[i] >= 1 && attributes->pool[i] <= output[i]) continue;
        return liana__infer_fail(infer, "the pooling's window has the size %lld, expected 1 to %lld",
                                 (long long)attributes->pool[i], (long long)output[i]);
    }
    /* Winners are numbers of the images' dtype, which must tell them apart. */
    const int64_t most = infer->dtype == LIANA_BF16 ? 1 << 8 : 1 << 24;
    if (attributes->pool[0] > most / attributes->pool[1]) {
        return liana__infer_fail(infer, "the pooling's window has %lld x %lld elements, %s counts up to %lld",
                                 (long long)attributes->pool[0], (long long)attributes->pool[1],
                                 liana_dtype_name(infer->dtype), (long long)most);
    }
    *pooled = liana_shape_of(2, x->dims[0], output[0] / attributes->pool[0], output[1] / attributes->pool[1],
                             kernel->dims[3]);
    return LIANA_OK;
}

static liana_status infer_forward(liana__infer *infer)
{
    LIANA_TRY(liana__infer_rank(infer, 0, 4, "[batch, height, width, channels]"));
    LIANA_TRY(liana__infer_rank(infer, 1, 4, "[height, width, channels, filters]"));
    LIANA_TRY(liana__infer_rank(infer, 2, 1, "[filters]"));
    LIANA_TRY(check_inputs(infer));
    int64_t filters = infer->inputs[1]->shape.dims[3];
    if (infer->inputs[2]->shape.dims[0] != filters) {
        return liana__infer_fail(infer, "bias has %lld elements for %lld filters",
                                 (long long)infer->inputs[2]->shape.dims[0], (long long)filters);
    }
    return infer_pooled(infer, &infer->inputs[0]->shape, &infer->inputs[1]->shape, &infer->shape);
}

/* Checks the shapes of `pooled` and dy. */
static liana_status check_results(liana__infer *infer, const liana_shape *x, const liana_shape *kernel,
                                  const liana_shape *pooled, const liana_shape *dy)
{
    liana_shape expected;
    LIANA_TRY(infer_pooled(infer, x, kernel, &expected));
    bool same = liana_shape_equal(pooled, &expected);
    for (int i = 0; i < 4; i++) same &= dy->dims[i] == expected.dims[i + 1];
    if (same) return LIANA_OK;
    return liana__infer_fail(infer, "pooled and dy have the shapes %s and %s, expected the forward op's result %s",
                             liana__shape_print(pooled).text, liana__shape_print(dy).text,
                             liana__shape_print(&expected).text);
}

static liana_status infer_input_gradient(liana__infer *infer)
{
    const liana__conv2d_max_pool_attributes *attributes = infer->attributes;
    LIANA_TRY(liana__infer_rank(infer, 0, POOLED_RANK, "[2, batch, height, width, filters]"));
    LIANA_TRY(liana__infer_rank(infer, 1, 4, "[batch, height, width, filters]"));
    LIANA_TRY(liana__infer_rank(infer, 2, 4, "[height, width, channels, filters]"));
    LIANA_TRY(check_inputs(infer));
    const liana_shape *dy = &infer->inputs[1]->shape, *kernel = &infer->inputs[2]->shape;
    infer->shape = liana_shape_of(dy->dims[0], attributes->size[0], attributes->size[1], kernel->dims[2]);
    return check_results(infer, &infer->shape, kernel, &infer->inputs[0]->shape, dy);
}

static liana_status infer_kernel_gradient(liana__infer *infer)
{
    const liana__conv2d_max_pool_attributes *attributes = infer->attributes;
    LIANA_TRY(liana__infer_rank(infer, 0, 4, "[batch, height, width, channels]"));
    LIANA_TRY(liana__infer_rank(infer, 1, POOLED_RANK, "[2, batch, height, width, filters]"));
    LIANA_TRY(liana__infer_rank(infer, 2, 4, "[batch, height, width, filters]"));
    LIANA_TRY(check_inputs(infer));
    const liana_shape *x = &infer->inputs[0]->shape, *dy = &infer->inputs[2]->shape;
    infer->shape = liana_shape_of(attributes->size[0], attributes->size[1], x->dims[3], dy->dims[3]);
    return check_results(infer, x, &infer->shape, &infer->inputs[1]->shape, dy);
}

liana__conv2d_max_pool_geometry liana__conv2d_max_pool_geometry_of(const liana__node *node)
{
    const liana__conv2d_max_pool_attributes *attributes = node->attributes;
    const liana_shape *x = liana__input_shape(node, 0), *kernel = liana__input_shape(node, 1);
    if (node->op == &liana__op_conv2d_max_pool_input_gradient) {
        x = &node->shape;
        kernel = liana__input_shape(node, 2);
    } else if (node->op == &liana__op_conv2d_max_pool_kernel_gradient) {
        kernel = &node->shape;
    }
    liana__geometry g = liana__window_geometry(&attributes->window);
    g.batch = x->dims[0];
    g.channels = x->dims[3];
    g.filters = kernel->dims[3];
    g.groups = 1;
    liana__conv2d_max_pool_geometry geometry;
    for (int i = 0; i < 2; i++) {
        g.input[i] = x->dims[1 + i];
        g.window[i] = kernel->dims[i];
        int64_t reach = (g.window[i] - 1) * g.dilations[i] + 1;
        g.output[i] = (g.input[i] + g.padding_low[i] + g.padding_high[i] - reach) / g.strides[i] + 1;
        geometry.pool[i] = attributes->pool[i];
        geometry.pooled[i] = g.output[i] / attributes->pool[i];
    }
    geometry.conv = g;
    return geometry;
}

/* ---- reference loops ---- */

/* The winner of pooled element `i`; a NaN wins over numbers, the first one over others. */
static void pool_element(const liana__call *call, const liana__conv2d_max_pool_geometry *p, int64_t i)
{
    const liana__conv2d_max_pool_attributes *attributes = call->node->attributes;
    const liana__geometry *g = &p->conv;
    const liana__conv_loop loop = {.call = call, .geometry = *g};
    int64_t filter = i % g->filters, column = i / g->filters % p->pooled[1];
    int64_t row = i / g->filters / p->pooled[1] % p->pooled[0], n = i / g->filters / p->pooled[1] / p->pooled[0];
    double best = 0;
    int64_t winner = 0, taps = p->pool[0] * p->pool[1];
    for (int64_t tap = 0; tap < taps; tap++) {
        double value = liana__conv_forward_element(&loop, n, row * p->pool[0] + tap / p->pool[1],
                                                   column * p->pool[1] + tap % p->pool[1], filter) +
                       liana__load(call->src[2], call->node->dtype, filter);
        if (tap > 0 && (value <= best || best != best)) continue;
        best = value;
        winner = tap;
    }
    if (attributes->relu && best < 0) best = 0;
    liana__store(call->dst, call->node->dtype, i, best);
    liana__store(call->dst, call->node->dtype, liana_shape_size(&call->node->shape) / 2 + i, (double)winner);
}

static liana_status run_forward(const liana__call *call)
{
    const liana__conv2d_max_pool_geometry p = liana__conv2d_max_pool_geometry_of(call->node);
    for (int64_t i = 0; i < liana_shape_size(&call->node->shape) / 2; i++) pool_element(call, &p, i);
    return LIANA_OK;
}

/* The gradient of the convolution's result at one place: 0 where it did not win. The result of the forward op comes
 * before dy. */
static double dy_at(const liana__conv_loop *loop, int64_t n, int64_t row, int64_t column, int64_t filter)
{
    const liana__geometry *g = &loop->geometry;
    const liana__node *node = loop->call->node;
    const int64_t *pool = ((const liana__conv2d_max_pool_attributes *)node->attributes)->pool;
    const int64_t pooled[] = {g->output[0] / pool[0], g->output[1] / pool[1]};
    int64_t pooled_row = row / pool[0], pooled_column = column / pool[1];
    if (pooled_row >= pooled[0] || pooled_column >= pooled[1]) return 0;
    int64_t i = ((n * pooled[0] + pooled_row) * pooled[1] + pooled_column) * g->filters + filter;
    int64_t size = g->batch * pooled[0] * pooled[1] * g->filters;
    int64_t tap = row % pool[0] * pool[1] + column % pool[1];
    bool won = (int64_t)liana__load(loop->call->src[loop->dy - 1], node->dtype, size + i) == tap;
    return won ? liana__load(loop->call->src[loop->dy], node->dtype, i) : 0;
}

static liana_status run_gradient(const liana__call *call)
{
    const liana__geometry geometry = liana__conv2d_max_pool_geometry_of(call->node).conv;
    if (call->node->op == &liana__op_conv2d_max_pool_input_gradient) {
        return liana__conv_run_loop(&(liana__conv_loop){call, geometry, 1, dy_at, NULL},
                                    liana__conv_input_gradient_element);
    }
    return liana__conv_run_loop(&(liana__conv_loop){call, geometry, 2, dy_at, NULL},
                                liana__conv_kernel_gradient_element);
}

/* Forward counts all elements under pooling windows, backward only the maxima. */
static void cost_of(const liana__node *node, liana__cost *cost)
{
    const liana__conv2d_max_pool_geometry p = liana__conv2d_max_pool_geometry_of(node);
    liana__geometry g = p.conv;
    int64_t taps = node->op == &liana__op_conv2d_max_pool ? p.pool[0] * p.pool[1] : 1;
    g.output[0] = p.pooled[0] * taps;
    g.output[1] = p.pooled[1];
    liana__conv_cost_of_geometry(&g, cost);
}

/* Two results may be equal up to rounding, and either win. */
static int64_t count_values(const liana__node *node)
{
    return liana_shape_size(&node->shape) / 2;
}

/* ---- the ops ---- */

const liana__op liana__op_conv2d_max_pool = {
    .name = "conv2d_max_pool",
    .doc = "Max pooling of conv2d + bias, and the index of each window's maximum.",
    .attributes = &forward_fields,
    .num_inputs = 3,
    .infer = infer_forward,
    .cost = cost_of,
    .continuous = count_values,
    .lower = liana__lower_cpu_only,
    .kernels =
        (const liana__kernel *const[]){
#if defined(LIANA_X86)
            &liana__conv2d_max_pool_winograd_avx512, &liana__conv2d_max_pool_winograd_avx2,
#endif
            LIANA__VECTOR_KERNELS(conv2d_max_pool), LIANA__REFERENCE(run_forward)},
};

#define GRADIENT_OP(op_name, infer_op, op_doc)                                                       \
    const liana__op liana__op_##op_name = {.name = #op_name,                                         \
                                           .doc = (op_doc),                                          \
                                           .attributes = &gradient_fields,                           \
                                           .num_inputs = 3,                                          \
                                           .infer = (infer_op),                                      \
                                           .cost = cost_of,                                          \
                                           .lower = liana__lower_cpu_only,                           \
                                           .kernels = LIANA__KERNELS(LIANA__VECTOR_KERNELS(op_name), \
                                                                     LIANA__REFERENCE(run_gradient))};
GRADIENT_OP(conv2d_max_pool_input_gradient, infer_input_gradient,
            "The gradient of conv2d_max_pool with respect to its images, from its result, dy and the kernel.")
GRADIENT_OP(conv2d_max_pool_kernel_gradient, infer_kernel_gradient,
            "The gradient of conv2d_max_pool with respect to its kernel, from the images, its result and dy.")
