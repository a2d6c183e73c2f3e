/* The area under a curve of right answers against wrong ones, as a threshold goes from 0 to 1. */
#include "metrics/answers.h"
#include "metrics/numbers.h"

#include <math.h>
#include <stdlib.h>

typedef enum curve { CURVE_ROC, CURVE_PR, CURVE_PR_GAIN } curve;
typedef enum summation { INTERPOLATION, MINORING, MAJORING } summation;

typedef struct auc_options {
    int64_t num_thresholds;
    int curve, summation_method;
    const liana__value *thresholds; /* in place of the evenly spaced ones */
    bool multi_label;
    int64_t num_labels; /* 0: as many as there are */
    const liana__value *label_weights;
} auc_options;

static const char *const curve_names[] = {"ROC", "PR", "PRGAIN", NULL};
static const char *const summation_names[] = {"interpolation", "minoring", "majoring", NULL};

static const liana_option auc_fields[] = {
    LIANA_OPTION_ROW(auc_options, num_thresholds, INT, .default_text = "200", .minimum = 2, .maximum = 10000,
                     .doc = "Thresholds, evenly spaced from just below 0 to just above 1."),
    LIANA_OPTION_ROW(auc_options, curve, ENUM, .default_text = "ROC", .names = curve_names,
                     .doc = "ROC: true against false positives; PR: precision against recall; PRGAIN: their gains "
                            "over always saying yes."),
    LIANA_OPTION_ROW(auc_options, summation_method, ENUM, .default_text = "interpolation", .names = summation_names,
                     .doc = "The height between two points: interpolation (for PR by Davis and Goadrich's formula), or "
                            "the lower (minoring) or higher (majoring) of them."),
    LIANA_OPTION_ROW(auc_options, thresholds, VALUE,
                     .doc = "Thresholds between 0 and 1 in place of evenly spaced ones; ends are added."),
    LIANA_OPTION_ROW(auc_options, multi_label, BOOL, .default_text = "false",
                     .doc =
                         "true: an area for each class or answer, of which the mean is taken; false: one area of all "
                         "together."),
    LIANA_OPTION_ROW(auc_options, num_labels, INT, .default_text = "0", .minimum = 0, .maximum = 1000000,
                     .doc = "With multi_label, how many classes or answers there are; 0: it is found."),
    LIANA_OPTION_ROW(auc_options, label_weights, VALUE,
                     .doc = "How much each class or answer counts: in the mean with multi_label, else in the sums."),
};

/* As in Keras: the first threshold lets everything pass, the last one nothing. */
static const double BEYOND = 1e-7;

static int64_t num_thresholds(const auc_options *options)
{
    const size_t given = liana__num_numbers(options->thresholds);
    return given ? (int64_t)given + 2 : options->num_thresholds;
}

static int by_size(const void *a, const void *b)
{
    const float left = *(const float *)a, right = *(const float *)b;
    return (left > right) - (left < right);
}

/* f32 [1, 1, thresholds] */
static liana_tensor thresholds(liana_graph *graph, const auc_options *options)
{
    const int64_t count = num_thresholds(options);
    const bool given = liana__num_numbers(options->thresholds) > 0;
    float *values = malloc((size_t)count * sizeof *values);
    if (!values) return (liana_tensor){graph, 0};
    for (int64_t i = 0; i < count; i++) {
        const bool inside = i > 0 && i < count - 1;
        values[i] = given && inside ? (float)liana__number_at(options->thresholds, (size_t)i - 1)
                                    : (float)((double)i / (double)(count - 1));
    }
    values[0] = (float)-BEYOND;
    values[count - 1] = (float)(1 + BEYOND);
    if (given) qsort(values, (size_t)count, sizeof *values, by_size);
    liana_tensor row = liana_graph_constant(graph, LIANA_F32, liana_shape_of(1, 1, count), values);
    free(values);
    return row;
}

/* How many areas there are. */
static int64_t num_areas(const auc_options *options, const liana_shape *output)
{
    return options->multi_label ? liana__metric_num_answers(output) : 1;
}

static size_t size(const void *given, const liana_shape *output)
{
    const auc_options *options = given;
    return 2 * (size_t)(num_areas(options, output) * num_thresholds(options));
}

/* [answers of an area, areas, 1] */
static liana_tensor as_answers(liana_tensor tensor, int64_t areas)
{
    return liana_op_reshape(tensor, liana_shape_of(-1, areas, 1));
}

