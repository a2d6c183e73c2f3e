/* Targets in the forms that losses and metrics need. */
#include "losses/target.h"

#include "base/format.h"
#include "ir/graph.h"

#include <math.h>

liana_tensor liana__scalar_like(liana_tensor tensor, double value)
{
    return liana_graph_scalar(tensor.graph, liana_tensor_dtype(tensor), value);
}

liana_tensor liana__target_rows(const liana_target *target, liana_tensor output)
{
    if (target->kind == LIANA_TARGET_VALUES) return target->tensor;
    liana_shape shape = liana_tensor_shape(output);
    if (shape.rank == 0) return (liana_tensor){output.graph, 0};
    return liana_op_one_hot(target->tensor, shape.dims[shape.rank - 1], liana_tensor_dtype(output));
}

liana_tensor liana__target_smooth(liana_tensor target, double smoothing, double parts)
{
    if (smoothing == 0) return target;
    liana_tensor kept = liana_op_multiply(target, liana__scalar_like(target, 1 - smoothing));
    return liana_op_add(kept, liana__scalar_like(target, smoothing / parts));
}

liana_tensor liana__times_rows(liana_tensor values, liana_tensor rows)
{
    liana_shape column = liana_tensor_shape(values);
    if (!rows.id || column.rank == 0) return values;
    for (int i = 1; i < column.rank; i++) column.dims[i] = 1;
    if (liana_tensor_dtype(values) != LIANA_F32) rows = liana_op_cast(rows, liana_tensor_dtype(values));
    return liana_op_multiply(values, liana_op_reshape(rows, column));
}

static liana_tensor moved_to_end(liana_tensor tensor, int axis)
{
    liana_axes order = {0};
    const int rank = tensor.id ? liana_tensor_shape(tensor).rank : 0;
    if (!tensor.id || axis == rank - 1) return tensor;
    for (int i = 0; i < rank; i++) {
        if (i != axis) order.values[order.count++] = i;
    }
    order.values[order.count++] = axis;
    return liana_op_transpose(tensor, order);
}

liana_loss_call liana__loss_move_axis(const liana_loss_call *call, int64_t axis)
{
    liana_loss_call moved = *call;
    const int rank = liana_tensor_shape(call->output).rank;
    if (axis < 0) axis += rank;
    if (axis < 1 || axis >= rank) {
        liana__graph_fail(call->output.graph, liana_tensor_info(call->output).here, LIANA_INVALID_CONFIG,
                          "the loss has axis: %lld, expected one of the output's %d dimensions without the first",
                          (long long)axis, rank);
        return moved;
    }
    liana_tensor rows = liana__target_rows(&call->target, call->output);
    if (axis == rank - 1) return moved;
    moved.target = (liana_target){LIANA_TARGET_VALUES, moved_to_end(rows, (int)axis)};
    moved.output = moved_to_end(call->output, (int)axis);
    moved.logits = moved_to_end(call->logits, (int)axis);
    return moved;
}

liana_tensor liana__loss_spread(liana_tensor each, liana_tensor output)
{
    liana_shape shape = liana_tensor_shape(output), own = liana_tensor_shape(each);
    liana_axes axes = {0};
    if (shape.rank == 0 || own.rank == 0) return each;
    shape.rank--;
    bool same = own.rank == shape.rank;
    for (int i = 0; same && i < own.rank; i++) same = own.dims[i] == shape.dims[i];
    if (same) return each;
    for (int i = 1; i < own.rank; i++) axes.values[axes.count++] = i;
    if (axes.count) each = liana_op_reduce_mean(each, axes, false);
    liana_shape column = shape;
    for (int i = 1; i < column.rank; i++) column.dims[i] = 1;
    column.dims[0] = own.dims[0];
    return liana_op_broadcast_to(liana_op_reshape(each, column), shape);
}

liana_tensor liana__as_rows(liana_tensor tensor)
{
    liana_shape shape = liana_tensor_shape(tensor);
    if (shape.rank <= 2) return tensor;
    return liana_op_reshape(tensor, liana_shape_of(-1, shape.dims[shape.rank - 1]));
}

liana_tensor liana__as_column(liana_tensor tensor)
{
    return liana_tensor_shape(tensor).rank <= 1 ? tensor : liana_op_reshape(tensor, liana_shape_of(-1));
}

liana_status liana__targets_accept(liana_context *context, const liana_part *part, unsigned targets)
{
    if (targets && targets <= (LIANA_TARGET_CLASSES | LIANA_TARGET_VALUES)) return LIANA_OK;
    return liana__part_refuse(context, part,
                              targets ? "it takes targets of an unknown kind" : "it takes neither classes nor values");
}

/* ---- on the host ---- */

static const double SUM_TOLERANCE = 0.01 + 1e-6;

static liana_status check_sum(const float *row, int64_t classes, int64_t first, const char *component, const char *loss,
                              liana__error *error)
{
    double sum = 0;
    for (int64_t k = 0; k < classes; k++) sum += (double)row[k];
    if (fabs(sum - 1) <= SUM_TOLERANCE) return LIANA_OK;
    return liana__fail(error, LIANA_OUT_OF_RANGE,
                       "the values %lld to %lld of the component '%.100s' add up to %g, expected 1: with the loss '%s' "
                       "they are the probabilities of the classes%s",
                       (long long)first, (long long)(first + classes) - 1, component, liana__shown(sum), loss,
                       sum == 0 ? "; leave an example without a class out, or give it the weight 0 and any class"
                                : "; for classes that do not exclude each other use sigmoid and binary_crossentropy");
}

liana_status liana__target_check(liana_target_range range, const float *values, int64_t count, int64_t classes,
                                 const char *component, const char *loss, liana__error *error)
{
    if (range == LIANA_RANGE_ANY) return LIANA_OK;
    for (int64_t i = 0; i < count; i++) {
        if (values[i] >= 0 && values[i] <= 1) continue;
        return liana__fail(error, LIANA_OUT_OF_RANGE,
                           "value %lld of the component '%.100s' is %g, expected 0 to 1: with the loss '%s' it is a "
                           "probability (0 is no, 1 is yes)",
                           (long long)i, component, liana__shown((double)values[i]), loss);
    }
    for (int64_t i = 0; range == LIANA_RANGE_SHARES && i < count; i += classes) {
        LIANA_TRY(check_sum(values + i, classes, i, component, loss, error));
    }
    return LIANA_OK;
}
