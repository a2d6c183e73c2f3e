/* Scores of classes by their counts of right and wrong answers: precision, recall, F-beta and F1 score, support. A
 * class is predicted where it is the most likely one. A single answer of yes or no is of two classes. keras_scores.c
 * has Keras's metrics, which count otherwise.
 *
 * A class's precision is its right predictions / all predictions of it, its recall its right predictions / its
 * examples, its F-beta score (1 + beta^2) precision recall / (beta^2 precision + recall); 0 where nothing is counted
 * (van Rijsbergen 1979; scikit-learn's precision_recall_fscore_support with labels of all classes and
 * zero_division=0). */
#include "metrics/answers.h"

enum { NUM_COUNTS = 3 }; /* right, predicted, true */

typedef enum average { AVERAGE_MACRO, AVERAGE_MICRO, AVERAGE_WEIGHTED, AVERAGE_NONE } average;

typedef struct score_options {
    int average;
    double threshold;
    double beta; /* of the F-beta score */
} score_options;

static const char *const average_names[] = {"macro", "micro", "weighted", "none", NULL};

#define AVERAGE_ROW                                                                                                    \
    LIANA_OPTION_ROW(score_options, average, ENUM, .default_text = "macro", .names = average_names,                    \
                     .doc = "macro: the mean over classes; weighted: the same, each class by its number of examples; " \
                            "micro: over all answers together; none: a number for each class.")
#define THRESHOLD_ROW                                                                                    \
    LIANA_OPTION_ROW(score_options, threshold, FLOAT, .default_text = "0.5", .minimum = 0, .maximum = 1, \
                     .doc = "Where each answer is yes or no: predictions above it are yes.")

static const liana_option support_fields[] = {THRESHOLD_ROW};
static const liana_option score_fields[] = {AVERAGE_ROW, THRESHOLD_ROW};
static const liana_option fbeta_fields[] = {
    AVERAGE_ROW, THRESHOLD_ROW,
    LIANA_OPTION_ROW(score_options, beta, FLOAT, .default_text = "1.0", .minimum = 1e-6, .maximum = 1e6,
                     .doc = "How much more recall counts than precision; above 0.")};

/* ---- on the device ---- */

static size_t counts_size(const void *options, const liana_shape *output)
{
    (void)options;
    return NUM_COUNTS * (size_t)liana__metric_num_classes(output);
}

static liana_tensor add_counts(const liana_metric_call *call)
{
    const score_options *options = call->options;
    liana_tensor predicted = liana__answers_as_classes(liana__predicted_answers(call, options->threshold));
    liana_tensor truth = liana__answers_as_classes(liana__true_answers(call));
    liana_tensor weights = liana__answer_weights(call);
    if (weights.id) predicted = liana_op_multiply(predicted, weights);
    liana_tensor counts[NUM_COUNTS] = {liana_op_multiply(predicted, truth), predicted,
                                       weights.id ? liana_op_multiply(truth, weights) : truth};
    for (int i = 0; i < NUM_COUNTS; i++) counts[i] = liana_op_reduce_sum(counts[i], LIANA_AXES(0), false);
    return liana_op_concat(counts, NUM_COUNTS, 0);
}

/* ---- on the host ---- */

/* The score of one class from its counts. */
typedef double (*score_function)(const score_options *options, double right, double predicted, double truth);

static double precision_of(const score_options *options, double right, double predicted, double truth)
{
    (void)options;
    (void)truth;
    return liana__metric_ratio(right, predicted);
}

static double recall_of(const score_options *options, double right, double predicted, double truth)
{
    (void)options;
    (void)predicted;
    return liana__metric_ratio(right, truth);
}

/* (1 + b^2) p r / (b^2 p + r) with p = right / predicted and r = right / true */
static double fbeta_of(const score_options *options, double right, double predicted, double truth)
{
    double square = options->beta * options->beta;
    return liana__metric_ratio((1 + square) * right, square * truth + predicted);
}

