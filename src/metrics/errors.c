/* Metrics of numbers that are no means of elements: the root of the mean square, and R2. */
#include "losses/loss.h"
#include "metrics/metric.h"

#include <math.h>

/* f32 [rows, values of an element]. */
static liana_tensor rows_of(liana_tensor tensor, int64_t width)
{
    return liana_op_reshape(tensor, liana_shape_of(-1, width));
}

static int64_t width_of(const liana_shape *output)
{
    return output->rank ? output->dims[output->rank - 1] : 1;
}

static liana_tensor column_sums(liana_tensor rows)
{
    return liana_op_reduce_sum(rows, LIANA_AXES(0), false);
}

/* f32 [rows, width]: the weight of the row that a value is in. */
static liana_tensor weights_of(const liana_metric_call *call, liana_tensor rows)
{
    if (!call->weights.id) return liana_op_broadcast_to(liana__scalar_like(rows, 1), liana_tensor_shape(rows));
    return liana_op_broadcast_to(rows_of(call->weights, 1), liana_tensor_shape(rows));
}

/* For each value of an element: the sums of weights, targets, squares of targets, and squares of errors. */
static liana_tensor add(const liana_metric_call *call)
{
    liana_shape shape = liana_tensor_shape(call->output);
    const int64_t width = width_of(&shape);
    liana_tensor output = rows_of(call->output, width);
    liana_tensor target = rows_of(liana__target_rows(&call->target, call->output), width);
    liana_tensor weights = weights_of(call, output), weighted = liana_op_multiply(weights, target);
    liana_tensor error = liana_op_square(liana_op_subtract(output, target));
    const liana_tensor sums[] = {column_sums(weights), column_sums(weighted),
                                 column_sums(liana_op_multiply(weighted, target)),
                                 column_sums(liana_op_multiply(weights, error))};
    return liana_op_concat(sums, 4, 0);
}

static size_t size(const void *options, const liana_shape *output)
{
    (void)options;
    return 4 * (size_t)width_of(output);
}

static double finish_root(const void *options, const double *sums, size_t count)
{
    (void)options;
    double weights = 0, squares = 0;
    for (size_t i = 0; i < count / 4; i++) {
        weights += sums[i];
        squares += sums[3 * (count / 4) + i];
    }
    return weights > 0 ? sqrt(squares / weights) : 0;
}

typedef enum aggregation { UNIFORM_AVERAGE, VARIANCE_WEIGHTED_AVERAGE, NO_AVERAGE } aggregation;

typedef struct r2_options {
    int class_aggregation;
    int64_t num_regressors;
} r2_options;

static const char *const aggregation_names[] = {"uniform_average", "variance_weighted_average", "none", NULL};

static const liana_option r2_fields[] = {
    LIANA_OPTION_ROW(r2_options, class_aggregation, ENUM, .default_text = "uniform_average", .names = aggregation_names,
                     .doc = "The mean over the values of an element: of equal weights, or each by the spread of its "
                            "targets; none: a number for each."),
    LIANA_OPTION_ROW(r2_options, num_regressors, INT, .default_text = "0", .minimum = 0, .maximum = 1e9,
                     .doc = "The inputs of the model, for the adjusted score; 0: it is not adjusted."),
};

static size_t r2_size(const void *options, const liana_shape *output)
{
    return size(options, output) + 1;
}

/* The same sums, and how many targets there are. Those of examples that are missing have no weight. */
static liana_tensor add_r2(const liana_metric_call *call)
{
    liana_tensor counts = call->weights;
    const liana_shape shape = liana_tensor_shape(call->output);
    double number = (double)width_of(&shape);
    if (counts.id) {
        counts = liana_op_cast(liana_op_greater(counts, liana__scalar_like(counts, 0)), LIANA_F32);
        counts = liana_op_reduce_sum(counts, LIANA_ALL_AXES, false);
    } else {
        counts = liana_graph_scalar(call->output.graph, LIANA_F32, 1);
        for (int i = 0; i + 1 < shape.rank; i++) number *= (double)shape.dims[i];
    }
    counts = liana_op_multiply(counts, liana__scalar_like(counts, number));
    const liana_tensor sums[] = {add(call), liana_op_reshape(counts, liana_shape_of(1))};
    return liana_op_concat(sums, 2, 0);
}

/* 1 - (squares of errors) / (squares of the targets' distances from their mean), and that spread. As in Keras, targets
 * that are all alike give 0. */
static double r2_of(const double *sums, size_t width, size_t index, double *spread)
{
    const double weight = sums[index], target = sums[width + index];
    *spread = sums[2 * width + index] - target * (weight > 0 ? target / weight : 0);
    return *spread > 0 ? 1 - sums[3 * width + index] / *spread : 0;
}

/* Adjusted for the number of inputs; not where there are no more targets than these. */
static double adjusted(const r2_options *options, double score, double count)
{
    const double regressors = (double)options->num_regressors;
    if (regressors == 0 || regressors >= count - 1) return score;
    return 1 - (1 - score) * (count - 1) / (count - regressors - 1);
}

static double finish_r2(const void *given, const double *sums, size_t count)
{
    const r2_options *options = given;
    const size_t width = count / 4;
    double total = 0, weights = 0, spread = 0;
    for (size_t i = 0; i < width; i++) {
        const double score = r2_of(sums, width, i, &spread);
        const double weight = options->class_aggregation == VARIANCE_WEIGHTED_AVERAGE ? spread : 1;
        total += weight * score;
        weights += weight;
    }
    return adjusted(options, weights > 0 ? total / weights : 0, sums[4 * width]);
}

static size_t num_r2(const void *given, const liana_shape *output)
{
    const r2_options *options = given;
    return options->class_aggregation == NO_AVERAGE ? (size_t)width_of(output) : 0;
}

static void list_r2(const void *options, const double *sums, size_t count, double *values)
{
    const size_t width = count / 4;
    double spread = 0;
    for (size_t i = 0; i < width; i++) values[i] = adjusted(options, r2_of(sums, width, i, &spread), sums[4 * width]);
}

const liana_metric_type liana__metric_root_mean_squared_error = {
    LIANA_PART(METRIC, liana_metric_type, "root_mean_squared_error",
               "The root of the mean square of the difference between output and target.",
               .aliases = {"RootMeanSquaredError", "rmse"}),
    .targets = LIANA_TARGET_CLASSES | LIANA_TARGET_VALUES,
    .sums = size,
    .add = add,
    .finish = finish_root,
};

const liana_metric_type liana__metric_r2_score = {
    LIANA_PART(METRIC, liana_metric_type, "r2_score",
               "The share of the targets' spread that outputs explain: 1 is all, 0 is no better than their mean.",
               .aliases = {"R2Score"}, LIANA_PART_OPTIONS(r2_options, r2_fields)),
    .targets = LIANA_TARGET_VALUES,
    .sums = r2_size,
    .add = add_r2,
    .finish = finish_r2,
    .num_values = num_r2,
    .finish_all = list_r2,
};
