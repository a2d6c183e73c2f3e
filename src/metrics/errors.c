/* Metrics of numbers that are no means of elements: the root of the mean square, and R2. */
#include "losses/loss.h"
#include "metrics/metric.h"

#include <math.h>

/* f32 [rows, values of an element]. */
static liana_tensor rows_of(liana_tensor tensor, int64_t width)
{
    return liana_op_reshape(tensor, liana_shape_of(-1, width));
}

static int64_t width_of(const liana_shape *output)
{
    return output->rank ? output->dims[output->rank - 1] : 1;
}

static liana_tensor column_sums(liana_tensor rows)
{
    return liana_op_reduce_sum(rows, LIANA_AXES(0), false);
}

/* f32 [rows, width]: the weight of the row that a value is in. */
static liana_tensor weights_of(const liana_metric_call *call, liana_tensor rows)
{
    if (!call->weights.id) return liana_op_broadcast_to(liana__scalar_like(rows, 1), liana_tensor_shape(rows));
    return liana_op_broadcast_to(rows_of(call->weights, 1), liana_tensor_shape(rows));
}

/* For each value of an element: the sums of weights, targets, squares of targets, and squares of errors. */
static liana_tensor add(const liana_metric_call *call)
{
    liana_shape shape = liana_tensor_shape(call->output);
    const int64_t width = width_of(&shape);
    liana_tensor output = rows_of(call->output, width);
    liana_tensor target = rows_of(liana__target_rows(&call->target, call->output), width);
    liana_tensor weights = weights_of(call, output), weighted = liana_op_multiply(weights, target);
    liana_tensor error = liana_op_square(liana_op_subtract(output, target));
    const liana_tensor sums[] = {column_sums(weights), column_sums(weighted),
                                 column_sums(liana_op_multiply(weighted, target)),
                                 column_sums(liana_op_multiply(weights, error))};
    return liana_op_concat(sums, 4, 0);
}

static size_t size(const void *options, const liana_shape *output)
{
    (void)options;
    return 4 * (size_t)width_of(output);
}

static double finish_root(const void *options, const double *sums, size_t count)
{
    (void)options;
    double weights = 0, squares = 0;
    for (size_t i = 0; i < count / 4; i++) {
        weights += sums[i];
        squares += sums[3 * (count / 4) + i];
    }
    return weights > 0 ? sqrt(squares / weights) : 0;
}

/* 1 - (squares of errors) / (squares of the targets' distances from their mean), the mean over the values of an
 * element. As in Keras, targets that are all alike give 0. */
static double finish_r2(const void *options, const double *sums, size_t count)
{
    (void)options;
    const size_t width = count / 4;
    const double *weights = sums, *targets = sums + width, *squares = sums + 2 * width, *errors = sums + 3 * width;
    double total = 0;
    for (size_t i = 0; i < width; i++) {
        const double mean = weights[i] > 0 ? targets[i] / weights[i] : 0;
        const double spread = squares[i] - targets[i] * mean;
        total += spread > 0 ? 1 - errors[i] / spread : 0;
    }
    return width ? total / (double)width : 0;
}

const liana_metric_type liana__metric_root_mean_squared_error = {
    LIANA_PART(METRIC, liana_metric_type, "root_mean_squared_error",
               "The root of the mean square of the difference between output and target.",
               .aliases = {"RootMeanSquaredError", "rmse"}),
    .targets = LIANA_TARGET_CLASSES | LIANA_TARGET_VALUES,
    .sums = size,
    .add = add,
    .finish = finish_root,
};

const liana_metric_type liana__metric_r2_score = {
    LIANA_PART(METRIC, liana_metric_type, "r2_score",
               "The share of the targets' spread that outputs explain: 1 is all, 0 is no better than their mean.",
               .aliases = {"R2Score"}),
    .targets = LIANA_TARGET_VALUES,
    .sums = size,
    .add = add,
    .finish = finish_r2,
};
