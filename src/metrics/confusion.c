/* The confusion matrix: true classes against predicted ones. */
#include "metrics/answers.h"

#include <string.h>

typedef enum normalize { NORMALIZE_NONE, NORMALIZE_ROWS, NORMALIZE_COLUMNS, NORMALIZE_ALL } normalize;

typedef struct matrix_options {
    int normalize;
    double threshold;
} matrix_options;

static const char *const normalize_names[] = {"none", "rows", "columns", "all", NULL};

static const liana_option matrix_fields[] = {
    LIANA_OPTION_ROW(matrix_options, normalize, ENUM, .default_text = "none", .names = normalize_names,
                     .doc = "rows: shares of each true class; columns: of each predicted class; all: of "
                            "all examples; none: numbers of examples."),
    LIANA_OPTION_ROW(matrix_options, threshold, FLOAT, .default_text = "0.5", .minimum = 0, .maximum = 1,
                     .doc = "Of an answer of yes or no: a prediction above it is yes."),
};

static size_t size(const void *options, const liana_shape *output)
{
    (void)options;
    size_t classes = (size_t)liana__metric_num_classes(output);
    return classes * classes;
}

/* Row: the true class; column: the predicted one. */
static liana_tensor add(const liana_metric_call *call)
{
    const matrix_options *options = call->options;
    const liana_shape shape = liana_tensor_shape(call->output);
    const int64_t classes = liana__metric_num_classes(&shape);
    liana_tensor predicted = liana__answers_as_classes(liana__predicted_answers(call, options->threshold));
    liana_tensor truth = liana__answers_as_classes(liana__true_answers(call));
    liana_tensor weights = liana__answer_weights(call);
    if (weights.id) truth = liana_op_multiply(truth, weights);
    return liana_op_reshape(liana_op_matmul(truth, predicted, true, false), liana_shape_of(classes * classes));
}

/* ---- on the host ---- */

/* Cells that are shares of their sum: `count` of them, `stride` apart. */
static void make_shares(double *cells, size_t count, size_t stride)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) sum += cells[i * stride];
    for (size_t i = 0; i < count; i++) cells[i * stride] = liana__metric_ratio(cells[i * stride], sum);
}

static void finish(const void *given, const double *sums, size_t num_sums, double *values)
{
    const matrix_options *options = given;
    size_t classes = 1;
    while (classes * classes < num_sums) classes++;
    memcpy(values, sums, num_sums * sizeof *values);
    switch ((normalize)options->normalize) {
    case NORMALIZE_ROWS:
        for (size_t i = 0; i < classes; i++) make_shares(values + i * classes, classes, 1);
        return;
    case NORMALIZE_COLUMNS:
        for (size_t i = 0; i < classes; i++) make_shares(values + i, classes, classes);
        return;
    case NORMALIZE_ALL: make_shares(values, num_sums, 1); return;
    case NORMALIZE_NONE: return;
    }
}

const liana_metric_type liana__metric_confusion_matrix = {
    LIANA_PART(METRIC, liana_metric_type, "confusion_matrix",
               "How many examples of each class (row) are predicted as each class (column).",
               LIANA_PART_OPTIONS(matrix_options, matrix_fields)),
    LIANA__OF_CLASSES,
    .sums = size,
    .add = add,
    .num_values = size,
    .finish_all = finish,
    .is_matrix = true,
};
