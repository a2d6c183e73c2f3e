/* Reductions over axes: sum, mean, max, min, product. */
#include "ops/reduce/reduce.h"

#include "ops/index.h"
#include "stablehlo/lowering.h"

#include <math.h>

static const liana__field fields[] = {
    LIANA__FIELD_ROW(liana__reduce_attributes, axes, INTS, .doc = "The axes that are reduced."),
    LIANA__FIELD_ROW(liana__reduce_attributes, keep_dims, BOOL, .doc = "Whether reduced axes are kept, with size 1."),
    LIANA__FIELD_ROW(liana__reduce_attributes, wide, BOOL,
                     .doc = "Whether the sum of bf16 is given in f32, in which it is accumulated."),
};
static const liana__fields attributes = {"reduce", sizeof(liana__reduce_attributes), 2, fields};
static const liana__fields sum_attributes = {"sum", sizeof(liana__reduce_attributes), 3, fields};

static liana_status resolve_axes(liana__infer *infer, bool reduced[LIANA_MAX_RANK])
{
    liana__reduce_attributes *options = infer->attributes;
    int rank = infer->inputs[0]->shape.rank;
    if (options->axes.count > rank) {
        return liana__infer_fail(infer, "%lld axes are named, the input has %d", (long long)options->axes.count, rank);
    }
    for (int i = 0; i < LIANA_MAX_RANK; i++) reduced[i] = i < rank && options->axes.count < 0;
    for (int64_t i = 0; i < options->axes.count; i++) {
        int axis;
        LIANA_TRY(liana__infer_axis(infer, options->axes.values[i], rank, &axis));
        if (reduced[axis]) return liana__infer_fail(infer, "axis %d is named twice", axis);
        reduced[axis] = true;
    }
    options->axes = (liana__ints){0};
    for (int i = 0; i < rank; i++) {
        if (reduced[i]) options->axes.values[options->axes.count++] = i;
    }
    return LIANA_OK;
}

static liana_status infer_reduce(liana__infer *infer)
{
    const liana__reduce_attributes *options = infer->attributes;
    const liana_shape *shape = &infer->inputs[0]->shape;
    infer->dtype = infer->inputs[0]->dtype;
    if (options->wide && liana__dtype_is_float(infer->dtype)) infer->dtype = liana__wide_dtype(infer->dtype);
    if (infer->dtype == LIANA_BOOL) {
        return liana__infer_fail(infer, "input 0 is bool, expected numbers; use liana_op_cast first");
    }
    if (infer->op == &liana__op_reduce_mean) LIANA_TRY(liana__infer_float(infer, 0));
    bool reduced[LIANA_MAX_RANK];
    LIANA_TRY(resolve_axes(infer, reduced));
    infer->shape = LIANA_SCALAR;
    for (int i = 0; i < shape->rank; i++) {
        if (!reduced[i] || options->keep_dims) infer->shape.dims[infer->shape.rank++] = reduced[i] ? 1 : shape->dims[i];
    }
    return LIANA_OK;
}

/* The shape of the result if the reduced axes had been kept. */
static liana_shape kept_shape(const liana__node *node)
{
    const liana__reduce_attributes *options = node->attributes;
    liana_shape shape = *liana__input_shape(node, 0);
    for (int64_t i = 0; i < options->axes.count; i++) shape.dims[options->axes.values[i]] = 1;
    return shape;
}

static liana_axes reduced_axes(const liana__node *node)
{
    const liana__reduce_attributes *options = node->attributes;
    liana_axes axes = {.count = options->axes.count};
    for (int64_t i = 0; i < axes.count; i++) axes.values[i] = options->axes.values[i];
    return axes;
}

static int64_t reduced_count(const liana__node *node)
{
    return liana_shape_size(liana__input_shape(node, 0)) / liana_shape_size(&node->shape);
}

/* The same for each element that was added. */
static void repeat_gradient(liana__gradient *g, liana_tensor each)
{
    liana_tensor kept = liana_op_reshape(liana_op_cast(each, g->node->inputs[0]->dtype), kept_shape(g->node));
    g->input_gradients[0] = liana_op_broadcast_to(kept, *liana__input_shape(g->node, 0));
}

static void sum_gradient(liana__gradient *g)
{
    repeat_gradient(g, g->output_gradient);
}

