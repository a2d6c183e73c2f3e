/* Cross-entropies: with class indices, with rows of probabilities, and of probabilities each by itself.
 *
 * If the model ends in the loss's activation, or gives logits, the loss uses the logits, as Keras does, which is
 * accurate for any margin. If other layers follow a softmax, probabilities are clipped to [1e-7, 1 - 1e-7] as in Keras
 * (keras.backend.epsilon()), after dividing each row by its sum. Outputs that are not probabilities would give
 * meaningless numbers, so such models are not trained (train/objective/objective.h). */
#include "losses/loss.h"

#include <limits.h>

static const double EPSILON = 1e-7;

static liana_tensor clip_probabilities(liana_tensor probabilities)
{
    return liana_op_clip(probabilities, EPSILON, 1 - EPSILON);
}

static liana_tensor log_probabilities(const liana_loss_call *call)
{
    if (call->logits.id) return liana_op_log_softmax(call->logits);
    liana_tensor sum = liana_op_reduce_sum(call->output, LIANA_AXES(-1), true);
    return liana_op_log(clip_probabilities(liana_op_divide(call->output, sum)));
}

typedef struct smoothing_options {
    double label_smoothing;
    int64_t axis;
} smoothing_options;

static const liana_option smoothing_fields[] = {
    LIANA_OPTION_ROW(smoothing_options, label_smoothing, FLOAT, .default_text = "0.0", .minimum = 0, .maximum = 1,
                     .doc = "The share of a target that is spread evenly over all classes."),
    LIANA__LOSS_AXIS_ROW(smoothing_options),
};

/* NO_CLASS: none. */
typedef struct sparse_options {
    int64_t ignore_class;
    int64_t axis;
} sparse_options;

enum { NO_CLASS = INT_MIN };

static const liana_option sparse_fields[] = {
    LIANA_OPTION_ROW(sparse_options, ignore_class, INT, .default_text = "-2147483648", .minimum = INT_MIN,
                     .maximum = INT_MAX,
                     .doc = "Elements of this class count neither in the sum nor in the number; -2147483648: all do."),
    LIANA_OPTION_ROW(sparse_options, axis, INT, .default_text = "-1",
                     .doc = "The axis of the classes: -1, the last one."),
};

static liana_status check_sparse(liana_check *check)
{
    const sparse_options *options = check->options;
    if (options->axis == -1) return LIANA_OK;
    return liana_option_refuse(check, "axis",
                               "found %lld, expected -1, the last axis: add a Permute layer, or give "
                               "categorical_crossentropy one-hot targets",
                               (long long)options->axis);
}

static liana_tensor smooth(const smoothing_options *options, liana_tensor target, double parts)
{
    return liana__target_smooth(target, options->label_smoothing, parts);
}

static liana_tensor minus_dot(liana_tensor target, liana_tensor logs)
{
    return liana_op_negate(liana_op_reduce_sum(liana_op_multiply(target, logs), LIANA_AXES(-1), false));
}

static liana_tensor categorical(const liana_loss_call *given)
{
    const smoothing_options *options = given->options;
    const liana_loss_call call = liana__loss_move_axis(given, options->axis);
    liana_tensor logs = log_probabilities(&call), target = liana__target_rows(&call.target, logs);
    liana_shape shape = liana_tensor_shape(logs);
    double classes = shape.rank ? (double)shape.dims[shape.rank - 1] : 1;
    return liana__loss_spread(minus_dot(smooth(options, target, classes), logs), given->output);
}

static liana_tensor of_classes(const liana_loss_call *call, liana_tensor classes)
{
    if (!call->logits.id) {
        const liana_target target = {LIANA_TARGET_CLASSES, classes};
        liana_tensor logs = log_probabilities(call);
        return minus_dot(liana__target_rows(&target, logs), logs);
    }
    liana_tensor each = liana_op_sparse_softmax_cross_entropy(liana__as_rows(call->logits), liana__as_column(classes));
    liana_shape shape = liana_tensor_shape(classes);
    return shape.rank <= 1 ? each : liana_op_reshape(each, shape);
}

static bool ignores_a_class(const void *given)
{
    const sparse_options *options = given;
    return options && options->ignore_class != NO_CLASS;
}

static liana_tensor is_counted(const liana_loss_call *call)
{
    const sparse_options *options = call->options;
    liana_tensor classes = call->target.tensor;
    return liana_op_not_equal(classes, liana__scalar_like(classes, (double)options->ignore_class));
}

static liana_tensor counts(const liana_loss_call *call)
{
    return liana_op_cast(is_counted(call), LIANA_F32);
}

/* An element of the ignored class is one of class 0 that does not count. */
static liana_tensor sparse_categorical(const liana_loss_call *call)
{
    liana_tensor classes = call->target.tensor;
    if (!ignores_a_class(call->options)) return of_classes(call, classes);
    liana_tensor counted = is_counted(call);
    liana_tensor none = liana_op_broadcast_to(liana__scalar_like(classes, 0), liana_tensor_shape(classes));
    liana_tensor each = of_classes(call, liana_op_select(counted, classes, none));
    return liana_op_multiply(each, liana_op_cast(counted, liana_tensor_dtype(each)));
}

