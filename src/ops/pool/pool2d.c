/* Max and average pooling, and their gradients. */
#include "ops/pool/pool2d.h"

#include "base/scoped.h"
#include "stablehlo/lowering.h"

#include <math.h>
#include <stdlib.h>

static const liana__field fields[] = {
    LIANA__FIELD_ROW(liana__pool_attributes, size, INT_PAIR, .doc = "The window's height and width."),
    LIANA__FIELD_ROW(liana__pool_attributes, window, SECTION, .section = &liana__window_fields,
                     .doc = "How the window slides over the images."),
    LIANA__FIELD_ROW(liana__pool_attributes, input, INT_PAIR,
                     .doc = "Height and width of the result, which do not follow from the inputs."),
};
static const liana__fields pool_fields = {"pooling", sizeof(liana__pool_attributes), 2, fields};
static const liana__fields gradient_fields = {"pooling gradient", sizeof(liana__pool_attributes), 3, fields};

/* ---- shapes ---- */

static const char images[] = "[batch, height, width, channels]";

static liana_status check_images(liana__infer *infer, size_t index)
{
    LIANA_TRY(liana__infer_rank(infer, index, 4, images));
    LIANA_TRY(liana__infer_float(infer, index));
    infer->dtype = infer->inputs[0]->dtype;
    return LIANA_OK;
}

/* The result of pooling `x`. */
static liana_status infer_output(liana__infer *infer, const liana_shape *x, liana_shape *y)
{
    liana__pool_attributes *attributes = infer->attributes;
    liana__window *window = &attributes->window;
    for (int i = 0; i < 2; i++) {
        if (window->strides[i] == 0) window->strides[i] = attributes->size[i];
    }
    *y = liana_shape_of(x->dims[0], 0, 0, x->dims[3]);
    LIANA_TRY(liana__window_resolve(infer, window, &x->dims[1], attributes->size, &y->dims[1]));
    if (window->dilations[0] != 1 || window->dilations[1] != 1) {
        return liana__infer_fail(infer, "the dilations are %lld and %lld, expected 1: pooling has none",
                                 (long long)window->dilations[0], (long long)window->dilations[1]);
    }
    const int64_t *padding[] = {window->vertical_padding, window->horizontal_padding};
    for (int i = 0; i < 4; i++) {
        if (padding[i / 2][i % 2] < attributes->size[i / 2]) continue;
        return liana__infer_fail(infer,
                                 "the padding of %lld cells is not smaller than the window of %lld: a window could "
                                 "lie in the padding alone",
                                 (long long)padding[i / 2][i % 2], (long long)attributes->size[i / 2]);
    }
    return LIANA_OK;
}

static liana_status infer_forward(liana__infer *infer)
{
    LIANA_TRY(check_images(infer, 0));
    return infer_output(infer, &infer->inputs[0]->shape, &infer->shape);
}

/* Checks that dy has the type of the pooled infer->shape. */
static liana_status check_output(liana__infer *infer, const liana_shape *dy)
{
    liana_shape expected;
    LIANA_TRY(infer_output(infer, &infer->shape, &expected));
    return liana__infer_shape(infer, "dy", dy, "the pooling's result", &expected);
}

static liana_status infer_max_gradient(liana__infer *infer)
{
    LIANA_TRY(check_images(infer, 0));
    LIANA_TRY(check_images(infer, 1));
    LIANA_TRY(liana__infer_same_dtype(infer, 0, 1));
    infer->shape = infer->inputs[0]->shape;
    return check_output(infer, &infer->inputs[1]->shape);
}

static liana_status infer_average_gradient(liana__infer *infer)
{
    const liana__pool_attributes *attributes = infer->attributes;
    LIANA_TRY(check_images(infer, 0));
    const liana_shape *dy = &infer->inputs[0]->shape;
    infer->shape = liana_shape_of(dy->dims[0], attributes->input[0], attributes->input[1], dy->dims[3]);
    return check_output(infer, dy);
}

liana__geometry liana__pool2d_geometry(const liana__node *node)
{
    const liana__pool_attributes *attributes = node->attributes;
    const liana_shape *x = liana__input_shape(node, 0), *y = &node->shape;
    if (node->op == &liana__op_max_pool2d_gradient) {
        y = liana__input_shape(node, 1);
    } else if (node->op == &liana__op_average_pool2d_gradient) {
        y = x;
        x = &node->shape;
    }
    liana__geometry g = liana__window_geometry(&attributes->window);
    g.batch = x->dims[0];
    g.channels = g.filters = x->dims[3];
    for (int i = 0; i < 2; i++) {
        g.input[i] = x->dims[1 + i];
        g.output[i] = y->dims[1 + i];
        g.window[i] = attributes->size[i];
    }
    return g;
}