static double f1_of(const score_options *options, double right, double predicted, double truth)
{
    (void)options;
    return liana__metric_ratio(2 * right, predicted + truth);
}

static void finish_classes(const void *options, const double *sums, size_t size, score_function score, double *values)
{
    size_t classes = size / NUM_COUNTS;
    for (size_t i = 0; i < classes; i++) {
        values[i] = score(options, sums[i], sums[classes + i], sums[2 * classes + i]);
    }
}

static double finish_mean(const void *given, const double *sums, size_t size, score_function score)
{
    const score_options *options = given;
    size_t classes = size / NUM_COUNTS;
    const double *right = sums, *predicted = sums + classes, *truth = sums + 2 * classes;
    double total[NUM_COUNTS] = {0}, mean = 0, weighted = 0;
    for (size_t i = 0; i < classes; i++) {
        double own = score(options, right[i], predicted[i], truth[i]);
        mean += own;
        weighted += own * truth[i];
        total[0] += right[i];
        total[1] += predicted[i];
        total[2] += truth[i];
    }
    switch ((average)options->average) {
    case AVERAGE_MICRO: return score(options, total[0], total[1], total[2]);
    case AVERAGE_WEIGHTED: return liana__metric_ratio(weighted, total[2]);
    case AVERAGE_MACRO:
    case AVERAGE_NONE: break;
    }
    return mean / (double)classes;
}

static size_t num_values(const void *given, const liana_shape *output)
{
    const score_options *options = given;
    return options->average == AVERAGE_NONE ? (size_t)liana__metric_num_classes(output) : 0;
}

static size_t num_classes(const void *options, const liana_shape *output)
{
    (void)options;
    return (size_t)liana__metric_num_classes(output);
}

#define SCORE_PART(metric_name, fields, doc)                                                                          \
    LIANA_PART(METRIC, liana_metric_type, #metric_name, doc, LIANA_PART_OPTIONS(score_options, fields)),              \
        .targets = LIANA_TARGET_CLASSES | LIANA_TARGET_VALUES, .takes = LIANA_METRIC_OF_ANSWERS, .sums = counts_size, \
        .add = add_counts

/* A metric of a score that is 0 to 1: its mean, or that of each class. */
#define CLASS_SCORE(metric_name, score, fields, doc)                                                                 \
    static double finish_##metric_name(const void *options, const double *sums, size_t size)                         \
    {                                                                                                                \
        return finish_mean(options, sums, size, score);                                                              \
    }                                                                                                                \
    static void list_##metric_name(const void *options, const double *sums, size_t size, double *values)             \
    {                                                                                                                \
        finish_classes(options, sums, size, score, values);                                                          \
    }                                                                                                                \
    const liana_metric_type liana__metric_##metric_name = {SCORE_PART(metric_name, fields, doc),                     \
                                                           .finish = finish_##metric_name, .num_values = num_values, \
                                                           .finish_all = list_##metric_name};

CLASS_SCORE(class_precision, precision_of, score_fields,
            "The share of right ones among the predictions of a class, by the most likely class.")
CLASS_SCORE(class_recall, recall_of, score_fields, "The share of a class's examples whose most likely class it is.")
CLASS_SCORE(class_f1_score, f1_of, score_fields, "The harmonic mean of class_precision and class_recall.")
CLASS_SCORE(class_fbeta_score, fbeta_of, fbeta_fields,
            "The same mean, in which recall counts beta times as much as precision.")

static void list_support(const void *options, const double *sums, size_t size, double *values)
{
    (void)options;
    for (size_t i = 0; i < size / NUM_COUNTS; i++) values[i] = sums[2 * (size / NUM_COUNTS) + i];
}

const liana_metric_type liana__metric_support = {
    SCORE_PART(support, support_fields, "How many examples each class has."),
    .num_values = num_classes,
    .finish_all = list_support,
};