/* -(t log p + (1 - t) log(1 - p)). Of logits x: max(x, 0) - x t + log1p(e^-|x|), which cannot overflow. */
static liana_tensor binary(const liana_loss_call *given)
{
    const smoothing_options *options = given->options;
    const liana_loss_call moved = liana__loss_move_axis(given, options->axis), *call = &moved;
    liana_tensor target = smooth(options, liana__target_rows(&call->target, call->output), 2), each;
    if (call->logits.id) {
        liana_tensor x = call->logits, zero = liana__scalar_like(x, 0);
        liana_tensor tail = liana_op_log1p(liana_op_exp(liana_op_negate(liana_op_abs(x))));
        each = liana_op_subtract(liana_op_maximum(x, zero), liana_op_multiply(x, target));
        each = liana_op_add(each, tail);
    } else {
        liana_tensor p = clip_probabilities(call->output), one = liana__scalar_like(p, 1);
        liana_tensor right = liana_op_multiply(target, liana_op_log(p));
        liana_tensor wrong = liana_op_multiply(liana_op_subtract(one, target), liana_op_log(liana_op_subtract(one, p)));
        each = liana_op_negate(liana_op_add(right, wrong));
    }
    return liana__loss_spread(liana_op_reduce_mean(each, LIANA_AXES(-1), false), given->output);
}

const liana_loss_type liana__loss_sparse_categorical_crossentropy = {
    LIANA_PART(LOSS, liana_loss_type, "sparse_categorical_crossentropy",
               "-log of the probability of the true class, given by its index.",
               .aliases = {"SparseCategoricalCrossentropy"}, LIANA_PART_OPTIONS(sparse_options, sparse_fields),
               .check = check_sparse),
    .activation = LIANA_LOGITS_SOFTMAX,
    .targets = LIANA_TARGET_CLASSES,
    .elements = sparse_categorical,
    .leaves_out = ignores_a_class,
    .counts = counts,
};

const liana_loss_type liana__loss_categorical_crossentropy = {
    LIANA_PART(LOSS, liana_loss_type, "categorical_crossentropy",
               "The same, with the true class as a one-hot row, or with a probability for each class.",
               .aliases = {"CategoricalCrossentropy"}, LIANA_PART_OPTIONS(smoothing_options, smoothing_fields)),
    .activation = LIANA_LOGITS_SOFTMAX,
    .targets = LIANA_TARGET_CLASSES | LIANA_TARGET_VALUES,
    .range = LIANA_RANGE_SHARES,
    .elements = categorical,
};

const liana_loss_type liana__loss_binary_crossentropy = {
    LIANA_PART(LOSS, liana_loss_type, "binary_crossentropy",
               "-log of the probability of being right, for several answers that are each yes (1) or no (0).",
               .aliases = {"bce", "BinaryCrossentropy"}, LIANA_PART_OPTIONS(smoothing_options, smoothing_fields)),
    .activation = LIANA_LOGITS_SIGMOID,
    .targets = LIANA_TARGET_VALUES,
    .range = LIANA_RANGE_UNIT,
    .elements = binary,
};

typedef struct generalized_options {
    double q;
} generalized_options;

static const liana_option generalized_fields[] = {
    LIANA_OPTION_ROW(generalized_options, q, FLOAT, .default_text = "0.5", .minimum = 1e-6, .maximum = 1,
                     .doc = "Near 0 it is much like the cross-entropy, near 1 like the absolute error."),
};

/* Zhang and Sabuncu 2018, "Generalized cross entropy loss for training deep neural networks with noisy labels":
 * (1 - p^q) / q of the probability p of the true class. */
static liana_tensor generalized(const liana_loss_call *call)
{
    const generalized_options *options = call->options;
    liana_tensor target = liana__target_rows(&call->target, call->output);
    liana_tensor p = liana_op_reduce_sum(liana_op_multiply(target, call->output), LIANA_AXES(-1), false);
    liana_tensor power = liana_op_power(p, liana__scalar_like(p, options->q));
    liana_tensor rest = liana_op_subtract(liana__scalar_like(p, 1), power);
    return liana_op_multiply(rest, liana__scalar_like(p, 1 / options->q));
}

const liana_loss_type liana__loss_categorical_generalized_cross_entropy = {
    LIANA_PART(LOSS, liana_loss_type, "categorical_generalized_cross_entropy",
               "(1 - p^q) / q of the probability of the true class: wrong labels count less.",
               .aliases = {"CategoricalGeneralizedCrossEntropy"},
               LIANA_PART_OPTIONS(generalized_options, generalized_fields)),
    .activation = LIANA_LOGITS_SOFTMAX,
    .targets = LIANA_TARGET_CLASSES,
    .elements = generalized,
};
