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
