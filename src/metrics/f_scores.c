/* Keras's FBetaScore and F1Score: scores of each class. Classes given by their index count as the one-hot rows that
 * Keras asks for. */
#include "metrics/answers.h"

#include <math.h>

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

#define F_SCORE(name, check_, fields, doc, ...)                                     \
    const liana_metric_type liana__metric_##name = {                                \
        LIANA_PART(METRIC, liana_metric_type, #name, doc, .aliases = {__VA_ARGS__}, \
                   LIANA_PART_OPTIONS(score_options, fields), .check = check_),     \
        .targets = LIANA_TARGET_CLASSES | LIANA_TARGET_VALUES,                      \
        .doubt = doubt,                                                             \
        .sums = counts_size,                                                        \
        .add = add_counts,                                                          \
        .finish = finish_score,                                                     \
        .num_values = num_scores,                                                   \
        .finish_all = list_scores,                                                  \
    };
F_SCORE(f1_score, set_beta, f1_fields, "The harmonic mean of precision and recall, of each class.", "F1Score")
F_SCORE(fbeta_score, NULL, fbeta_fields, "The same mean, in which recall counts beta times as much as precision.",
        "FBetaScore", "f_beta_score")
