/* Counts of right and wrong answers by class: precision, recall, F1 score and the confusion matrix.
 *
 * A class's precision is its right predictions / all predictions of it, its recall its right predictions / its examples,
 * its F1 score their harmonic mean; 0 where nothing is counted (van Rijsbergen 1979; Keras's F1Score; scikit-learn's
 * precision_recall_fscore_support with labels of all classes and zero_division=0). */
#include "metrics/metric.h"

enum { NUM_COUNTS = 3 }; /* right, predicted, true */

typedef enum average { AVERAGE_MACRO, AVERAGE_MICRO, AVERAGE_WEIGHTED } average;

typedef struct counting_options {
    int average;
    double threshold;
} counting_options;

static const char *const average_names[] = {"macro", "micro", "weighted", NULL};

static const liana__field counting_fields[] = {
    LIANA__FIELD_ROW(counting_options, average, ENUM, .default_text = "macro", .names = average_names,
                     .doc = "macro: the mean over classes; weighted: the same, each class by its number of examples; "
                            "micro: over all answers together."),
    LIANA__FIELD_ROW(counting_options, threshold, FLOAT, .default_text = "0.5", .minimum = 0, .maximum = 1,
                     .doc = "Where each answer is yes or no: predictions above it are yes."),
};

/* ---- on the device ---- */

static int64_t last_dimension(const liana_shape *shape)
{
    return shape->rank ? shape->dims[shape->rank - 1] : 1;
}

/* Whether each answer is yes or no, or one of several classes. */
static bool has_answers_each(const liana__metric_call *call, int64_t classes)
{
    return classes == 1 || call->activation == LIANA__ACTIVATION_SIGMOID;
}

/* f32 [rows, classes]: 1 where the model says yes. */
static liana_tensor predicted_rows(const liana__metric_call *call, double threshold, int64_t classes)
{
    liana_tensor output = liana__as_rows(call->output);
    if (!has_answers_each(call, classes)) return liana_op_one_hot(liana_op_argmax(output, -1), classes, LIANA_F32);
    return liana_op_cast(liana_op_greater(output, liana__scalar_like(output, threshold)), LIANA_F32);
}

/* f32 [rows, classes]: 1 where yes is true. Rows of values that are probabilities of classes mean their largest. */
static liana_tensor true_rows(const liana__metric_call *call, int64_t classes)
{
    liana_tensor target = call->target.tensor;
    if (call->target.kind == LIANA__TARGET_CLASSES) {
        return liana_op_one_hot(liana__as_column(target), classes, LIANA_F32);
    }
    target = liana__as_rows(target);
    if (has_answers_each(call, classes)) return target;
    return liana_op_one_hot(liana_op_argmax(target, -1), classes, LIANA_F32);
}

/* f32 [rows, 1]; invalid: all count 1. */
static liana_tensor weights_of_rows(const liana__metric_call *call)
{
    if (!call->weights.id) return call->weights;
    return liana_op_reshape(call->weights, liana_shape_of(-1, 1));
}

static size_t counts_size(const void *options, const liana_shape *output)
{
    (void)options;
    return NUM_COUNTS * (size_t)last_dimension(output);
}

static liana_tensor add_counts(const liana__metric_call *call)
{
    const counting_options *options = call->options;
    liana_shape shape = liana_tensor_shape(call->output);
    int64_t classes = last_dimension(&shape);
    liana_tensor predicted = predicted_rows(call, options->threshold, classes), truth = true_rows(call, classes);
    liana_tensor weights = weights_of_rows(call);
    if (weights.id) predicted = liana_op_multiply(predicted, weights);
    liana_tensor counts[NUM_COUNTS] = {liana_op_multiply(predicted, truth), predicted,
                                       weights.id ? liana_op_multiply(truth, weights) : truth};
    for (int i = 0; i < NUM_COUNTS; i++) counts[i] = liana_op_reduce_sum(counts[i], LIANA_AXES(0), false);
    return liana_op_concat(counts, NUM_COUNTS, 0);
}

/* ---- on the host ---- */