static void mean_gradient(liana__gradient *g)
{
    liana_tensor share = liana_graph_scalar(g->output.graph, g->node->dtype, 1.0 / (double)reduced_count(g->node));
    repeat_gradient(g, liana_op_multiply(g->output_gradient, share));
}

/* Equal extreme elements share the gradient equally. */
static void extreme_gradient(liana__gradient *g)
{
    liana_shape kept = kept_shape(g->node);
    liana_axes axes = reduced_axes(g->node);
    liana_tensor chosen = liana_op_equal(g->inputs[0], liana_op_reshape(g->output, kept));
    chosen = liana_op_cast(chosen, g->node->dtype);
    liana_tensor share =
        liana_op_divide(liana_op_reshape(g->output_gradient, kept), liana_op_reduce_sum(chosen, axes, true));
    g->input_gradients[0] = liana_op_multiply(chosen, share);
}

/* The product of the others, which the quotient of the whole product is only where no element is 0: zeros are left out
 * of it, and it counts where there is none among the others. */
static void prod_gradient(liana__gradient *g)
{
    liana_graph *graph = g->output.graph;
    liana_dtype dtype = g->node->dtype;
    liana_axes axes = reduced_axes(g->node);
    liana_tensor x = g->inputs[0], zero = liana_graph_scalar(graph, dtype, 0);
    liana_tensor is_zero = liana_op_equal(x, zero), zeros = liana_op_cast(is_zero, dtype);
    liana_tensor filled = liana_op_select(is_zero, liana_graph_scalar(graph, dtype, 1), x);
    liana_tensor others = liana_op_divide(liana_op_reduce_prod(filled, axes, true), filled);
    liana_tensor zeros_left = liana_op_subtract(liana_op_reduce_sum(zeros, axes, true), zeros);
    liana_tensor factor = liana_op_select(liana_op_equal(zeros_left, zero), others, zero);
    liana_tensor dy = liana_op_reshape(g->output_gradient, kept_shape(g->node));
    g->input_gradients[0] = liana_op_multiply(dy, factor);
}

/* ---- StableHLO ---- */

static liana__hlo_fold fold_of(const liana__op *op)
{
    if (op == &liana__op_reduce_max) return LIANA__HLO_MAXIMUM;
    if (op == &liana__op_reduce_min) return LIANA__HLO_MINIMUM;
    return op == &liana__op_reduce_prod ? LIANA__HLO_MULTIPLY : LIANA__HLO_ADD;
}

/* Sums and products are computed in f32 or wider, and in 64 bits; small integers are clamped to their range at last. */
static liana_status lower_reduce(liana__lowering *l, const liana__node *node)
{
    const liana__reduce_attributes *options = node->attributes;
    liana__hlo_fold fold = fold_of(node->op);
    liana__hlo x = liana__hlo_input(l, node, 0);
    bool is_float = liana__dtype_is_float(x.dtype), adds = fold == LIANA__HLO_ADD || fold == LIANA__HLO_MULTIPLY;
    if (is_float && adds) x = liana__hlo_widen(l, x);
    if (!is_float && adds) x = liana__hlo_widen_integer(l, x, liana__dtype_is_signed(node->dtype));
    liana__hlo total = liana__hlo_reduce(l, fold, x, options->axes.values, (int)options->axes.count);
    if (node->op == &liana__op_reduce_mean) {
        total = liana__hlo_binary_with(l, "divide", total, (double)reduced_count(node));
    }
    total = is_float || !adds ? liana__hlo_convert(l, total, node->dtype)
                              : liana__hlo_narrow_integer(l, total, node->dtype);
    return liana__hlo_give(l, node, liana__hlo_reshape(l, total, node->shape));
}

/* ---- the reference ---- */

static double combine(const liana__op *op, double a, double b)
{
    if (op == &liana__op_reduce_max) return a != a ? a : b != b ? b : a > b ? a : b;
    if (op == &liana__op_reduce_min) return a != a ? a : b != b ? b : a < b ? a : b;
    return op == &liana__op_reduce_prod ? a * b : a + b;
}

static double first_value(const liana__op *op)
{
    if (op == &liana__op_reduce_max) return -INFINITY;
    if (op == &liana__op_reduce_min) return INFINITY;
    return op == &liana__op_reduce_prod ? 1 : 0;
}

