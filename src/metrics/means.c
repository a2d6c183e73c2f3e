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

static liana_tensor percentage(const liana_metric_call *call)
{
    return loss_of(&liana__loss_mean_absolute_percentage_error, call);
}

static liana_tensor squared_logarithmic(const liana_metric_call *call)
{
    return loss_of(&liana__loss_mean_squared_logarithmic_error, call);
}

static liana_tensor log_cosh(const liana_metric_call *call)
{
    return loss_of(&liana__loss_log_cosh, call);
}

static liana_tensor poisson(const liana_metric_call *call)
{
    return loss_of(&liana__loss_poisson, call);
}

static liana_tensor hinge(const liana_metric_call *call)
{
    return loss_of(&liana__loss_hinge, call);
}

static liana_tensor squared_hinge(const liana_metric_call *call)
{
    return loss_of(&liana__loss_squared_hinge, call);
}

static liana_tensor categorical_hinge(const liana_metric_call *call)
{
    return loss_of(&liana__loss_categorical_hinge, call);
}

static liana_tensor kl_divergence(const liana_metric_call *call)
{
    return loss_of(&liana__loss_kl_divergence, call);
}

/* The loss is minus the cosine. */
static liana_tensor cosine_similarity(const liana_metric_call *call)
{
    return liana_op_negate(loss_of(&liana__loss_cosine_similarity, call));
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

const liana_metric_type liana__metric_mean_absolute_percentage_error = {
    LIANA_PART(METRIC, liana_metric_type, "mean_absolute_percentage_error",
               "The mean difference between output and target, in percent of the target.",
               .aliases = {"mape", "MeanAbsolutePercentageError"}),
    .targets = LIANA_TARGET_CLASSES | LIANA_TARGET_VALUES,
    .elements = percentage,
};

const liana_metric_type liana__metric_mean_squared_logarithmic_error = {
    LIANA_PART(METRIC, liana_metric_type, "mean_squared_logarithmic_error",
               "The mean square of the difference between log(1 + output) and log(1 + target).",
               .aliases = {"msle", "MeanSquaredLogarithmicError"}),
    .targets = LIANA_TARGET_CLASSES | LIANA_TARGET_VALUES,
    .elements = squared_logarithmic,
};

const liana_metric_type liana__metric_log_cosh_error = {
    LIANA_PART(METRIC, liana_metric_type, "log_cosh_error",
               "The mean logarithm of the hyperbolic cosine of the difference.",
               .aliases = {"logcosh", "LogCoshError"}),
    .targets = LIANA_TARGET_CLASSES | LIANA_TARGET_VALUES,
    .elements = log_cosh,
};

const liana_metric_type liana__metric_poisson = {
    LIANA_PART(METRIC, liana_metric_type, "poisson", "The mean of output - target log(output).",
               .aliases = {"Poisson"}),
    .targets = LIANA_TARGET_CLASSES | LIANA_TARGET_VALUES,
    .elements = poisson,
};

const liana_metric_type liana__metric_hinge = {
    LIANA_PART(METRIC, liana_metric_type, "hinge", "How much the margins of outputs are below 1; targets are -1 and 1.",
               .aliases = {"Hinge"}),
    .targets = LIANA_TARGET_CLASSES | LIANA_TARGET_VALUES,
    .elements = hinge,
};

const liana_metric_type liana__metric_squared_hinge = {
    LIANA_PART(METRIC, liana_metric_type, "squared_hinge", "The mean square of hinge.", .aliases = {"SquaredHinge"}),
    .targets = LIANA_TARGET_CLASSES | LIANA_TARGET_VALUES,
    .elements = squared_hinge,
};

const liana_metric_type liana__metric_categorical_hinge = {
    LIANA_PART(METRIC, liana_metric_type, "categorical_hinge",
               "How much the output of the true class is less than 1 above the others.",
               .aliases = {"CategoricalHinge"}),
    .targets = LIANA_TARGET_CLASSES | LIANA_TARGET_VALUES,
    .elements = categorical_hinge,
};

const liana_metric_type liana__metric_kl_divergence = {
    LIANA_PART(METRIC, liana_metric_type, "kl_divergence",
               "How much the target's distribution surprises one who expects the output's.",
               .aliases = {"KLDivergence", "kullback_leibler_divergence"}),
    .targets = LIANA_TARGET_CLASSES | LIANA_TARGET_VALUES,
    .elements = kl_divergence,
};

const liana_metric_type liana__metric_cosine_similarity = {
    LIANA_PART(METRIC, liana_metric_type, "cosine_similarity", "The cosine of the angle between output and target.",
               .aliases = {"CosineSimilarity"}),
    .targets = LIANA_TARGET_CLASSES | LIANA_TARGET_VALUES,
    .elements = cosine_similarity,
};
