/* Means: of outputs, and of losses. */
#include "losses/loss.h"
#include "metrics/metric.h"

static liana_tensor mean(const liana_metric_call *call)
{
    return liana_op_reduce_mean(call->output, LIANA_AXES(-1), false);
}

/* The loss is minus the cosine. */
static liana_tensor cosine_similarity(const liana_metric_call *call)
{
    return liana_op_negate(liana__loss_cosine_similarity.elements(
        &(liana_loss_call){.options = call->options, .output = call->output, .target = call->target}));
}

static liana_tensor add_sum(const liana_metric_call *call)
{
    liana_tensor each = call->output;
    if (call->weights.id) {
        each = liana_op_multiply(liana_op_reduce_sum(each, LIANA_AXES(-1), false), call->weights);
    }
    return liana_op_reshape(liana_op_reduce_sum(each, LIANA_ALL_AXES, false), liana_shape_of(1));
}

static size_t one(const void *options, const liana_shape *output)
{
    (void)options;
    (void)output;
    return 1;
}

static double finish_sum(const void *options, const double *sums, size_t count)
{
    (void)options;
    (void)count;
    return sums[0];
}

enum { ALL_TARGETS = LIANA_TARGET_CLASSES | LIANA_TARGET_VALUES };

const liana_metric_type liana__metric_mean = {
    LIANA_PART(METRIC, liana_metric_type, "mean", "The mean of what the model gives.", .aliases = {"Mean"}),
    .targets = ALL_TARGETS,
    .elements = mean,
};

const liana_metric_type liana__metric_sum = {
    LIANA_PART(METRIC, liana_metric_type, "sum", "The sum of what the model gives, over all examples.",
               .aliases = {"Sum"}),
    .targets = ALL_TARGETS,
    .sums = one,
    .add = add_sum,
    .finish = finish_sum,
};

const liana_metric_type liana__metric_cosine_similarity = {
    LIANA_PART(METRIC, liana_metric_type, "cosine_similarity", "The cosine of the angle between output and target.",
               .aliases = {"CosineSimilarity"}),
    .targets = ALL_TARGETS,
    .elements = cosine_similarity,
    .mean_of = &liana__loss_cosine_similarity,
};

static liana_tensor loss_of(const liana_loss_type *loss, const liana_metric_call *call)
{
    const bool fits = loss->activation != LIANA_LOGITS_NONE && loss->activation == call->activation;
    return loss->elements(&(liana_loss_call){.options = call->options,
                                             .output = call->output,
                                             .logits = fits ? call->logits : (liana_tensor){0},
                                             .target = call->target});
}

/* A metric that is the mean of a loss, whose options it has. */
#define MEAN_OF(loss, metric, targets_, doc_, ...)                                      \
    static liana_tensor elements_of_##metric(const liana_metric_call *call)             \
    {                                                                                   \
        return loss_of(&liana__loss_##loss, call);                                      \
    }                                                                                   \
    const liana_metric_type liana__metric_##metric = {                                  \
        LIANA_PART(METRIC, liana_metric_type, #metric, doc_, .aliases = {__VA_ARGS__}), \
        .targets = (targets_),                                                          \
        .elements = elements_of_##metric,                                               \
        .mean_of = &liana__loss_##loss,                                                 \
    };

MEAN_OF(mean_squared_error, mean_squared_error, ALL_TARGETS,
        "The mean square of the difference between output and target.", "mse", "MeanSquaredError")
MEAN_OF(mean_absolute_error, mean_absolute_error, ALL_TARGETS,
        "The mean difference between output and target, without its sign.", "mae", "MeanAbsoluteError")
MEAN_OF(mean_absolute_percentage_error, mean_absolute_percentage_error, ALL_TARGETS,
        "The mean difference between output and target, in percent of the target.", "mape",
        "MeanAbsolutePercentageError")
MEAN_OF(mean_squared_logarithmic_error, mean_squared_logarithmic_error, ALL_TARGETS,
        "The mean square of the difference between log(1 + output) and log(1 + target).", "msle",
        "MeanSquaredLogarithmicError")
MEAN_OF(log_cosh, log_cosh_error, ALL_TARGETS, "The mean logarithm of the hyperbolic cosine of the difference.",
        "logcosh", "LogCoshError", "log_cosh")
MEAN_OF(huber, huber, ALL_TARGETS, "The mean of the loss huber.", "Huber")
MEAN_OF(poisson, poisson, ALL_TARGETS, "The mean of output - target log(output).", "Poisson")
MEAN_OF(hinge, hinge, ALL_TARGETS, "How much the margins of outputs are below 1; targets are -1 and 1.", "Hinge")
MEAN_OF(squared_hinge, squared_hinge, ALL_TARGETS, "The mean square of hinge.", "SquaredHinge")
MEAN_OF(categorical_hinge, categorical_hinge, ALL_TARGETS,
        "How much the output of the true class is less than 1 above the others.", "CategoricalHinge")
MEAN_OF(kl_divergence, kl_divergence, ALL_TARGETS,
        "How much the target's distribution surprises one who expects the output's.", "KLDivergence",
        "kullback_leibler_divergence", "kld")
MEAN_OF(binary_crossentropy, binary_crossentropy, ALL_TARGETS, "The mean of the loss binary_crossentropy.",
        "BinaryCrossentropy", "bce")
MEAN_OF(categorical_crossentropy, categorical_crossentropy, ALL_TARGETS,
        "The mean of the loss categorical_crossentropy.", "CategoricalCrossentropy")
MEAN_OF(sparse_categorical_crossentropy, sparse_categorical_crossentropy, LIANA_TARGET_CLASSES,
        "The mean of the loss sparse_categorical_crossentropy.", "SparseCategoricalCrossentropy")
MEAN_OF(binary_focal_crossentropy, binary_focal_crossentropy, ALL_TARGETS,
        "The mean of the loss binary_focal_crossentropy.", "BinaryFocalCrossentropy")
MEAN_OF(categorical_focal_crossentropy, categorical_focal_crossentropy, ALL_TARGETS,
        "The mean of the loss categorical_focal_crossentropy.", "CategoricalFocalCrossentropy")
