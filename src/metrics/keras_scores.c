/* Keras's Precision, Recall, FBetaScore and F1Score: keras/src/metrics/confusion_metrics.py and f_score_metrics.py,
 * 3.15.
 *
 * Precision and recall are of all values together, each compared with a threshold, whatever class it is of. F scores
 * are of each class. Classes given by their index count as the one-hot rows that Keras asks for. */
#include "metrics/answers.h"

#include <math.h>

/* ---- precision and recall ---- */

typedef struct threshold_options {
    double thresholds; /* NaN: 0.5, or none with top_k */
    int64_t top_k;     /* 0: all values */
    int64_t class_id;  /* -1: all classes */
} threshold_options;

static const liana_option threshold_fields[] = {
    LIANA_OPTION_ROW(threshold_options, thresholds, FLOAT, .default_text = "null", .minimum = 0, .maximum = 1,
                     .doc =
                         "Values above it are yes; 0.5 if neither it nor top_k is given. One number: for several, name "
                         "the metric several times with 'as'."),
    LIANA_OPTION_ROW(threshold_options, top_k, INT, .default_text = "0", .minimum = 0, .maximum = 1000000,
                     .doc = "Only the k largest values of an element may be yes; 0: all."),
    LIANA_OPTION_ROW(threshold_options, class_id, INT, .default_text = "-1", .minimum = -1, .maximum = 1000000,
                     .doc = "The only class that is counted, by its number from 0; -1: all."),
};

static const char *misfit(const void *given, const liana_shape *output)
{
    const threshold_options *options = given;
    int64_t answers = liana__metric_num_answers(output);
    if (options->class_id >= answers) return "class_id is no class of the output; classes count from 0";
    if (options->top_k > answers) return "top_k is larger than the number of the output's values";
    return NULL;
}

static size_t two(const void *options, const liana_shape *output)
{
    (void)options;
    (void)output;
    return 2;
}

/* f32 [rows, answers]: 1 for the k largest values of each row; the first of equals. */
static liana_tensor largest(liana_tensor output, int64_t k)
{
    const liana_shape shape = liana_tensor_shape(output);
    liana_tensor found = {output.graph, 0}, rest = output, lowest = liana__scalar_like(output, -1e30);
    if (shape.rank == 0) return found;
    for (int64_t i = 0; i < k; i++) {
        liana_tensor next = liana_op_one_hot(liana_op_argmax(rest, -1), shape.dims[shape.rank - 1], LIANA_F32);
        found = found.id ? liana_op_add(found, next) : next;
        rest = liana_op_select(liana_op_greater(next, liana__scalar_like(next, 0)),
                               liana_op_broadcast_to(lowest, shape), rest);
    }
    return found;
}

/* f32 [rows, answers]: 1 where the model says yes. */
static liana_tensor said(const threshold_options *options, liana_tensor output)
{
    const bool given = !isnan(options->thresholds);
    liana_tensor above = {output.graph, 0};
    if (given || !options->top_k) {
        const double threshold = given ? options->thresholds : 0.5;
        above = liana_op_cast(liana_op_greater(output, liana__scalar_like(output, threshold)), LIANA_F32);
    }
    if (!options->top_k) return above;
    liana_tensor chosen = largest(output, options->top_k);
    return above.id ? liana_op_multiply(above, chosen) : chosen;
}

/* f32 [rows, answers]: 1 where yes is true. Keras takes any target but 0 as yes. */
static liana_tensor truths(const liana_metric_call *call, liana_tensor output)
{
    const liana_target target = {call->target.kind, call->target.kind == LIANA_TARGET_CLASSES
                                                        ? liana__as_column(call->target.tensor)
                                                        : liana__as_rows(call->target.tensor)};
    if (target.kind == LIANA_TARGET_CLASSES) return liana__target_rows(&target, output);
    liana_tensor zero = liana__scalar_like(target.tensor, 0);
    liana_tensor none = liana_op_cast(liana_op_equal(target.tensor, zero), LIANA_F32);
    return liana_op_subtract(liana__scalar_like(none, 1), none);
}

