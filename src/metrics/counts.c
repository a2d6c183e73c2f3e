/* Keras's Precision, Recall, TruePositives, TrueNegatives, FalsePositives and FalseNegatives: all values together, each
 * compared with a threshold, whatever class it is of. Classes given by their index count as the one-hot rows that Keras
 * asks for. */
#include "metrics/answers.h"
#include "metrics/numbers.h"

#include <math.h>

/* Those without top_k and class_id have the first member alone. */
typedef struct threshold_options {
    const liana__value *thresholds; /* NULL: 0.5, or none with top_k */
    int64_t top_k;                  /* 0: all values */
    int64_t class_id;               /* -1: all classes */
} threshold_options;

#define THRESHOLDS_ROW                                                                                  \
    LIANA_OPTION_ROW(threshold_options, thresholds, VALUE,                                              \
                     .doc = "Values above it are yes; 0.5 if neither it nor top_k is given. A list: a " \
                            "number for each threshold.")

static const liana_option ratio_fields[] = {
    THRESHOLDS_ROW,
    LIANA_OPTION_ROW(threshold_options, top_k, INT, .default_text = "0", .minimum = 0, .maximum = 1000000,
                     .doc = "Only the k largest values of an element may be yes; 0: all."),
    LIANA_OPTION_ROW(threshold_options, class_id, INT, .default_text = "-1", .minimum = -1, .maximum = 1000000,
                     .doc = "The only class that is counted, by its number from 0; -1: all."),
};
/* The other members must be read, so that they have their defaults. */
static const liana_option count_fields[] = {THRESHOLDS_ROW};

static liana_status check_ratio(liana_check *check)
{
    const threshold_options *options = check->options;
    return liana__check_numbers(check, "thresholds", options->thresholds, 0, 1);
}

static liana_status check_count(liana_check *check)
{
    threshold_options *options = check->options;
    options->class_id = -1;
    return liana__check_numbers(check, "thresholds", options->thresholds, 0, 1);
}

static const char *misfit(const void *given, const liana_shape *output)
{
    const threshold_options *options = given;
    int64_t answers = liana__metric_num_answers(output);
    if (options->class_id >= answers) return "class_id is no class of the output; classes count from 0";
    if (options->top_k > answers) return "top_k is larger than the number of the output's values";
    return NULL;
}

static size_t num_thresholds(const threshold_options *options)
{
    const size_t count = liana__num_numbers(options->thresholds);
    return count ? count : 1;
}

/* NaN: there is none. */
static double threshold_at(const threshold_options *options, size_t index)
{
    if (liana__num_numbers(options->thresholds)) return liana__number_at(options->thresholds, index);
    return options->top_k ? NAN : 0.5;
}