/* f32 [answers of an area, areas, 1]: the weight of the row that an answer is in. */
static liana_tensor weights_of_answers(const liana_metric_call *call, int64_t areas)
{
    liana_shape shape = liana_tensor_shape(call->output);
    liana_shape column = liana_tensor_shape(call->weights);
    if (shape.rank == 0) return (liana_tensor){call->output.graph, 0};
    column.dims[column.rank++] = 1;
    return as_answers(liana_op_broadcast_to(liana_op_reshape(call->weights, column), shape), areas);
}

/* f32, the output's shape: the weight of the label that an answer is of. */
static liana_tensor weights_of_labels(const auc_options *options, liana_tensor output)
{
    liana_shape shape = liana_tensor_shape(output);
    const size_t count = liana__num_numbers(options->label_weights);
    float *values = malloc((count + 1) * sizeof *values);
    if (!values || shape.rank == 0) {
        free(values);
        return (liana_tensor){output.graph, 0};
    }
    for (size_t i = 0; i < count; i++) values[i] = (float)liana__number_at(options->label_weights, i);
    liana_tensor row = liana_graph_constant(output.graph, LIANA_F32, liana_shape_of((int64_t)count), values);
    free(values);
    liana_shape column = shape;
    for (int i = 0; i + 1 < shape.rank; i++) column.dims[i] = 1;
    return liana_op_broadcast_to(liana_op_reshape(row, column), shape);
}

/* f32 [areas * thresholds]: a sum over the answers of each area. */
static liana_tensor sum_answers(liana_tensor each)
{
    return liana_op_reshape(liana_op_reduce_sum(each, LIANA_AXES(0), false), liana_shape_of(-1));
}

/* Positives above each threshold that are true, of one area after the other; then those that are false. */
static liana_tensor add(const liana_metric_call *call)
{
    const auc_options *options = call->options;
    liana_shape shape = liana_tensor_shape(call->output);
    const int64_t areas = num_areas(options, &shape);
    liana_tensor output = as_answers(call->output, areas);
    liana_tensor truth = as_answers(liana__target_rows(&call->target, call->output), areas);
    liana_tensor above = liana_op_greater(output, thresholds(output.graph, options));
    above = liana_op_cast(above, LIANA_F32);
    if (call->weights.id) above = liana_op_multiply(above, weights_of_answers(call, areas));
    if (!options->multi_label && liana__num_numbers(options->label_weights)) {
        above = liana_op_multiply(above, as_answers(weights_of_labels(options, call->output), areas));
    }
    liana_tensor wrong = liana_op_subtract(liana__scalar_like(truth, 1), truth);
    const liana_tensor sums[] = {sum_answers(liana_op_multiply(above, truth)),
                                 sum_answers(liana_op_multiply(above, wrong))};
    return liana_op_concat(sums, 2, 0);
}

/* A point of the curve at a threshold. */
typedef struct point {
    double x, y;
} point;

/* Flach and Kull 2015, "Precision-recall-gain curves: PR analysis done right". As in Keras, without right answers of
 * yes recall has gained nothing and precision all, and recall gains at least 0. */
static point gain_at(double right, double wrong, double yes, double no)
{
    const double scale = liana__metric_ratio(yes, no);
    const double recall = 1 - scale * liana__metric_ratio(yes - right, right);
    const double precision = 1 - scale * liana__metric_ratio(wrong, right);
    return right > 0 ? (point){recall > 0 ? recall : 0, precision} : (point){0, 1};
}

static point point_at(int kind, double right, double wrong, double yes, double no)
{
    const double recall = liana__metric_ratio(right, yes);
    if (kind == CURVE_ROC) return (point){liana__metric_ratio(wrong, no), recall};
    if (kind == CURVE_PR) return (point){recall, liana__metric_ratio(right, right + wrong)};
    return gain_at(right, wrong, yes, no);
}

/* The rectangles below the curve. */
static double rectangles(const auc_options *options, const double *right, const double *wrong, size_t count)
{
    double area = 0;
    point from = point_at(options->curve, right[0], wrong[0], right[0], wrong[0]);
    for (size_t i = 1; i < count; i++) {
        const point to = point_at(options->curve, right[i], wrong[i], right[0], wrong[0]);
        double height = (from.y + to.y) / 2;
        if (options->summation_method == MINORING) height = fmin(from.y, to.y);
        if (options->summation_method == MAJORING) height = fmax(from.y, to.y);
        area += (from.x - to.x) * height;
        from = to;
    }
    return area;
}

