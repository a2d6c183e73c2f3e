/* The softmax cross-entropy of logits with integer labels, and its gradient. */
#include "ops/loss/cross_entropy.h"

#include "ops/index.h"
#include "ops/reduce/softmax.h"

#include <math.h>

static liana_status infer_inputs(liana__infer *infer)
{
    LIANA_TRY(liana__infer_rank(infer, 0, 2, "logits [batch, classes]"));
    LIANA_TRY(liana__infer_rank(infer, 1, 1, "labels [batch]"));
    LIANA_TRY(liana__infer_float(infer, 0));
    const liana__node *logits = infer->inputs[0], *labels = infer->inputs[1];
    LIANA_TRY(liana__infer_s32(infer, 1, "labels"));
    infer->dtype = logits->dtype;
    infer->shape = liana_shape_of(logits->shape.dims[0]);
    if (labels->shape.dims[0] == logits->shape.dims[0]) return LIANA_OK;
    return liana__infer_fail(infer, "there are %lld labels for %lld rows of logits", (long long)labels->shape.dims[0],
                             (long long)logits->shape.dims[0]);
}

static liana_status infer_gradient(liana__infer *infer)
{
    LIANA_TRY(infer_inputs(infer));
    LIANA_TRY(liana__infer_same_dtype(infer, 0, 2));
    if (!liana_shape_equal(&infer->inputs[2]->shape, &infer->shape)) {
        return liana__infer_fail(infer, "the output's gradient is %s, expected %s",
                                 liana__shape_print(&infer->inputs[2]->shape).text,
                                 liana__shape_print(&infer->shape).text);
    }
    return liana__infer_like_input(infer);
}

static liana_tensor build_gradient(liana_tensor logits, liana_tensor labels, liana_tensor dy)
{
    return liana__build3(LIANA_HERE, &liana__op_sparse_softmax_cross_entropy_gradient, logits, labels, dy, NULL);
}

static void cross_entropy_gradient(liana__gradient *g)
{
    g->input_gradients[0] = build_gradient(g->inputs[0], g->inputs[1], g->output_gradient);
}

/* The result is (p - one_hot(labels)) dy for each row, p the softmax; its gradient for a given dz is
 * p dy (dz - sum(p dz)) with respect to the logits and sum((p - one_hot) dz) with respect to dy. */
static void gradient_gradient(liana__gradient *g)
{
    liana_tensor dz = g->output_gradient, p = liana_op_softmax(g->inputs[0]), weighted = liana_op_multiply(p, dz);
    int64_t batch = g->node->shape.dims[0], classes = g->node->shape.dims[1];
    if (g->wanted[0]) {
        liana_tensor sum = liana_op_reduce_sum(weighted, LIANA_AXES(1), true);
        liana_tensor change = liana_op_subtract(weighted, liana_op_multiply(p, sum));
        liana_tensor dy = liana_op_reshape(g->inputs[2], liana_shape_of(batch, 1));
        g->input_gradients[0] = liana_op_multiply(change, dy);
    }
    if (g->wanted[2]) {
        liana_tensor chosen = liana_op_one_hot(g->inputs[1], classes, g->node->dtype);
        liana_tensor difference = liana_op_subtract(weighted, liana_op_multiply(chosen, dz));
        g->input_gradients[2] = liana_op_reduce_sum(difference, LIANA_AXES(1), false);
    }
}

/* ---- StableHLO ---- */

/* The logits of each row, which class is the label's, and whether the label is a class, as [batch, 1]. */
typedef struct lowered_rows {
    liana__softmax_lowered logits;
    liana__hlo is_label, is_valid;
} lowered_rows;

static lowered_rows lower_rows(liana__lowering *l, const liana__node *node)
{
    const int64_t last = 1;
    liana__hlo x = liana__hlo_widen(l, liana__hlo_input(l, node, 0)), labels = liana__hlo_input(l, node, 1);
    liana__hlo column = liana__hlo_reshape(l, labels, liana_shape_of(x.shape.dims[0], 1));
    lowered_rows rows = {.logits = liana__softmax_lower_rows(l, x)};
    rows.is_label = liana__hlo_compare(l, "EQ", column, liana__hlo_iota(l, LIANA_S32, x.shape, 1));
    rows.is_valid = liana__hlo_reduce_kept(l, LIANA__HLO_MAXIMUM, rows.is_label, &last, 1);
    return rows;
}

static liana__hlo nan_unless(liana__lowering *l, liana__hlo condition, liana__hlo value)
{
    return liana__hlo_select(l, condition, value, liana__hlo_fill(l, value.dtype, LIANA_SCALAR, NAN));
}

