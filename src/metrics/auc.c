/* The area under a curve of right answers against wrong ones, as a threshold goes from 0 to 1. */
#include "metrics/answers.h"

#include <math.h>
#include <stdlib.h>

typedef enum curve { CURVE_ROC, CURVE_PR } curve;

typedef struct auc_options {
    int64_t num_thresholds;
    int curve;
    bool multi_label;
} auc_options;

static const char *const curve_names[] = {"ROC", "PR", NULL};

static const liana_option auc_fields[] = {
    LIANA_OPTION_ROW(auc_options, num_thresholds, INT, .default_text = "200", .minimum = 2, .maximum = 10000,
                     .doc = "Thresholds, evenly spaced from just below 0 to just above 1."),
    LIANA_OPTION_ROW(auc_options, curve, ENUM, .default_text = "ROC", .names = curve_names,
                     .doc = "ROC: true against false positives; PR: precision against recall."),
    LIANA_OPTION_ROW(auc_options, multi_label, BOOL, .default_text = "false",
                     .doc =
                         "true: an area for each class or answer, of which the mean is taken; false: one area of all "
                         "together."),
};

/* As in Keras: the first threshold lets everything pass, the last one nothing. */
static const double BEYOND = 1e-7;

/* f32 [1, 1, num_thresholds] */
static liana_tensor thresholds(liana_graph *graph, int64_t count)
{
    float *values = malloc((size_t)count * sizeof *values);
    if (!values) return (liana_tensor){graph, 0};
    for (int64_t i = 0; i < count; i++) values[i] = (float)((double)i / (double)(count - 1));
    values[0] = (float)-BEYOND;
    values[count - 1] = (float)(1 + BEYOND);
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
    return 2 * (size_t)(num_areas(options, output) * options->num_thresholds);
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

/* f32 [areas * num_thresholds]: a sum over the answers of each area. */
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
    liana_tensor above = liana_op_greater(output, thresholds(output.graph, options->num_thresholds));
    above = liana_op_cast(above, LIANA_F32);
    if (call->weights.id) above = liana_op_multiply(above, weights_of_answers(call, areas));
    liana_tensor wrong = liana_op_subtract(liana__scalar_like(truth, 1), truth);
    const liana_tensor sums[] = {sum_answers(liana_op_multiply(above, truth)),
                                 sum_answers(liana_op_multiply(above, wrong))};
    return liana_op_concat(sums, 2, 0);
}

/* The trapezoids below the ROC curve. */
static double roc_area(const double *right, const double *wrong, size_t count)
{
    double area = 0;
    for (size_t i = 0; i + 1 < count; i++) {
        double width = liana__metric_ratio(wrong[i], wrong[0]) - liana__metric_ratio(wrong[i + 1], wrong[0]);
        area += width * (liana__metric_ratio(right[i], right[0]) + liana__metric_ratio(right[i + 1], right[0])) / 2;
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
    size_t count = (size_t)options->num_thresholds, areas = num_sums / (2 * count);
    double sum = 0;
    for (size_t i = 0; i < areas; i++) {
        const double *right = sums + i * count, *wrong = sums + (areas + i) * count;
        sum += options->curve == CURVE_ROC ? roc_area(right, wrong, count) : pr_area(right, wrong, count);
    }
    return sum / (double)areas;
}

const liana_metric_type liana__metric_auc = {
    LIANA_PART(METRIC, liana_metric_type, "auc",
               "The area under the curve of true against false positives: 0.5 by chance, 1 without a mistake.",
               .aliases = {"AUC"}, LIANA_PART_OPTIONS(auc_options, auc_fields)),
    LIANA__OF_ANSWERS,
    .sums = size,
    .add = add,
    .finish = finish,
};