/* A list of several thresholds gives several numbers. */
static size_t num_values(const void *options, const liana_shape *output)
{
    (void)output;
    const size_t count = num_thresholds(options);
    return count > 1 ? count : 0;
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
static liana_tensor said(const threshold_options *options, double threshold, liana_tensor output)
{
    liana_tensor above = {output.graph, 0};
    if (!isnan(threshold)) {
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

static liana_tensor of_class(liana_tensor rows, int64_t class_id)
{
    if (class_id < 0) return rows;
    const int64_t start[2] = {0, class_id}, limit[2] = {liana_tensor_shape(rows).dims[0], class_id + 1};
    return liana_op_slice(rows, start, limit, NULL);
}

static liana_tensor opposite(liana_tensor x)
{
    return liana_op_subtract(liana__scalar_like(x, 1), x);
}

/* The answers of a kind: what the model says and what is true, each yes, no, or either. */
typedef struct counted {
    bool said, said_matters, truth, truth_matters;
} counted;

static liana_tensor sum_of(const counted *kind, liana_tensor yes, liana_tensor truth, liana_tensor weights)
{
    liana_tensor each = kind->said ? yes : opposite(yes), other = kind->truth ? truth : opposite(truth);
    if (!kind->said_matters) each = other;
    if (kind->said_matters && kind->truth_matters) each = liana_op_multiply(each, other);
    if (weights.id) each = liana_op_multiply(each, weights);
    return liana_op_reshape(liana_op_reduce_sum(each, LIANA_ALL_AXES, false), liana_shape_of(1));
}

/* Sums of each kind for each threshold, one threshold after the other. */
static liana_tensor add(const liana_metric_call *call, const counted *kinds, size_t num_kinds)
{
    const threshold_options *options = call->options;
    const size_t count = num_thresholds(options);
    liana_tensor output = liana__as_rows(call->output), weights = liana__answer_weights(call), sums = {0};
    liana_tensor truth = of_class(truths(call, output), options->class_id);
    for (size_t i = 0; i < count; i++) {
        liana_tensor yes = of_class(said(options, threshold_at(options, i), output), options->class_id);
        for (size_t k = 0; k < num_kinds; k++) {
            const liana_tensor both[] = {sums, sum_of(&kinds[k], yes, truth, weights)};
            sums = sums.id ? liana_op_concat(both, 2, 0) : both[1];
        }
    }
    return sums;
}

static const counted right_yes = {true, true, true, true}, all_said = {true, true, false, false},
                     all_true = {false, false, true, true};

static liana_tensor add_precision(const liana_metric_call *call)
{
    return add(call, (const counted[]){right_yes, all_said}, 2);
}

static liana_tensor add_recall(const liana_metric_call *call)
{
    return add(call, (const counted[]){right_yes, all_true}, 2);
}

static size_t ratio_sums(const void *options, const liana_shape *output)
{
    (void)output;
    return 2 * num_thresholds(options);
}

static double finish_ratio(const void *options, const double *sums, size_t size)
{
    (void)options;
    (void)size;
    return liana__metric_ratio(sums[0], sums[1]);
}

static void list_ratios(const void *options, const double *sums, size_t size, double *values)
{
    (void)options;
    for (size_t i = 0; i < size / 2; i++) values[i] = liana__metric_ratio(sums[2 * i], sums[2 * i + 1]);
}

static size_t count_sums(const void *options, const liana_shape *output)
{
    (void)output;
    return num_thresholds(options);
}

static double finish_count(const void *options, const double *sums, size_t size)
{
    (void)options;
    (void)size;
    return sums[0];
}

static void list_counts(const void *options, const double *sums, size_t size, double *values)
{
    (void)options;
    for (size_t i = 0; i < size; i++) values[i] = sums[i];
}

#define RATIO(name, alias, add_, doc)                                                          \
    const liana_metric_type liana__metric_##name = {                                           \
        LIANA_PART(METRIC, liana_metric_type, #name, doc, .aliases = {alias},                  \
                   LIANA_PART_OPTIONS(threshold_options, ratio_fields), .check = check_ratio), \
        .targets = LIANA_TARGET_CLASSES | LIANA_TARGET_VALUES,                                 \
        .misfit = misfit,                                                                      \
        .sums = ratio_sums,                                                                    \
        .add = add_,                                                                           \
        .finish = finish_ratio,                                                                \
        .num_values = num_values,                                                              \
        .finish_all = list_ratios,                                                             \
    };
RATIO(precision, "Precision", add_precision, "The share of right ones among the values above the threshold.")
RATIO(recall, "Recall", add_recall, "The share of the values whose target is 1 that are above the threshold.")

#define COUNT(name, alias, says_yes, is_yes, doc)                                              \
    static liana_tensor add_##name(const liana_metric_call *call)                              \
    {                                                                                          \
        return add(call, &(const counted){says_yes, true, is_yes, true}, 1);                   \
    }                                                                                          \
    const liana_metric_type liana__metric_##name = {                                           \
        LIANA_PART(METRIC, liana_metric_type, #name, doc, .aliases = {alias},                  \
                   LIANA_PART_OPTIONS(threshold_options, count_fields), .check = check_count), \
        .targets = LIANA_TARGET_CLASSES | LIANA_TARGET_VALUES,                                 \
        .sums = count_sums,                                                                    \
        .add = add_##name,                                                                     \
        .finish = finish_count,                                                                \
        .num_values = num_values,                                                              \
        .finish_all = list_counts,                                                             \
    };
COUNT(true_positives, "TruePositives", true, true, "How many values are above the threshold, and their targets yes.")
COUNT(false_positives, "FalsePositives", true, false, "How many values are above the threshold, and their targets no.")
COUNT(true_negatives, "TrueNegatives", false, false, "How many values are not above it, and their targets no.")
COUNT(false_negatives, "FalseNegatives", false, true, "How many values are not above it, and their targets yes.")
