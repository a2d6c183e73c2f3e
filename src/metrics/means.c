/* Means: of outputs, and of their distance to the targets. */
#include "losses/loss.h"
#include "metrics/metric.h"

static liana_tensor mean(const liana__metric_call *call)
{
    return liana_op_reduce_mean(call->output, LIANA_AXES(-1), false);
}

/* What a loss without options is for each element. */
static liana_tensor loss_of(const liana__loss *loss, const liana__metric_call *call)
{
    return loss->elements(&(liana__loss_call){.output = call->output, .target = call->target});
}

static liana_tensor squared(const liana__metric_call *call)
{
    return loss_of(&liana__loss_mean_squared_error, call);
}

static liana_tensor absolute(const liana__metric_call *call)
{
    return loss_of(&liana__loss_mean_absolute_error, call);
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
