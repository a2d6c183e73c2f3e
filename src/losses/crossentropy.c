/* Cross-entropies: with class indices, with rows of probabilities, and of probabilities each by itself.
 *
 * If the model ends in the loss's activation, or gives logits, the loss uses the logits, as Keras does, which is
 * accurate for any margin. If other layers follow a softmax, probabilities are clipped to [1e-7, 1 - 1e-7] as in Keras
 * (keras.backend.epsilon()), after dividing each row by its sum. Outputs that are not probabilities would give
 * meaningless numbers, so such models are not trained (train/objective/objective.h). */
#include "losses/loss.h"

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
} smoothing_options;

static const liana_option smoothing_fields[] = {
    LIANA_OPTION_ROW(smoothing_options, label_smoothing, FLOAT, .default_text = "0.0", .minimum = 0, .maximum = 1,
                     .doc = "The share of a target that is spread evenly over all classes."),
};

static liana_tensor smooth(const smoothing_options *options, liana_tensor target, double parts)
{
    return liana__target_smooth(target, options->label_smoothing, parts);
}

static liana_tensor minus_dot(liana_tensor target, liana_tensor logs)
{
    return liana_op_negate(liana_op_reduce_sum(liana_op_multiply(target, logs), LIANA_AXES(-1), false));
}

static liana_tensor categorical(const liana_loss_call *call)
{
    liana_tensor logs = log_probabilities(call), target = liana__target_rows(&call->target, logs);
    liana_shape shape = liana_tensor_shape(logs);
    double classes = shape.rank ? (double)shape.dims[shape.rank - 1] : 1;
    return minus_dot(smooth(call->options, target, classes), logs);
}

static liana_tensor sparse_categorical(const liana_loss_call *call)
{
    if (!call->logits.id) {
        liana_tensor logs = log_probabilities(call);
        return minus_dot(liana__target_rows(&call->target, logs), logs);
    }
    liana_tensor each =
        liana_op_sparse_softmax_cross_entropy(liana__as_rows(call->logits), liana__as_column(call->target.tensor));
    liana_shape shape = liana_tensor_shape(call->target.tensor);
    return shape.rank <= 1 ? each : liana_op_reshape(each, shape);
}

/* -(t log p + (1 - t) log(1 - p)). Of logits x: max(x, 0) - x t + log1p(e^-|x|), which cannot overflow. */
static liana_tensor binary(const liana_loss_call *call)
{
    liana_tensor target = smooth(call->options, liana__target_rows(&call->target, call->output), 2), each;
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
    return liana_op_reduce_mean(each, LIANA_AXES(-1), false);
}

const liana_loss_type liana__loss_sparse_categorical_crossentropy = {
    LIANA_PART(LOSS, liana_loss_type, "sparse_categorical_crossentropy",
               "-log of the probability of the true class, given by its index.",
               .aliases = {"SparseCategoricalCrossentropy"}),
    .activation = LIANA_LOGITS_SOFTMAX,
    .targets = LIANA_TARGET_CLASSES,
    .elements = sparse_categorical,
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
