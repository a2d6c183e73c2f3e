/* Intersection over union of classes: right answers of a class, over all elements that are of it or were said to be.
 * IoU, BinaryIoU, MeanIoU, OneHotIoU and OneHotMeanIoU of Keras. */
#include "metrics/answers.h"
#include "metrics/numbers.h"

#include <limits.h>

/* keras.backend.epsilon(). */
static const double EPSILON = 1e-7;

typedef struct iou_options {
    int64_t num_classes;
    const liana__value *target_class_ids; /* NULL: all */
    int64_t ignore_class;                 /* IGNORES_NONE: none */
    bool sparse_y_true, sparse_y_pred;
    int64_t axis;
    double threshold; /* of the binary one */
    int dtype;
} iou_options;

enum { OF_INT, OF_FLOAT32 };
static const char *const dtypes[] = {"int", "float32", NULL};

enum { IGNORES_NONE = INT_MIN };

#define CLASSES_ROW                                                                                   \
    LIANA_OPTION_ROW(iou_options, num_classes, INT, .required = true, .minimum = 1, .maximum = 10000, \
                     .doc = "How many classes there are; elements of others do not count.")
#define IDS_ROW                                                              \
    LIANA_OPTION_ROW(iou_options, target_class_ids, VALUE, .required = true, \
                     .doc = "The classes of which the mean is taken, as [0, 2].")
#define IGNORE_ROW                                                                                      \
    LIANA_OPTION_ROW(iou_options, ignore_class, INT, .default_text = "-2147483648", .minimum = INT_MIN, \
                     .maximum = INT_MAX, .doc = "Elements of this true class do not count; -2147483648: all do.")
#define TRUE_ROW                                                               \
    LIANA_OPTION_ROW(iou_options, sparse_y_true, BOOL, .default_text = "true", \
                     .doc = "Whether targets are numbers of classes; else the largest of an element is its class.")
#define PREDICTED_ROW(usual)                                                  \
    LIANA_OPTION_ROW(iou_options, sparse_y_pred, BOOL, .default_text = usual, \
                     .doc = "Whether outputs are numbers of classes; else the largest of an element is its class.")
#define AXIS_ROW \
    LIANA_OPTION_ROW(iou_options, axis, INT, .default_text = "-1", .doc = "The axis of the classes: -1, the last one.")

#define DTYPE_ROW                                               \
    LIANA_OPTION_ROW(iou_options, dtype, ENUM, .names = dtypes, \
                     .doc = "Of weights: int, as in Keras, leaves their fractions out; float32 counts them.")

static const liana_option iou_fields[] = {CLASSES_ROW,           IDS_ROW,  IGNORE_ROW, TRUE_ROW,
                                          PREDICTED_ROW("true"), AXIS_ROW, DTYPE_ROW};
static const liana_option mean_fields[] = {CLASSES_ROW,           IGNORE_ROW, TRUE_ROW,
                                           PREDICTED_ROW("true"), AXIS_ROW,   DTYPE_ROW};
static const liana_option hot_fields[] = {CLASSES_ROW, IDS_ROW,  IGNORE_ROW, PREDICTED_ROW("false"),
                                          AXIS_ROW,    DTYPE_ROW};
static const liana_option hot_mean_fields[] = {CLASSES_ROW, IGNORE_ROW, PREDICTED_ROW("false"), AXIS_ROW, DTYPE_ROW};
static const liana_option binary_fields[] = {
    LIANA_OPTION_ROW(iou_options, target_class_ids, VALUE,
                     .doc = "The classes of which the mean is taken: 0, 1 or both."),
    LIANA_OPTION_ROW(iou_options, threshold, FLOAT, .default_text = "0.5", .minimum = 0, .maximum = 1,
                     .doc = "Outputs of at least this are of class 1."),
    DTYPE_ROW,
};

static liana_status check_axis(liana_check *check)
{
    const iou_options *options = check->options;
    if (options->axis == -1) return LIANA_OK;
    return liana_option_refuse(check, "axis", "found %lld, expected -1, the last axis", (long long)options->axis);
}

static liana_status check_ids(liana_check *check)
{
    const iou_options *options = check->options;
    LIANA_TRY(check_axis(check));
    return liana__check_numbers(check, "target_class_ids", options->target_class_ids, 0,
                                (double)options->num_classes - 1);
}

static liana_status check_binary(liana_check *check)
{
    iou_options *options = check->options;
    options->num_classes = 2;
    options->ignore_class = IGNORES_NONE;
    options->sparse_y_true = options->sparse_y_pred = true;
    options->axis = -1;
    return check_ids(check);
}

static size_t size(const void *given, const liana_shape *output)
{
    const iou_options *options = given;
    (void)output;
    return (size_t)(options->num_classes * options->num_classes);
}