/* Right answers of yes, and either those said or those true. */
static liana_tensor add_answers(const liana_metric_call *call, bool recall)
{
    const threshold_options *options = call->options;
    liana_tensor output = liana__as_rows(call->output), truth = truths(call, output);
    liana_tensor weights = liana__answer_weights(call), yes = said(options, output);
    if (options->class_id >= 0) {
        const int64_t rows = liana_tensor_shape(output).dims[0];
        const int64_t start[2] = {0, options->class_id}, limit[2] = {rows, options->class_id + 1};
        truth = liana_op_slice(truth, start, limit, NULL);
        yes = liana_op_slice(yes, start, limit, NULL);
    }
    liana_tensor parts[2] = {liana_op_multiply(yes, truth), recall ? truth : yes};
    for (int i = 0; i < 2; i++) {
        if (weights.id) parts[i] = liana_op_multiply(parts[i], weights);
        parts[i] = liana_op_reshape(liana_op_reduce_sum(parts[i], LIANA_ALL_AXES, false), liana_shape_of(1));
    }
    return liana_op_concat(parts, 2, 0);
}

static liana_tensor add_precision(const liana_metric_call *call)
{
    return add_answers(call, false);
}

static liana_tensor add_recall(const liana_metric_call *call)
{
    return add_answers(call, true);
}

static double finish_ratio(const void *options, const double *sums, size_t size)
{
    (void)options;
    (void)size;
    return liana__metric_ratio(sums[0], sums[1]);
}

/* ---- F scores ---- */

enum { NUM_COUNTS = 3 }; /* right, predicted, true */
typedef enum average { AVERAGE_NONE, AVERAGE_MICRO, AVERAGE_MACRO, AVERAGE_WEIGHTED } average;

typedef struct score_options {
    int average;
    double threshold; /* NaN: the largest value of a row is yes */
    double beta;
} score_options;

static const char *const average_names[] = {"none", "micro", "macro", "weighted", NULL};

#define SCORE_ROWS                                                                                                     \
    LIANA_OPTION_ROW(score_options, average, ENUM, .default_text = "none", .names = average_names,                     \
                     .doc = "none: a number for each class; macro: their mean; weighted: the same, each class by its " \
                            "number of examples; micro: of all answers together."),                                    \
        LIANA_OPTION_ROW(score_options, threshold, FLOAT, .default_text = "null", .minimum = 0, .maximum = 1,          \
                         .doc = "Values above it are yes; null: the largest of an element.")

static const liana_option f1_fields[] = {SCORE_ROWS};
static const liana_option fbeta_fields[] = {
    SCORE_ROWS,
    LIANA_OPTION_ROW(score_options, beta, FLOAT, .default_text = "1.0", .minimum = 1e-6, .maximum = 1e6,
                     .doc = "How much more recall counts than precision; above 0."),
};

static size_t counts_size(const void *options, const liana_shape *output)
{
    (void)options;
    return NUM_COUNTS * (size_t)liana__metric_num_answers(output);
}

static size_t num_scores(const void *given, const liana_shape *output)
{
    const score_options *options = given;
    return options->average == AVERAGE_NONE ? (size_t)liana__metric_num_answers(output) : 0;
}

/* The largest of one value. */
static const char *doubt(const void *given, const liana_shape *output)
{
    const score_options *options = given;
    if (liana__metric_num_answers(output) > 1 || !isnan(options->threshold)) return NULL;
    return "without a threshold the largest value of an example is yes, as in Keras: with one value every example is; "
           "set "
           "threshold: 0.5";
}

/* f32 [rows, answers]: all largest values of a row are yes, unless they are 0. */
static liana_tensor chosen(const score_options *options, liana_tensor output)
{
    if (!isnan(options->threshold)) {
        return liana_op_cast(liana_op_greater(output, liana__scalar_like(output, options->threshold)), LIANA_F32);
    }
    liana_tensor most = liana_op_reduce_max(output, LIANA_AXES(-1), true);
    liana_tensor yes = liana_op_cast(liana_op_greater_equal(output, most), LIANA_F32);
    liana_tensor some = liana_op_greater(liana_op_abs(output), liana__scalar_like(output, 1e-9));
    return liana_op_multiply(yes, liana_op_cast(some, LIANA_F32));
}

