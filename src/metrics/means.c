/* Means: of outputs, and of their distance to the targets. */
#include "metrics/metric.h"

static liana_tensor mean_of_last_axis(liana_tensor each)
{
    return liana_op_reduce_mean(each, LIANA_AXES(-1), false);
}

static liana_tensor mean(const liana__metric_call *call)
{
    return mean_of_last_axis(call->output);
}

static liana_tensor error_of(const liana__metric_call *call)
{
    return liana_op_subtract(call->output, liana__target_rows(&call->target, call->output));
}

static liana_tensor squared(const liana__metric_call *call)
{
    return mean_of_last_axis(liana_op_square(error_of(call)));
}

static liana_tensor absolute(const liana__metric_call *call)
{
    return mean_of_last_axis(liana_op_abs(error_of(call)));
}

const liana__metric liana__metric_mean = {
    .name = "mean",
    .doc = "The mean of what the model gives.",
    .options = &liana__no_metric_options,
    .targets = LIANA__TARGET_CLASSES | LIANA__TARGET_VALUES,
    .elements = mean,
};

const liana__metric liana__metric_mean_squared_error = {
    .name = "mean_squared_error",
    .alias = "mse",
    .doc = "The mean square of the difference between output and target.",
    .options = &liana__no_metric_options,
    .targets = LIANA__TARGET_CLASSES | LIANA__TARGET_VALUES,
    .elements = squared,
};

const liana__metric liana__metric_mean_absolute_error = {
    .name = "mean_absolute_error",
    .alias = "mae",
    .doc = "The mean difference between output and target, without its sign.",
    .options = &liana__no_metric_options,
    .targets = LIANA__TARGET_CLASSES | LIANA__TARGET_VALUES,
    .elements = absolute,
};
