/* How much the values of an output go along with those of the target, in each element. */
#include "metrics/metric.h"

/* keras.backend.epsilon(). */
static const double EPSILON = 1e-7;

static liana_tensor mean_of(liana_tensor x)
{
    return liana_op_reduce_mean(x, LIANA_AXES(-1), true);
}

static liana_tensor without_last(liana_tensor x)
{
    return liana_op_reduce_mean(x, LIANA_AXES(-1), false);
}

static liana_tensor centered(liana_tensor x)
{
    return liana_op_subtract(x, mean_of(x));
}

/* Pearson 1895: the mean product of both, each with the mean 0 and the deviation 1. */
static liana_tensor pearson(const liana_metric_call *call)
{
    liana_tensor output = centered(call->output);
    liana_tensor target = centered(liana__target_rows(&call->target, call->output));
    liana_tensor both = liana_op_multiply(liana_op_sqrt(mean_of(liana_op_square(output))),
                                          liana_op_sqrt(mean_of(liana_op_square(target))));
    return without_last(liana_op_divide(liana_op_multiply(output, target), both));
}

/* Lin 1989, "A concordance correlation coefficient to evaluate reproducibility": 2 covariance / (both variances + the
 * square of the difference of the means). */
static liana_tensor concordance(const liana_metric_call *call)
{
    liana_tensor target = liana__target_rows(&call->target, call->output);
    liana_tensor left = centered(call->output), right = centered(target);
    liana_tensor apart = liana_op_square(liana_op_subtract(mean_of(call->output), mean_of(target)));
    liana_tensor variances = liana_op_add(mean_of(liana_op_square(left)), mean_of(liana_op_square(right)));
    liana_tensor whole = liana_op_add(liana_op_add(variances, apart), liana__scalar_like(apart, EPSILON));
    liana_tensor product = liana_op_multiply(left, right);
    return without_last(liana_op_divide(liana_op_multiply(product, liana__scalar_like(product, 2)), whole));
}

const liana_metric_type liana__metric_pearson_correlation = {
    LIANA_PART(METRIC, liana_metric_type, "pearson_correlation",
               "The correlation of output and target over the last axis: 1 if one is a rising line of the other.",
               .aliases = {"PearsonCorrelation"}),
    .targets = LIANA_TARGET_VALUES,
    .elements = pearson,
};

const liana_metric_type liana__metric_concordance_correlation = {
    LIANA_PART(METRIC, liana_metric_type, "concordance_correlation",
               "The same, which is 1 only if output and target are equal.", .aliases = {"ConcordanceCorrelation"}),
    .targets = LIANA_TARGET_VALUES,
    .elements = concordance,
};