/* ---- gradients ---- */

static void max_gradient(liana__gradient *g)
{
    g->input_gradients[0] = liana__build2(LIANA_HERE, &liana__op_max_pool2d_gradient, g->inputs[0], g->output_gradient,
                                          g->node->attributes);
}

static void average_gradient(liana__gradient *g)
{
    liana__pool_attributes attributes = *(const liana__pool_attributes *)g->node->attributes;
    memcpy(attributes.input, &liana__input_shape(g->node, 0)->dims[1], sizeof attributes.input);
    g->input_gradients[0] =
        liana__build1(LIANA_HERE, &liana__op_average_pool2d_gradient, g->output_gradient, &attributes);
}

/* Linear: its transpose is pooling itself. */
static void average_gradient_gradient(liana__gradient *g)
{
    g->input_gradients[0] =
        liana__build1(LIANA_HERE, &liana__op_average_pool2d, g->output_gradient, g->node->attributes);
}

/* ---- reference loops ---- */

/* One window of one channel. */
typedef struct cell {
    int64_t out;              /* its element of y */
    int64_t first;            /* the element of x under its first tap, were it not for padding */
    int64_t begin[2], end[2]; /* the taps that lie inside x */
} cell;

static cell locate(const liana__geometry *g, int64_t out)
{
    int64_t channel = out % g->channels, column = out / g->channels % g->output[1];
    int64_t row = out / g->channels / g->output[1] % g->output[0];
    int64_t n = out / g->channels / g->output[1] / g->output[0];
    int64_t first_row = row * g->strides[0] - g->padding_low[0];
    int64_t first_column = column * g->strides[1] - g->padding_low[1];
    cell c = {.out = out};
    c.first = ((n * g->input[0] + first_row) * g->input[1] + first_column) * g->channels + channel;
    liana__pool_taps(g, 0, row, &c.begin[0], &c.end[0]);
    liana__pool_taps(g, 1, column, &c.begin[1], &c.end[1]);
    return c;
}

static int64_t at_tap(const liana__geometry *g, const cell *c, int64_t i, int64_t j)
{
    return c->first + (i * g->input[1] + j) * g->channels;
}

/* The element of x that wins its window. A NaN wins over numbers, the first one over others. */
static int64_t find_winner(const liana__call *call, const liana__geometry *g, const cell *c)
{
    int64_t winner = at_tap(g, c, c->begin[0], c->begin[1]);
    double best = liana__load(call->src[0], call->node->dtype, winner);
    for (int64_t i = c->begin[0]; i < c->end[0]; i++) {
        for (int64_t j = c->begin[1]; j < c->end[1]; j++) {
            double x = liana__load(call->src[0], call->node->dtype, at_tap(g, c, i, j));
            if (x <= best || best != best) continue;
            best = x;
            winner = at_tap(g, c, i, j);
        }
    }
    return winner;
}

static int64_t num_outputs(const liana__geometry *g)
{
    return g->batch * g->output[0] * g->output[1] * g->channels;
}

static liana_status run_max(const liana__call *call)
{
    const liana__geometry g = liana__pool2d_geometry(call->node);
    liana_dtype dtype = call->node->dtype;
    for (int64_t i = 0; i < num_outputs(&g); i++) {
        const cell c = locate(&g, i);
        liana__store(call->dst, dtype, i, liana__load(call->src[0], dtype, find_winner(call, &g, &c)));
    }
    return LIANA_OK;
}

static void add_to(const liana__call *call, int64_t element, double value)
{
    liana_dtype dtype = call->node->dtype;
    liana__store(call->dst, dtype, element, liana__load(call->dst, dtype, element) + value);
}

static liana_status run_max_gradient(const liana__call *call)
{
    const liana__geometry g = liana__pool2d_geometry(call->node);
    memset(call->dst, 0, liana__byte_size(call->node->dtype, &call->node->shape));
    for (int64_t i = 0; i < num_outputs(&g); i++) {
        const cell c = locate(&g, i);
        add_to(call, find_winner(call, &g, &c), liana__load(call->src[1], call->node->dtype, i));
    }
    return LIANA_OK;
}

static double count_of(const cell *c)
{
    return (double)((c->end[0] - c->begin[0]) * (c->end[1] - c->begin[1]));
}

