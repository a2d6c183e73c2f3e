/* How often the true class is the one the model thinks most likely, or among its five. */
#include "metrics/metric.h"

static liana_tensor accuracy(liana_tensor output, liana_tensor labels)
{
    liana_tensor right = liana_op_equal(liana_op_argmax(output, -1), labels);
    return liana_op_cast(right, LIANA_F32);
}

static liana_tensor top_5_accuracy(liana_tensor output, liana_tensor labels)
{
    return liana_op_cast(liana_op_in_top_k(output, labels, 5), LIANA_F32);
}

const liana__metric liana__metric_accuracy = {
    .name = "accuracy",
    .doc = "The share of examples whose true class has the largest probability (the first of equals).",
    .per_example = accuracy,
};

const liana__metric liana__metric_top_5_accuracy = {
    .name = "top_5_accuracy",
    .doc = "The share of examples whose true class is among the five most likely.",
    .per_example = top_5_accuracy,
};