/* Davis and Goadrich 2006, "The relationship between precision-recall and ROC curves": between two thresholds true
 * positives are linear in positives. The integral of precision = TP / P over an interval in which TP = slope P +
 * intercept, divided by all true ones. */
static double pr_area(const double *right, const double *wrong, size_t count)
{
    double area = 0;
    for (size_t i = 0; i + 1 < count; i++) {
        double above = right[i] + wrong[i], below = right[i + 1] + wrong[i + 1], gained = right[i] - right[i + 1];
        double slope = liana__metric_ratio(gained, above - below), intercept = right[i + 1] - slope * below;
        double spread = above > 0 && below > 0 ? log(above / below) : 0;
        area += liana__metric_ratio(slope * (gained + intercept * spread), right[0]);
    }
    return area;
}

static double finish(const void *given, const double *sums, size_t num_sums)
{
    const auc_options *options = given;
    const size_t count = (size_t)num_thresholds(options), areas = num_sums / (2 * count);
    const bool weighted = options->multi_label && liana__num_numbers(options->label_weights) > 0;
    const bool interpolates = options->curve == CURVE_PR && options->summation_method == INTERPOLATION;
    double sum = 0, weights = 0;
    for (size_t i = 0; i < areas; i++) {
        const double *right = sums + i * count, *wrong = sums + (areas + i) * count;
        const double weight = weighted ? liana__number_at(options->label_weights, i) : 1;
        sum += weight * (interpolates ? pr_area(right, wrong, count) : rectangles(options, right, wrong, count));
        weights += weight;
    }
    return liana__metric_ratio(sum, weights);
}

static liana_status check(liana_check *check)
{
    const auc_options *options = check->options;
    LIANA_TRY(liana__check_numbers(check, "thresholds", options->thresholds, 0, 1));
    if (options->num_labels && !options->multi_label) {
        return liana_option_refuse(check, "num_labels", "found %lld, expected none without multi_label: true",
                                   (long long)options->num_labels);
    }
    return liana__check_numbers(check, "label_weights", options->label_weights, 0, 1e30);
}

static const char *misfit(const void *given, const liana_shape *output)
{
    const auc_options *options = given;
    const int64_t answers = liana__metric_num_answers(output);
    const size_t weights = liana__num_numbers(options->label_weights);
    if (options->num_labels && options->num_labels != answers) return "num_labels is not the number of values";
    return weights && (int64_t)weights != answers ? "label_weights has not a number for each value" : NULL;
}

const liana_metric_type liana__metric_auc = {
    LIANA_PART(METRIC, liana_metric_type, "auc",
               "The area under the curve of true against false positives: 0.5 by chance, 1 without a mistake.",
               .aliases = {"AUC"}, LIANA_PART_OPTIONS(auc_options, auc_fields), .check = check),
    .targets = LIANA_TARGET_CLASSES | LIANA_TARGET_VALUES,
    .misfit = misfit,
    .sums = size,
    .add = add,
    .finish = finish,
};

/* ---- the best of one at a level of the other ---- */

typedef struct level_options {
    double level;
    int64_t num_thresholds;
    int64_t class_id; /* -1: all */
} level_options;

/* The areas' thresholds. A single one is 0.5, between the ends that are added to it. */
static auc_options thresholds_of(const level_options *options)
{
    static const liana__value half = {.kind = LIANA__VALUE_FLOAT, .number = 0.5};
    return (auc_options){.num_thresholds = options->num_thresholds,
                         .thresholds = options->num_thresholds == 1 ? &half : NULL};
}

static size_t level_sums(const void *given, const liana_shape *output)
{
    const auc_options options = thresholds_of(given);
    return size(&options, output);
}

static const char *level_misfit(const void *given, const liana_shape *output)
{
    const level_options *options = given;
    if (options->class_id < liana__metric_num_answers(output)) return NULL;
    return "class_id is no class of the output; classes count from 0";
}

static liana_tensor of_class(liana_tensor rows, int64_t class_id)
{
    if (class_id < 0) return rows;
    const int64_t start[2] = {0, class_id}, limit[2] = {liana_tensor_shape(rows).dims[0], class_id + 1};
    return liana_op_slice(rows, start, limit, NULL);
}