static liana_status run_average(const liana__call *call)
{
    const liana__geometry g = liana__pool2d_geometry(call->node);
    liana_dtype dtype = call->node->dtype;
    for (int64_t out = 0; out < num_outputs(&g); out++) {
        const cell c = locate(&g, out);
        double total = 0;
        for (int64_t i = c.begin[0]; i < c.end[0]; i++) {
            for (int64_t j = c.begin[1]; j < c.end[1]; j++)
                total += liana__load(call->src[0], dtype, at_tap(&g, &c, i, j));
        }
        liana__store(call->dst, dtype, out, total / count_of(&c));
    }
    return LIANA_OK;
}

static liana_status run_average_gradient(const liana__call *call)
{
    const liana__geometry g = liana__pool2d_geometry(call->node);
    memset(call->dst, 0, liana__byte_size(call->node->dtype, &call->node->shape));
    for (int64_t out = 0; out < num_outputs(&g); out++) {
        const cell c = locate(&g, out);
        double share = liana__load(call->src[0], call->node->dtype, out) / count_of(&c);
        for (int64_t i = c.begin[0]; i < c.end[0]; i++) {
            for (int64_t j = c.begin[1]; j < c.end[1]; j++) add_to(call, at_tap(&g, &c, i, j), share);
        }
    }
    return LIANA_OK;
}

/* ---- StableHLO ---- */

/* Windows over [batch, height, width, channels], and the cells around the images. */
typedef struct lowered_window {
    int64_t size[4], strides[4], low[4], high[4], interior[4];
} lowered_window;

/* The windows of the pooling itself. The last ones may end before the padding does; those cells are left away. */
static lowered_window lower_window(const liana__geometry *g)
{
    lowered_window w = {.size = {1, g->window[0], g->window[1], 1}, .strides = {1, g->strides[0], g->strides[1], 1}};
    for (int i = 0; i < 2; i++) {
        int64_t covered = (g->output[i] - 1) * g->strides[i] + g->window[i];
        w.low[1 + i] = g->padding_low[i];
        w.high[1 + i] = covered - g->input[i] - g->padding_low[i];
    }
    return w;
}

static liana__hlo pad_window(liana__lowering *l, liana__hlo x, double value, const lowered_window *w)
{
    bool changes = false;
    for (int i = 0; i < 4; i++) changes = changes || w->low[i] || w->high[i] || w->interior[i];
    return changes ? liana__hlo_pad(l, x, value, w->low, w->high, w->interior) : x;
}

static liana_status lower_max(liana__lowering *l, const liana__node *node)
{
    const liana__geometry g = liana__pool2d_geometry(node);
    const lowered_window w = lower_window(&g);
    liana__hlo x = pad_window(l, liana__hlo_input(l, node, 0), -INFINITY, &w);
    return liana__hlo_give(l, node, liana__hlo_reduce_window(l, LIANA__HLO_MAXIMUM, x, w.size, w.strides));
}

/* Each element of dy goes to the greatest cell of its window; the cells around the images are taken away again, and
 * those that no window reaches get zeros. */
static liana_status lower_max_gradient(liana__lowering *l, const liana__node *node)
{
    const liana__geometry g = liana__pool2d_geometry(node);
    const lowered_window w = lower_window(&g);
    liana__hlo x = pad_window(l, liana__hlo_widen(l, liana__hlo_input(l, node, 0)), -INFINITY, &w);
    liana__hlo dy = liana__hlo_widen(l, liana__hlo_input(l, node, 1));
    lowered_window back = w;
    for (int i = 0; i < 4; i++) {
        back.low[i] = -w.low[i];
        back.high[i] = -w.high[i];
    }
    liana__hlo dx = pad_window(l, liana__hlo_select_and_scatter(l, x, dy, w.size, w.strides), 0, &back);
    return liana__hlo_give(l, node, liana__hlo_convert(l, dx, node->dtype));
}

/* The number of cells of each window that are inside the images: one number where it is always the same, else one for
 * each window, as [1, height, width, 1]. */
static liana_status lower_counts(liana__lowering *l, const liana__geometry *g, liana_dtype dtype, liana__hlo *counts)
{
    liana_shape shape = liana_shape_of(1, g->output[0], g->output[1], 1);
    const int64_t size = liana_shape_size(&shape);
    LIANA__SCOPED_MEMORY void *values = malloc((size_t)size * liana_dtype_size(dtype));
    if (!values) return liana__hlo_fail_memory(l);
    for (int64_t i = 0; i < size; i++) {
        int64_t begin[2], end[2];
        liana__pool_taps(g, 0, i / g->output[1], &begin[0], &end[0]);
        liana__pool_taps(g, 1, i % g->output[1], &begin[1], &end[1]);
        liana__store(values, dtype, i, (double)((end[0] - begin[0]) * (end[1] - begin[1])));
    }
    *counts = liana__hlo_constant(l, dtype, shape, values);
    return LIANA_OK;
}