/* s32 [elements]: the class of each. */
static liana_tensor as_classes(liana_tensor tensor, bool sparse)
{
    liana_tensor classes = sparse ? tensor : liana_op_argmax(tensor, -1);
    if (liana_tensor_dtype(classes) != LIANA_S32) classes = liana_op_cast(classes, LIANA_S32);
    return liana_op_reshape(classes, liana_shape_of(-1));
}

static liana_tensor add_classes(const liana_metric_call *call, liana_tensor predicted)
{
    const iou_options *options = call->options;
    const bool given = call->target.kind == LIANA_TARGET_CLASSES;
    liana_tensor truth = as_classes(call->target.tensor, given || options->sparse_y_true);
    liana_tensor rows = liana_op_one_hot(truth, options->num_classes, LIANA_F32);
    if (call->weights.id) {
        /* Of values each by itself, the weight is that of the element that they are in. */
        liana_tensor weights = liana_op_reshape(call->weights, liana_shape_of(-1, 1));
        const int64_t count = liana_tensor_shape(truth).dims[0], elements = liana_tensor_shape(weights).dims[0];
        if (count != elements && elements) {
            weights = liana_op_broadcast_to(weights, liana_shape_of(elements, count / elements));
        }
        if (options->dtype == OF_INT) weights = liana_op_floor(weights);
        rows = liana_op_multiply(rows, liana_op_reshape(weights, liana_shape_of(-1, 1)));
    }
    if (options->ignore_class != IGNORES_NONE) {
        liana_tensor ignored = liana_graph_scalar(truth.graph, LIANA_S32, (double)options->ignore_class);
        liana_tensor counts = liana_op_cast(liana_op_not_equal(truth, ignored), LIANA_F32);
        rows = liana_op_multiply(rows, liana_op_reshape(counts, liana_shape_of(-1, 1)));
    }
    liana_tensor matrix =
        liana_op_matmul(rows, liana_op_one_hot(predicted, options->num_classes, LIANA_F32), true, false);
    return liana_op_reshape(matrix, liana_shape_of(options->num_classes * options->num_classes));
}

static liana_tensor add(const liana_metric_call *call)
{
    const iou_options *options = call->options;
    return add_classes(call, as_classes(call->output, options->sparse_y_pred));
}

static liana_tensor add_binary(const liana_metric_call *call)
{
    const iou_options *options = call->options;
    liana_tensor yes = liana_op_greater_equal(call->output, liana__scalar_like(call->output, options->threshold));
    return add_classes(call, as_classes(liana_op_cast(yes, LIANA_S32), true));
}

/* The mean over classes that occur. */
static double finish(const void *given, const double *sums, size_t count)
{
    const iou_options *options = given;
    const size_t classes = (size_t)options->num_classes, chosen = liana__num_numbers(options->target_class_ids);
    double sum = 0, found = 0;
    (void)count;
    for (size_t i = 0; i < (chosen ? chosen : classes); i++) {
        const size_t id = chosen ? (size_t)liana__number_at(options->target_class_ids, i) : i;
        double all = -sums[id * classes + id];
        for (size_t k = 0; k < classes; k++) all += sums[id * classes + k] + sums[k * classes + id];
        if (!(all > 1e-9)) continue;
        sum += sums[id * classes + id] / (all + EPSILON);
        found++;
    }
    return sum / (found + EPSILON);
}

/* Keras's names without class are io_u. */
#define IOU(name, fields, check_, add_, doc_, ...)                                   \
    const liana_metric_type liana__metric_##name = {                                 \
        LIANA_PART(METRIC, liana_metric_type, #name, doc_, .aliases = {__VA_ARGS__}, \
                   LIANA_PART_OPTIONS(iou_options, fields), .check = check_),        \
        .targets = LIANA_TARGET_CLASSES | LIANA_TARGET_VALUES,                       \
        .sums = size,                                                                \
        .add = add_,                                                                 \
        .finish = finish,                                                            \
    };
IOU(iou, iou_fields, check_ids, add, "Intersection over union of some classes, the mean of them.", "IoU", "io_u")
IOU(mean_iou, mean_fields, check_axis, add, "Intersection over union, the mean of all classes that occur.", "MeanIoU",
    "mean_io_u")
IOU(binary_iou, binary_fields, check_binary, add_binary, "Intersection over union of answers of yes and no.",
    "BinaryIoU", "binary_io_u")
IOU(one_hot_iou, hot_fields, check_ids, add, "The same as iou, with targets that are one-hot rows.", "OneHotIoU",
    "one_hot_io_u")
IOU(one_hot_mean_iou, hot_mean_fields, check_axis, add, "The same as mean_iou, with targets that are one-hot rows.",
    "OneHotMeanIoU", "one_hot_mean_io_u")
