/* Targets in the forms that losses and metrics need. */
#include "losses/target.h"

#include "base/format.h"

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