static liana_status lower_loss(liana__lowering *l, const liana__node *node)
{
    const int64_t last = 1;
    lowered_rows rows = lower_rows(l, node);
    liana__hlo zero = liana__hlo_fill(l, rows.logits.values.dtype, LIANA_SCALAR, 0);
    liana__hlo others = liana__hlo_select(l, rows.is_label, rows.logits.values, zero);
    liana__hlo chosen = liana__hlo_reduce_kept(l, LIANA__HLO_ADD, others, &last, 1);
    liana__hlo loss = liana__hlo_binary(l, "subtract", liana__hlo_unary(l, "log", rows.logits.sum), chosen);
    liana__hlo checked = liana__hlo_convert(l, nan_unless(l, rows.is_valid, loss), node->dtype);
    return liana__hlo_give(l, node, liana__hlo_reshape(l, checked, node->shape));
}

static liana_status lower_gradient(liana__lowering *l, const liana__node *node)
{
    lowered_rows rows = lower_rows(l, node);
    liana__hlo dy = liana__hlo_widen(l, liana__hlo_input(l, node, 2));
    liana__hlo column = liana__hlo_reshape(l, dy, liana_shape_of(dy.shape.dims[0], 1));
    liana__hlo target = liana__hlo_convert(l, rows.is_label, rows.logits.values.dtype);
    liana__hlo probability = liana__hlo_binary(l, "divide", rows.logits.powers, rows.logits.sum);
    liana__hlo difference = liana__hlo_binary(l, "subtract", probability, target);
    liana__hlo product = liana__hlo_binary(l, "multiply", difference, nan_unless(l, rows.is_valid, column));
    return liana__hlo_give(l, node, liana__hlo_convert(l, product, node->dtype));
}

/* ---- the reference ---- */

/* -1 if outside [0, classes). */
static int64_t label_of(const liana__call *call, int64_t example, int64_t classes)
{
    const int64_t label = ((const int32_t *)call->src[1])[example];
    return label >= 0 && label < classes ? label : -1;
}

static liana_status run_loss(const liana__call *call)
{
    const liana_shape *shape = liana__input_shape(call->node, 0);
    liana_dtype dtype = call->node->dtype;
    int64_t classes = shape->dims[1];
    for (int64_t example = 0; example < shape->dims[0]; example++) {
        const liana__softmax_row row = liana__softmax_read_row(call, example * classes, classes);
        const int64_t label = label_of(call, example, classes);
        double loss = NAN;
        if (label >= 0) {
            loss = log(row.sum) - (liana__load(call->src[0], dtype, example * classes + label) - row.greatest);
        }
        liana__store(call->dst, dtype, example, loss);
    }
    return LIANA_OK;
}

static liana_status run_gradient(const liana__call *call)
{
    const liana_shape *shape = liana__input_shape(call->node, 0);
    liana_dtype dtype = call->node->dtype;
    int64_t classes = shape->dims[1];
    for (int64_t example = 0; example < shape->dims[0]; example++) {
        const liana__softmax_row row = liana__softmax_read_row(call, example * classes, classes);
        const int64_t label = label_of(call, example, classes);
        double dy = label < 0 ? NAN : liana__load(call->src[2], dtype, example);
        for (int64_t i = 0; i < classes; i++) {
            double power = exp(liana__load(call->src[0], dtype, example * classes + i) - row.greatest);
            liana__store(call->dst, dtype, example * classes + i, (power / row.sum - (i == label)) * dy);
        }
    }
    return LIANA_OK;
}

const liana__op liana__op_sparse_softmax_cross_entropy = {
    .name = "sparse_softmax_cross_entropy",
    .doc = "-log softmax(logits)[label] for each row; NaN if the label is outside [0, classes).",
    .num_inputs = 2,
    .infer = infer_inputs,
    .gradient = cross_entropy_gradient,
    .cost = liana__softmax_cost,
    .parts = liana__parts_all_inputs,
    .lower = lower_loss,
    .kernels = LIANA__KERNELS(LIANA__VECTOR_KERNELS(cross_entropy), LIANA__REFERENCE(run_loss)),
};

const liana__op liana__op_sparse_softmax_cross_entropy_gradient = {
    .name = "sparse_softmax_cross_entropy_gradient",
    .doc = "(softmax(logits) - one_hot(labels)) dy for each row: the gradient of the cross-entropy.",
    .num_inputs = 3,
    .infer = infer_gradient,
    .gradient = gradient_gradient,
    .cost = liana__softmax_cost,
    .parts = liana__parts_all_inputs,
    .lower = lower_gradient,
    .kernels = LIANA__KERNELS(LIANA__VECTOR_KERNELS(cross_entropy_gradient), LIANA__REFERENCE(run_gradient)),
};

liana_tensor liana_op_sparse_softmax_cross_entropy_at(liana_location here, liana_tensor logits, liana_tensor labels)
{
    return liana__build2(here, &liana__op_sparse_softmax_cross_entropy, logits, labels, NULL);
}
