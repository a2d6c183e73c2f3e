/* How far predicted and true classes agree beyond chance: Cohen's kappa and Matthews's correlation. */
#include "metrics/answers.h"

#include <math.h>

/* Sums: the disagreement; how often each class is predicted; how often each is true. */

typedef enum weighting { WEIGHTING_NONE, WEIGHTING_LINEAR, WEIGHTING_QUADRATIC } weighting;

typedef struct kappa_options {
    int weights;
} kappa_options;

static const char *const weighting_names[] = {"none", "linear", "quadratic", NULL};

static const liana_option kappa_fields[] = {
    LIANA_OPTION_ROW(kappa_options, weights, ENUM, .default_text = "none", .names = weighting_names,
                     .doc = "How bad a wrong class is. none: all alike; linear, quadratic: by the distance of the "
                            "classes' numbers, for classes in an order."),
};

static double weight_of(weighting kind, size_t one, size_t other)
{
    double distance = one > other ? (double)(one - other) : (double)(other - one);
    switch (kind) {
    case WEIGHTING_LINEAR: return distance;
    case WEIGHTING_QUADRATIC: return distance * distance;
    case WEIGHTING_NONE: break;
    }
    return distance > 0;
}

static size_t size(const void *options, const liana_shape *output)
{
    (void)options;
    return 1 + 2 * (size_t)liana__metric_num_classes(output);
}

/* ---- on the device ---- */

/* f32 [rows, 1]: the number of each row's class. */
static liana_tensor class_numbers(liana_tensor classes)
{
    return liana_op_reshape(liana_op_cast(liana_op_argmax(classes, -1), LIANA_F32), liana_shape_of(-1, 1));
}

static liana_tensor disagreement(weighting kind, liana_tensor predicted, liana_tensor truth)
{
    liana_tensor distance = liana_op_abs(liana_op_subtract(class_numbers(predicted), class_numbers(truth)));
    switch (kind) {
    case WEIGHTING_LINEAR: return distance;
    case WEIGHTING_QUADRATIC: return liana_op_square(distance);
    case WEIGHTING_NONE: break;
    }
    return liana_op_minimum(distance, liana__scalar_like(distance, 1));
}

static liana_tensor add_weighted(const liana_metric_call *call, weighting kind)
{
    liana_tensor predicted = liana__answers_as_classes(liana__predicted_answers(call, 0.5));
    liana_tensor truth = liana__answers_as_classes(liana__true_answers(call)), weights = liana__answer_weights(call);
    liana_tensor sums[] = {disagreement(kind, predicted, truth), predicted, truth};
    for (int i = 0; i < 3; i++) {
        if (weights.id) sums[i] = liana_op_multiply(sums[i], weights);
        sums[i] = liana_op_reduce_sum(sums[i], LIANA_AXES(0), false);
    }
    return liana_op_concat(sums, 3, 0);
}

static liana_tensor add_kappa(const liana_metric_call *call)
{
    const kappa_options *options = call->options;
    return add_weighted(call, (weighting)options->weights);
}

static liana_tensor add_correlation(const liana_metric_call *call)
{
    return add_weighted(call, WEIGHTING_NONE);
}

/* ---- on the host ---- */

/* Cohen 1960 and 1968: 1 - (disagreement) / (disagreement that is expected of independent answers). */
static double finish_kappa(const void *given, const double *sums, size_t num_sums)
{
    const kappa_options *options = given;
    size_t classes = (num_sums - 1) / 2;
    const double *predicted = sums + 1, *truth = sums + 1 + classes;
    double expected = 0, total = 0;
    for (size_t i = 0; i < classes; i++) {
        total += truth[i];
        for (size_t k = 0; k < classes; k++) {
            expected += weight_of((weighting)options->weights, i, k) * truth[i] * predicted[k];
        }
    }
    return expected > 0 ? 1 - sums[0] * total / expected : 0;
}

/* Gorodkin 2004, "Comparing two K-category assignments by a K-category correlation coefficient"; of two classes it is
 * Matthews 1975. */
static double finish_correlation(const void *options, const double *sums, size_t num_sums)
{
    (void)options;
    size_t classes = (num_sums - 1) / 2;
    const double *predicted = sums + 1, *truth = sums + 1 + classes;
    double total = 0, both = 0, squares[2] = {0};
    for (size_t i = 0; i < classes; i++) {
        total += truth[i];
        both += predicted[i] * truth[i];
        squares[0] += predicted[i] * predicted[i];
        squares[1] += truth[i] * truth[i];
    }
    double right = total - sums[0], spread = (total * total - squares[0]) * (total * total - squares[1]);
    return spread > 0 ? (right * total - both) / sqrt(spread) : 0;
}

const liana_metric_type liana__metric_cohen_kappa = {
    LIANA_PART(METRIC, liana_metric_type, "cohen_kappa",
               "Agreement of predicted and true classes: 0 as by chance, 1 without a mistake.",
               .aliases = {"CohenKappa"}, LIANA_PART_OPTIONS(kappa_options, kappa_fields)),
    LIANA__OF_CLASSES,
    .sums = size,
    .add = add_kappa,
    .finish = finish_kappa,
};

const liana_metric_type liana__metric_matthews_correlation = {
    LIANA_PART(METRIC, liana_metric_type, "matthews_correlation",
               "Correlation of predicted and true classes: -1 to 1, 0 as by chance.",
               .aliases = {"MatthewsCorrelationCoefficient"}),
    LIANA__OF_CLASSES,
    .sums = size,
    .add = add_correlation,
    .finish = finish_correlation,
};
