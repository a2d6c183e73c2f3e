/* softmax and log_softmax over the last axis. */
#include "ops/reduce/softmax.h"

#include "stablehlo/lowering.h"

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
    liana_tensor weighted = liana_op_multiply(g->output, g->output_gradient);
    liana_tensor sum = liana_op_reduce_sum(weighted, LIANA_AXES(-1), true);
    g->input_gradients[0] = liana_op_subtract(weighted, liana_op_multiply(g->output, sum));
}

/* dx = dy - softmax(x) sum(dy) */
static void log_softmax_gradient(liana__gradient *g)
{
    liana_tensor sum = liana_op_reduce_sum(g->output_gradient, LIANA_AXES(-1), true);
    g->input_gradients[0] = liana_op_subtract(g->output_gradient, liana_op_multiply(liana_op_exp(g->output), sum));
}

/* The greatest element of a row and the sum of e^(x - greatest): subtracting it keeps e^x from overflowing. */
static double row_maximum(const liana__call *call, int64_t first, int64_t length)
{
    liana_dtype dtype = call->node->dtype;
    double maximum = -INFINITY;
    for (int64_t i = 0; i < length; i++) maximum = fmax(maximum, liana__load(call->src[0], dtype, first + i));
    return maximum;
}

static double row_sum(const liana__call *call, int64_t first, int64_t length, double maximum)
{
    double sum = 0;
    for (int64_t i = 0; i < length; i++) sum += exp(liana__load(call->src[0], call->node->dtype, first + i) - maximum);
    return sum;
}

static liana_status run_softmax(const liana__call *call)
{
    const liana__node *node = call->node;
    int64_t size = liana_shape_size(&node->shape), length = liana__row_length(&node->shape);
    for (int64_t first = 0; first < size; first += length) {
        double maximum = row_maximum(call, first, length), sum = row_sum(call, first, length, maximum);
        for (int64_t i = first; i < first + length; i++) {
            liana__store(call->dst, node->dtype, i, exp(liana__load(call->src[0], node->dtype, i) - maximum) / sum);
        }
    }
    return LIANA_OK;
}

static liana_status run_log_softmax(const liana__call *call)
{
    const liana__node *node = call->node;
    int64_t size = liana_shape_size(&node->shape), length = liana__row_length(&node->shape);
    for (int64_t first = 0; first < size; first += length) {
        double maximum = row_maximum(call, first, length), log_sum = log(row_sum(call, first, length, maximum));
        for (int64_t i = first; i < first + length; i++) {
            liana__store(call->dst, node->dtype, i, liana__load(call->src[0], node->dtype, i) - maximum - log_sum);
        }
    }
    return LIANA_OK;
}

/* ---- StableHLO ---- */

/* x less the greatest element of its row, and the sum of e to that. */
typedef struct shifted_rows {
    liana__hlo values, exponentials, sum;
} shifted_rows;

static shifted_rows shift_rows(liana__lowering *l, const liana__node *node)
{
    liana__hlo x = liana__hlo_widen(l, liana__hlo_input(l, node, 0));
    const int64_t last = x.shape.rank - 1;
    liana__hlo greatest = liana__hlo_reduce_kept(l, LIANA__HLO_MAXIMUM, x, &last, 1);
    shifted_rows rows = {.values = liana__hlo_binary(l, "subtract", x, greatest)};
    rows.exponentials = liana__hlo_unary(l, "exponential", rows.values);
    rows.sum = liana__hlo_reduce_kept(l, LIANA__HLO_ADD, rows.exponentials, &last, 1);
    return rows;
}

static liana_status lower_softmax(liana__lowering *l, const liana__node *node)
{
    shifted_rows rows = shift_rows(l, node);
    liana__hlo quotient = liana__hlo_binary(l, "divide", rows.exponentials, rows.sum);
    return liana__hlo_give(l, node, liana__hlo_convert(l, quotient, node->dtype));
}

static liana_status lower_log_softmax(liana__lowering *l, const liana__node *node)
{
    shifted_rows rows = shift_rows(l, node);
    liana__hlo difference = liana__hlo_binary(l, "subtract", rows.values, liana__hlo_unary(l, "log", rows.sum));
    return liana__hlo_give(l, node, liana__hlo_convert(l, difference, node->dtype));
}

/* The maximum; the difference from it, its exp and their sum; the quotient or difference. */
static void cost_of(const liana__node *node, liana__cost *cost)
{
    cost->flops = 5 * (double)liana_shape_size(&node->shape);
    cost->family = "softmax and loss";
}

/* The rows of a vector are the classes themselves. */
static liana__parts parts_of(const liana__node *node)
{
    return node->shape.rank > 1 ? liana__parts_all_inputs(node) : (liana__parts){0};
}

/* A row is read before it is written. */
const liana__op liana__op_softmax = {
    .name = "softmax",
    .doc = "e^x / sum(e^x) over the last axis.",
    .num_inputs = 1,
    .infer = infer_softmax,
    .gradient = softmax_gradient,
    .placement = LIANA__PLACE_IN_PLACE,
    .cost = cost_of,
    .parts = parts_of,
    .lower = lower_softmax,
    .kernels = LIANA__KERNELS(LIANA__VECTOR_KERNELS(softmax), LIANA__REFERENCE(run_softmax)),
};

const liana__op liana__op_log_softmax = {
    .name = "log_softmax",
    .doc = "log(softmax(x)) over the last axis.",
    .num_inputs = 1,
    .infer = infer_softmax,
    .gradient = log_softmax_gradient,
    .placement = LIANA__PLACE_IN_PLACE,
    .cost = cost_of,
    .parts = parts_of,
    .lower = lower_log_softmax,
    .kernels = LIANA__KERNELS(LIANA__VECTOR_KERNELS(log_softmax), LIANA__REFERENCE(run_log_softmax)),
};

liana_tensor liana_op_softmax_at(liana_location here, liana_tensor x)
{
    return liana__build1(here, &liana__op_softmax, x, NULL);
}

liana_tensor liana_op_log_softmax_at(liana_location here, liana_tensor x)
{
    return liana__build1(here, &liana__op_log_softmax, x, NULL);
}
