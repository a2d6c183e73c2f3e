/* softmax and log_softmax over the last axis. */
#include "ops/reduce/softmax.h"

static liana_status infer_softmax(liana__infer *infer)
{
    LIANA_TRY(liana__infer_float(infer, 0));
    LIANA_TRY(liana__infer_like_input(infer));
    if (infer->shape.rank > 0) return LIANA_OK;
    return liana__infer_fail(infer, "the input is a scalar, expected at least one axis: the classes");
}

/* dx = y (dy - sum(y dy)) */
static void softmax_gradient(liana__gradient *g)
{
    g->input_gradients[0] = liana__op_softmax_gradient_of(g->output, g->output_gradient);
}

/* dx = dy - softmax(x) sum(dy) */
static void log_softmax_gradient(liana__gradient *g)
{
    liana_tensor sum = liana_op_reduce_sum(g->output_gradient, LIANA_AXES(-1), true);
    g->input_gradients[0] = liana_op_subtract(g->output_gradient, liana_op_multiply(liana_op_exp(g->output), sum));
}

liana__softmax_row liana__softmax_read_row(const liana__call *call, int64_t first, int64_t length)
{
    liana_dtype dtype = call->node->inputs[0]->dtype;
    liana__softmax_row row = {.greatest = -INFINITY};
    for (int64_t i = first; i < first + length; i++) {
        row.greatest = fmax(row.greatest, liana__load(call->src[0], dtype, i));
    }
    for (int64_t i = first; i < first + length; i++) {
        row.sum += exp(liana__load(call->src[0], dtype, i) - row.greatest);
    }
    return row;
}

static liana_status run_reference(const liana__call *call)
{
    const liana__node *node = call->node;
    const bool is_log = node->op == &liana__op_log_softmax;
    int64_t size = liana_shape_size(&node->shape), length = liana__row_length(&node->shape);
    for (int64_t first = 0; first < size; first += length) {
        const liana__softmax_row row = liana__softmax_read_row(call, first, length);
        const double log_sum = log(row.sum);
        for (int64_t i = first; i < first + length; i++) {
            double x = liana__load(call->src[0], node->dtype, i) - row.greatest;
            liana__store(call->dst, node->dtype, i, is_log ? x - log_sum : exp(x) / row.sum);
        }
    }
    return LIANA_OK;
}

/* ---- StableHLO ---- */

liana__softmax_lowered liana__softmax_lower_rows(liana__lowering *l, liana__hlo x)
{
    const int64_t last = x.shape.rank - 1;
    liana__hlo greatest = liana__hlo_reduce_kept(l, LIANA__HLO_MAXIMUM, x, &last, 1);
    liana__softmax_lowered rows = {.values = liana__hlo_binary(l, "subtract", x, greatest)};
    rows.powers = liana__hlo_unary(l, "exponential", rows.values);
    rows.sum = liana__hlo_reduce_kept(l, LIANA__HLO_ADD, rows.powers, &last, 1);
    return rows;
}

static liana_status lower(liana__lowering *l, const liana__node *node)
{
    liana__softmax_lowered rows = liana__softmax_lower_rows(l, liana__hlo_widen(l, liana__hlo_input(l, node, 0)));
    liana__hlo y = node->op == &liana__op_softmax
                       ? liana__hlo_binary(l, "divide", rows.powers, rows.sum)
                       : liana__hlo_binary(l, "subtract", rows.values, liana__hlo_unary(l, "log", rows.sum));
    return liana__hlo_give(l, node, liana__hlo_convert(l, y, node->dtype));
}

void liana__softmax_cost(const liana__node *node, liana__cost *cost)
{
    cost->flops = 5 * (double)liana_shape_size(liana__input_shape(node, 0));
    cost->family = "softmax and loss";
}

/* The rows of a vector are the classes themselves. */
static liana__parts parts_of(const liana__node *node)
{
    return node->shape.rank > 1 ? liana__parts_all_inputs(node) : (liana__parts){0};
}

