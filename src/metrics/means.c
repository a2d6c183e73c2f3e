/* Means: of outputs, and of their distance to the targets. */
#include "losses/loss.h"
#include "metrics/metric.h"

static liana_tensor mean(const liana_metric_call *call)
{
    return liana_op_reduce_mean(call->output, LIANA_AXES(-1), false);
}

/* A loss without options, for each element. */
static liana_tensor loss_of(const liana_loss_type *loss, const liana_metric_call *call)
{
    return loss->elements(&(liana_loss_call){.output = call->output, .target = call->target});
}

static liana_tensor squared(const liana_metric_call *call)
{
    return loss_of(&liana__loss_mean_squared_error, call);
}

static liana_tensor absolute(const liana_metric_call *call)
{
    return loss_of(&liana__loss_mean_absolute_error, call);
}

const liana_metric_type liana__metric_mean = {
    LIANA_PART(METRIC, liana_metric_type, "mean", "The mean of what the model gives."),
    .targets = LIANA_TARGET_CLASSES | LIANA_TARGET_VALUES,
    .elements = mean,
};

const liana_metric_type liana__metric_mean_squared_error = {
    LIANA_PART(METRIC, liana_metric_type, "mean_squared_error",
               "The mean square of the difference between output and target.", .aliases = {"mse"}),
    .targets = LIANA_TARGET_CLASSES | LIANA_TARGET_VALUES,
    .elements = squared,
};

const liana_metric_type liana__metric_mean_absolute_error = {
    LIANA_PART(METRIC, liana_metric_type, "mean_absolute_error",
               "The mean difference between output and target, without its sign.", .aliases = {"mae"}),
    .targets = LIANA_TARGET_CLASSES | LIANA_TARGET_VALUES,
    .elements = absolute,
};