static liana_status lower_average(liana__lowering *l, const liana__node *node)
{
    const liana__geometry g = liana__pool2d_geometry(node);
    const lowered_window w = lower_window(&g);
    liana__hlo x = pad_window(l, liana__hlo_widen(l, liana__hlo_input(l, node, 0)), 0, &w), counts;
    liana__hlo sums = liana__hlo_reduce_window(l, LIANA__HLO_ADD, x, w.size, w.strides);
    LIANA_TRY(lower_counts(l, &g, x.dtype, &counts));
    return liana__hlo_give(l, node, liana__hlo_convert(l, liana__hlo_binary(l, "divide", sums, counts), node->dtype));
}

/* The shares of dy lie `strides` apart, so that each cell of the images sees those of its windows in one window. */
static liana_status lower_average_gradient(liana__lowering *l, const liana__node *node)
{
    static const int64_t ones[] = {1, 1, 1, 1};
    const liana__geometry g = liana__pool2d_geometry(node);
    lowered_window w = {.size = {1, g.window[0], g.window[1], 1}};
    for (int i = 0; i < 2; i++) {
        w.interior[1 + i] = g.strides[i] - 1;
        w.low[1 + i] = g.window[i] - 1 - g.padding_low[i];
        w.high[1 + i] = g.input[i] + g.window[i] - 2 - (g.output[i] - 1) * g.strides[i] - w.low[1 + i];
    }
    liana__hlo dy = liana__hlo_widen(l, liana__hlo_input(l, node, 0)), counts;
    LIANA_TRY(lower_counts(l, &g, dy.dtype, &counts));
    liana__hlo shares = pad_window(l, liana__hlo_binary(l, "divide", dy, counts), 0, &w);
    liana__hlo dx = liana__hlo_reduce_window(l, LIANA__HLO_ADD, shares, w.size, ones);
    return liana__hlo_give(l, node, liana__hlo_convert(l, dx, node->dtype));
}

/* An operation for each element under each window. */
static void cost_of(const liana__node *node, liana__cost *cost)
{
    const liana__geometry g = liana__pool2d_geometry(node);
    cost->flops = (double)num_outputs(&g) * (double)g.window[0] * (double)g.window[1];
    cost->family = "pooling";
}

/* ---- the ops ---- */

#define POOL_OP(op_name, count, fields, infer_op, gradient_op, lower_op, run, op_doc) \
    const liana__op liana__op_##op_name = {.name = #op_name,                          \
                                           .doc = (op_doc),                           \
                                           .attributes = &(fields),                   \
                                           .num_inputs = (count),                     \
                                           .infer = (infer_op),                       \
                                           .gradient = (gradient_op),                 \
                                           .precision = LIANA__FOLLOWS,               \
                                           .cost = cost_of,                           \
                                           .parts = liana__parts_all_inputs,          \
                                           .lower = (lower_op),                       \
                                           .kernels =                                 \
                                               LIANA__KERNELS(LIANA__VECTOR_KERNELS(op_name), LIANA__REFERENCE(run))};
POOL_OP(max_pool2d, 1, pool_fields, infer_forward, max_gradient, lower_max, run_max, "The maximum of each window.")
POOL_OP(max_pool2d_gradient, 2, pool_fields, infer_max_gradient, NULL, lower_max_gradient, run_max_gradient,
        "The gradient of max_pool2d, from its images and dy.")
POOL_OP(average_pool2d, 1, pool_fields, infer_forward, average_gradient, lower_average, run_average,
        "The mean of each window, without the padding.")
POOL_OP(average_pool2d_gradient, 1, gradient_fields, infer_average_gradient, average_gradient_gradient,
        lower_average_gradient, run_average_gradient, "The gradient of average_pool2d, from dy.")
#undef POOL_OP

static liana__pool_attributes attributes_of(const liana_pool_options *options)
{
    return (liana__pool_attributes){
        .size = {options->window[0], options->window[1]},
        .window = liana__window_of(options->strides, options->padding, options->explicit_padding, NULL),
    };
}

liana_tensor liana_op_max_pool2d_at(liana_location here, liana_tensor x, liana_pool_options options)
{
    liana__pool_attributes attributes = attributes_of(&options);
    return liana__build1(here, &liana__op_max_pool2d, x, &attributes);
}

liana_tensor liana_op_average_pool2d_at(liana_location here, liana_tensor x, liana_pool_options options)
{
    liana__pool_attributes attributes = attributes_of(&options);
    return liana__build1(here, &liana__op_average_pool2d, x, &attributes);
}