static double ratio(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

/* What the counts of one class come to. */
typedef double (*score_function)(double right, double predicted, double truth);

static double precision_of(double right, double predicted, double truth)
{
    (void)truth;
    return ratio(right, predicted);
}

static double recall_of(double right, double predicted, double truth)
{
    (void)predicted;
    return ratio(right, truth);
}

/* 2 / (1 / precision + 1 / recall) = 2 right / (predicted + true) */
static double f1_of(double right, double predicted, double truth)
{
    return ratio(2 * right, predicted + truth);
}

static double finish(const void *given, const double *sums, size_t size, score_function score)
{
    const counting_options *options = given;
    size_t classes = size / NUM_COUNTS;
    const double *right = sums, *predicted = sums + classes, *truth = sums + 2 * classes;
    double total[NUM_COUNTS] = {0}, mean = 0, weighted = 0;
    for (size_t i = 0; i < classes; i++) {
        double own = score(right[i], predicted[i], truth[i]);
        mean += own;
        weighted += own * truth[i];
        total[0] += right[i];
        total[1] += predicted[i];
        total[2] += truth[i];
    }
    switch ((average)options->average) {
    case AVERAGE_MICRO: return score(total[0], total[1], total[2]);
    case AVERAGE_WEIGHTED: return ratio(weighted, total[2]);
    case AVERAGE_MACRO: break;
    }
    return mean / (double)classes;
}

static double finish_precision(const void *options, const double *sums, size_t size)
{
    return finish(options, sums, size, precision_of);
}

static double finish_recall(const void *options, const double *sums, size_t size)
{
    return finish(options, sums, size, recall_of);
}

static double finish_f1(const void *options, const double *sums, size_t size)
{
    return finish(options, sums, size, f1_of);
}

/* ---- the matrix ---- */

static int64_t matrix_classes(const liana_shape *output)
{
    int64_t classes = last_dimension(output);
    return classes == 1 ? 2 : classes;
}

static size_t matrix_size(const void *options, const liana_shape *output)
{
    (void)options;
    size_t classes = (size_t)matrix_classes(output);
    return classes * classes;
}

/* One answer of yes or no becomes two classes. */
static liana_tensor both_answers(liana_tensor yes)
{
    const liana_tensor pair[] = {liana_op_subtract(liana__scalar_like(yes, 1), yes), yes};
    return liana_op_concat(pair, 2, 1);
}

/* Row: the true class; column: the predicted one. */
static liana_tensor add_matrix(const liana__metric_call *call)
{
    liana_shape shape = liana_tensor_shape(call->output);
    int64_t given = last_dimension(&shape), classes = matrix_classes(&shape);
    liana__metric_call single = *call;
    if (given > 1) single.activation = LIANA__ACTIVATION_SOFTMAX; /* one class for each element */
    liana_tensor predicted = predicted_rows(&single, 0.5, given), truth = true_rows(&single, given);
    if (given == 1) {
        predicted = both_answers(predicted);
        truth = both_answers(truth);
    }
    liana_tensor weights = weights_of_rows(call);
    if (weights.id) truth = liana_op_multiply(truth, weights);
    return liana_op_reshape(liana_op_matmul(truth, predicted, true, false), liana_shape_of(classes * classes));
}

static const liana__fields precision_options = LIANA__FIELD_TABLE("precision", counting_options, counting_fields);
static const liana__fields recall_options = LIANA__FIELD_TABLE("recall", counting_options, counting_fields);
static const liana__fields f1_options = LIANA__FIELD_TABLE("f1_score", counting_options, counting_fields);

const liana__metric liana__metric_precision = {
    .name = "precision",
    .doc = "The share of right ones among the predictions of a class.",
    .options = &precision_options,
    .targets = LIANA__TARGET_CLASSES | LIANA__TARGET_VALUES,
    .size = counts_size,
    .add = add_counts,
    .finish = finish_precision,
};

const liana__metric liana__metric_recall = {
    .name = "recall",
    .doc = "The share of a class's examples that are predicted as such.",
    .options = &recall_options,
    .targets = LIANA__TARGET_CLASSES | LIANA__TARGET_VALUES,
    .size = counts_size,
    .add = add_counts,
    .finish = finish_recall,
};

const liana__metric liana__metric_f1_score = {
    .name = "f1_score",
    .doc = "The harmonic mean of precision and recall.",
    .options = &f1_options,
    .targets = LIANA__TARGET_CLASSES | LIANA__TARGET_VALUES,
    .size = counts_size,
    .add = add_counts,
    .finish = finish_f1,
};

const liana__metric liana__metric_confusion_matrix = {
    .name = "confusion_matrix",
    .doc = "How many examples of each class (row) are predicted as each class (column).",
    .options = &liana__no_metric_options,
    .targets = LIANA__TARGET_CLASSES | LIANA__TARGET_VALUES,
    .size = matrix_size,
    .add = add_matrix,
    .is_matrix = true,
};