static liana_tensor add_counts(const liana_metric_call *call)
{
    liana_tensor output = liana__as_rows(call->output), yes = chosen(call->options, output);
    const bool classes = call->target.kind == LIANA_TARGET_CLASSES;
    const liana_target target = {call->target.kind,
                                 classes ? liana__as_column(call->target.tensor) : liana__as_rows(call->target.tensor)};
    liana_tensor truth = liana__target_rows(&target, output), weights = liana__answer_weights(call);
    liana_tensor counts[NUM_COUNTS] = {liana_op_multiply(yes, truth), yes, truth};
    for (int i = 0; i < NUM_COUNTS; i++) {
        if (weights.id) counts[i] = liana_op_multiply(counts[i], weights);
        counts[i] = liana_op_reduce_sum(counts[i], LIANA_AXES(0), false);
    }
    return liana_op_concat(counts, NUM_COUNTS, 0);
}

/* As in Keras: its epsilon in each denominator. */
static double score_of(const score_options *options, double right, double predicted, double truth)
{
    const double epsilon = 1e-7, square = options->beta * options->beta;
    const double precision = right / (predicted + epsilon), recall = right / (truth + epsilon);
    return (1 + square) * precision * recall / (square * precision + recall + epsilon);
}

static void list_scores(const void *options, const double *sums, size_t size, double *values)
{
    const size_t classes = size / NUM_COUNTS;
    for (size_t i = 0; i < classes; i++) {
        values[i] = score_of(options, sums[i], sums[classes + i], sums[2 * classes + i]);
    }
}

static double finish_score(const void *given, const double *sums, size_t size)
{
    const score_options *options = given;
    const size_t classes = size / NUM_COUNTS;
    double total[NUM_COUNTS] = {0}, mean = 0, weighted = 0;
    for (size_t i = 0; i < classes; i++) {
        const double own = score_of(options, sums[i], sums[classes + i], sums[2 * classes + i]);
        mean += own / (double)classes;
        weighted += own * sums[2 * classes + i];
        for (size_t k = 0; k < NUM_COUNTS; k++) total[k] += sums[k * classes + i];
    }
    switch ((average)options->average) {
    case AVERAGE_MICRO: return score_of(options, total[0], total[1], total[2]);
    case AVERAGE_WEIGHTED: return weighted / (total[2] + 1e-7);
    case AVERAGE_MACRO:
    case AVERAGE_NONE: break;
    }
    return mean;
}

static liana_status set_beta(liana_check *check)
{
    ((score_options *)check->options)->beta = 1;
    return LIANA_OK;
}

/* ---- the metrics ---- */

#define RATIO(name, alias, add_, doc)                                         \
    const liana_metric_type liana__metric_##name = {                          \
        LIANA_PART(METRIC, liana_metric_type, #name, doc, .aliases = {alias}, \
                   LIANA_PART_OPTIONS(threshold_options, threshold_fields)),  \
        LIANA__OF_ANSWERS,                                                    \
        .misfit = misfit,                                                     \
        .sums = two,                                                          \
        .add = add_,                                                          \
        .finish = finish_ratio,                                               \
    };
RATIO(precision, "Precision", add_precision, "The share of right ones among the values above the threshold.")
RATIO(recall, "Recall", add_recall, "The share of the values whose target is 1 that are above the threshold.")

#define F_SCORE(name, alias, check_, fields, doc)                               \
    const liana_metric_type liana__metric_##name = {                            \
        LIANA_PART(METRIC, liana_metric_type, #name, doc, .aliases = {alias},   \
                   LIANA_PART_OPTIONS(score_options, fields), .check = check_), \
        LIANA__OF_ANSWERS,                                                      \
        .doubt = doubt,                                                         \
        .sums = counts_size,                                                    \
        .add = add_counts,                                                      \
        .finish = finish_score,                                                 \
        .num_values = num_scores,                                               \
        .finish_all = list_scores,                                              \
    };
F_SCORE(f1_score, "F1Score", set_beta, f1_fields, "The harmonic mean of precision and recall, of each class.")
F_SCORE(fbeta_score, "FBetaScore", NULL, fbeta_fields,
        "The same mean, in which recall counts beta times as much as precision.")