/* Walks the reduced part of the input from `base` and combines it, innermost axis fastest. */
static double reduce_from(const liana__call *call, const int64_t *strides, int64_t base)
{
    const liana__node *node = call->node;
    const liana__reduce_attributes *options = node->attributes;
    const liana_shape *shape = liana__input_shape(node, 0);
    int64_t index[LIANA_MAX_RANK] = {0}, count = reduced_count(node), offset = base;
    double total = first_value(node->op);
    for (int64_t i = 0; i < count; i++) {
        total = combine(node->op, total, liana__load(call->src[0], node->inputs[0]->dtype, offset));
        for (int64_t k = options->axes.count - 1; k >= 0; k--) {
            int64_t axis = options->axes.values[k];
            offset += strides[axis];
            if (++index[axis] < shape->dims[axis]) break;
            offset -= strides[axis] * shape->dims[axis];
            index[axis] = 0;
        }
    }
    return node->op == &liana__op_reduce_mean ? total / (double)count : total;
}

static liana_status run_reference(const liana__call *call)
{
    const liana__node *node = call->node;
    const liana_shape *shape = liana__input_shape(node, 0);
    liana_shape kept = kept_shape(node);
    int64_t strides[LIANA_MAX_RANK], index[LIANA_MAX_RANK] = {0}, size = liana_shape_size(&kept), base = 0;
    liana__shape_strides(shape, strides);
    for (int64_t i = 0; i < size; i++) {
        liana__store(call->dst, node->dtype, i, reduce_from(call, strides, base));
        for (int axis = kept.rank - 1; axis >= 0; axis--) {
            base += strides[axis];
            if (++index[axis] < kept.dims[axis]) break;
            base -= strides[axis] * kept.dims[axis];
            index[axis] = 0;
        }
    }
    return LIANA_OK;
}

static liana__parts parts_of(const liana__node *node)
{
    const liana__reduce_attributes *options = node->attributes;
    const liana_shape *shape = liana__input_shape(node, 0);
    bool reduces_rows = options->axes.count > 0 && options->axes.values[0] == 0;
    if (shape->rank > 0 && !reduces_rows) return liana__parts_all_inputs(node);
    bool is_sum = node->op == &liana__op_reduce_sum && reduces_rows;
    return (liana__parts){.kind = is_sum ? LIANA__PART_SUM : LIANA__PART_NONE, .rows = shape->dims[0]};
}

static const liana__kernel *const kernels[] = {LIANA__VECTOR_KERNELS(reduce), LIANA__REFERENCE(run_reference)};

#define REDUCE_OP(op_name, gradient_, attributes_, precision_, doc_)                                           \
    const liana__op liana__op_##op_name = {.name = #op_name,                                                   \
                                           .doc = doc_,                                                        \
                                           .attributes = &attributes_,                                         \
                                           .num_inputs = 1,                                                    \
                                           .infer = infer_reduce,                                              \
                                           .gradient = gradient_,                                              \
                                           .precision = precision_,                                            \
                                           .cost = liana__cost_reduction,                                      \
                                           .parts = parts_of,                                                  \
                                           .lower = lower_reduce,                                              \
                                           .kernels = kernels};                                                \
    liana_tensor liana_op_##op_name##_at(liana_location here, liana_tensor x, liana_axes axes, bool keep_dims) \
    {                                                                                                          \
        const liana__reduce_attributes options = {liana__ints_of(axes.values, axes.count), keep_dims, false};  \
        return liana__build1(here, &liana__op_##op_name, x, &options);                                         \
    }
REDUCE_OP(reduce_sum, sum_gradient, sum_attributes, LIANA__SUMS, "Sum over axes.")
REDUCE_OP(reduce_mean, mean_gradient, sum_attributes, LIANA__SUMS, "Mean over axes.")
REDUCE_OP(reduce_max, extreme_gradient, attributes, LIANA__FOLLOWS, "Greatest element over axes.")
REDUCE_OP(reduce_min, extreme_gradient, attributes, LIANA__FOLLOWS, "Least element over axes.")
REDUCE_OP(reduce_prod, prod_gradient, attributes, LIANA__STAYS_WIDE, "Product over axes.")
#undef REDUCE_OP