/* A row is read before it is written. */
#define SOFTMAX_OP(op_name, op_doc)                                                                     \
    const liana__op liana__op_##op_name = {.name = #op_name,                                            \
                                           .doc = (op_doc),                                             \
                                           .num_inputs = 1,                                             \
                                           .infer = infer_softmax,                                      \
                                           .gradient = op_name##_gradient,                              \
                                           .placement = LIANA__PLACE_IN_PLACE,                          \
                                           .cost = liana__softmax_cost,                                 \
                                           .parts = parts_of,                                           \
                                           .lower = lower,                                              \
                                           .kernels = LIANA__KERNELS(LIANA__VECTOR_KERNELS(op_name),    \
                                                                     LIANA__REFERENCE(run_reference))}; \
    liana_tensor liana_op_##op_name##_at(liana_location here, liana_tensor x)                           \
    {                                                                                                   \
        return liana__build1(here, &liana__op_##op_name, x, NULL);                                      \
    }
SOFTMAX_OP(softmax, "e^x / sum(e^x) over the last axis.")
SOFTMAX_OP(log_softmax, "log(softmax(x)) over the last axis.")
#undef SOFTMAX_OP

/* ---- the gradient of softmax, which is one pass over each row ---- */

static liana_status infer_gradient(liana__infer *infer)
{
    LIANA_TRY(liana__infer_float(infer, 0));
    LIANA_TRY(liana__infer_same_dtype(infer, 0, 1));
    LIANA_TRY(liana__infer_like_input(infer));
    return liana__infer_shape(infer, "the gradient", &infer->inputs[1]->shape, "the softmax", &infer->shape);
}

/* Of y (dy - sum(y dy)) for a gradient g: y (g - sum(y g)) for dy, and g (dy - sum(y dy)) - dy sum(y g) for y. */
static void gradient_gradient(liana__gradient *g)
{
    const liana_tensor y = g->inputs[0], dy = g->inputs[1], given = g->output_gradient;
    if (g->wanted[1]) g->input_gradients[1] = liana__op_softmax_gradient_of(y, given);
    if (!g->wanted[0]) return;
    liana_tensor own = liana_op_reduce_sum(liana_op_multiply(y, dy), LIANA_AXES(-1), true);
    liana_tensor other = liana_op_reduce_sum(liana_op_multiply(y, given), LIANA_AXES(-1), true);
    g->input_gradients[0] =
        liana_op_subtract(liana_op_multiply(given, liana_op_subtract(dy, own)), liana_op_multiply(dy, other));
}

static liana_status run_gradient_reference(const liana__call *call)
{
    const liana__node *node = call->node;
    const int64_t size = liana_shape_size(&node->shape), length = liana__row_length(&node->shape);
    for (int64_t first = 0; first < size; first += length) {
        double sum = 0;
        for (int64_t i = first; i < first + length; i++) {
            sum += liana__load(call->src[0], node->dtype, i) * liana__load(call->src[1], node->dtype, i);
        }
        for (int64_t i = first; i < first + length; i++) {
            const double y = liana__load(call->src[0], node->dtype, i), dy = liana__load(call->src[1], node->dtype, i);
            liana__store(call->dst, node->dtype, i, y * (dy - sum));
        }
    }
    return LIANA_OK;
}

static liana_status lower_gradient(liana__lowering *l, const liana__node *node)
{
    const int64_t last = node->shape.rank - 1;
    liana__hlo y = liana__hlo_widen(l, liana__hlo_input(l, node, 0));
    liana__hlo dy = liana__hlo_widen(l, liana__hlo_input(l, node, 1));
    liana__hlo weighted = liana__hlo_binary(l, "multiply", y, dy);
    liana__hlo sum = liana__hlo_reduce_kept(l, LIANA__HLO_ADD, weighted, &last, 1);
    liana__hlo dx = liana__hlo_binary(l, "subtract", weighted, liana__hlo_binary(l, "multiply", y, sum));
    return liana__hlo_give(l, node, liana__hlo_convert(l, dx, node->dtype));
}

static void gradient_cost(const liana__node *node, liana__cost *cost)
{
    cost->flops = 4 * (double)liana_shape_size(&node->shape);
    cost->family = "softmax and loss";
}

const liana__op liana__op_softmax_gradient = {
    .name = "softmax_gradient",
    .doc = "The gradient of softmax from its result y and the gradient dy of that: y (dy - sum(y dy)).",
    .num_inputs = 2,
    .infer = infer_gradient,
    .gradient = gradient_gradient,
    .placement = LIANA__PLACE_IN_PLACE,
    .cost = gradient_cost,
    .parts = parts_of,
    .lower = lower_gradient,
    .kernels = LIANA__KERNELS(LIANA__VECTOR_KERNELS(softmax_gradient), LIANA__REFERENCE(run_gradient_reference)),
};

liana_tensor liana__op_softmax_gradient_of(liana_tensor y, liana_tensor dy)
{
    return liana__build2(LIANA_HERE, &liana__op_softmax_gradient, y, dy, NULL);
}