static liana_tensor add_levels(const liana_metric_call *call)
{
    const level_options *options = call->options;
    const auc_options even = thresholds_of(options);
    liana_metric_call own = *call;
    liana_tensor truth = liana__as_rows(liana__target_rows(&call->target, call->output));
    own.options = &even;
    own.output = of_class(liana__as_rows(call->output), options->class_id);
    own.target = (liana_target){LIANA_TARGET_VALUES, of_class(truth, options->class_id)};
    if (call->weights.id) own.weights = liana_op_reshape(call->weights, liana_shape_of(-1));
    return add(&own);
}

/* Shares at a threshold: of right answers among those where yes is true, where no is true, and among those of yes. */
typedef enum share { SENSITIVITY, SPECIFICITY, PRECISION } share;

static double share_at(share kind, double right, double wrong, double yes, double no)
{
    if (kind == SENSITIVITY) return liana__metric_ratio(right, yes);
    if (kind == SPECIFICITY) return liana__metric_ratio(no - wrong, no);
    return liana__metric_ratio(right, right + wrong);
}

/* The largest share of one kind at a threshold where that of the other reaches the level; 0 if there is none. */
static double best(const level_options *options, const double *sums, size_t num_sums, share wanted, share held)
{
    const size_t count = num_sums / 2, ends = options->num_thresholds == 1;
    const double *right = sums, *wrong = sums + count;
    double found = 0;
    for (size_t i = ends; i + ends < count; i++) {
        /* Keras compares in float32. */
        const float at = (float)share_at(held, right[i], wrong[i], right[0], wrong[0]);
        if (at >= (float)options->level) found = fmax(found, share_at(wanted, right[i], wrong[i], right[0], wrong[0]));
    }
    return found;
}

#define LEVEL(metric, alias, option, wanted, held, doc_)                                                            \
    static const liana_option metric##_fields[] = {                                                                 \
        {.name = #option,                                                                                           \
         .kind = LIANA_OPTION_FLOAT,                                                                                \
         .offset = offsetof(level_options, level),                                                                  \
         .required = true,                                                                                          \
         .minimum = 0,                                                                                              \
         .maximum = 1,                                                                                              \
         .doc = "The level of " #option "."},                                                                       \
        LIANA_OPTION_ROW(level_options, num_thresholds, INT, .default_text = "200", .minimum = 1, .maximum = 10000, \
                         .doc = "Thresholds, evenly spaced from 0 to 1; 1: 0.5."),                                  \
        LIANA_OPTION_ROW(level_options, class_id, INT, .default_text = "-1", .minimum = -1, .maximum = 1000000,     \
                         .doc = "The only class that is counted, by its number from 0; -1: all."),                  \
    };                                                                                                              \
    static double finish_##metric(const void *options, const double *sums, size_t count)                            \
    {                                                                                                               \
        return best(options, sums, count, wanted, held);                                                            \
    }                                                                                                               \
    const liana_metric_type liana__metric_##metric = {                                                              \
        LIANA_PART(METRIC, liana_metric_type, #metric, doc_, .aliases = {alias},                                    \
                   LIANA_PART_OPTIONS(level_options, metric##_fields)),                                             \
        .targets = LIANA_TARGET_CLASSES | LIANA_TARGET_VALUES,                                                      \
        .misfit = level_misfit,                                                                                     \
        .sums = level_sums,                                                                                         \
        .add = add_levels,                                                                                          \
        .finish = finish_##metric,                                                                                  \
    };
LEVEL(precision_at_recall, "PrecisionAtRecall", recall, PRECISION, SENSITIVITY,
      "The best precision at a threshold where recall is at least a level.")
LEVEL(recall_at_precision, "RecallAtPrecision", precision, SENSITIVITY, PRECISION,
      "The best recall at a threshold where precision is at least a level.")
LEVEL(sensitivity_at_specificity, "SensitivityAtSpecificity", specificity, SENSITIVITY, SPECIFICITY,
      "The largest share of true answers of yes that are found where that of no is at least a level.")
LEVEL(specificity_at_sensitivity, "SpecificityAtSensitivity", sensitivity, SPECIFICITY, SENSITIVITY,
      "The largest share of true answers of no that are found where that of yes is at least a level.")
