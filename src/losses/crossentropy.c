/* Cross-entropy with class indices and with one-hot rows: the same numbers in two ways.
 *
 * If the model ends in a softmax, the loss uses its logits, as Keras does, which is accurate for any margin. If other
 * layers follow the softmax, probabilities are clipped to [1e-7, 1 - 1e-7] as in Keras (keras.backend.epsilon()), after
 * dividing each row by its sum. Outputs that are not probabilities would give meaningless numbers, so such models are
 * not trained (liana__model_check_probabilities). */
#include "losses/loss.h"

static const double EPSILON = 1e-7;

static liana_tensor log_probabilities(liana_tensor output, liana_tensor logits)
{
    if (logits.id) return liana_op_log_softmax(logits);
    liana_tensor sum = liana_op_reduce_sum(output, LIANA_AXES(-1), true);
    return liana_op_log(liana_op_clip(liana_op_divide(output, sum), EPSILON, 1 - EPSILON));
}

static liana_tensor categorical(liana_tensor output, liana_tensor logits, liana_tensor labels)
{
    liana_tensor logs = log_probabilities(output, logits);
    liana_shape shape = liana_tensor_shape(logs);
    liana_tensor truth = liana_op_one_hot(labels, shape.dims[1], liana_tensor_dtype(logs));
    return liana_op_negate(liana_op_reduce_sum(liana_op_multiply(truth, logs), LIANA_AXES(-1), false));
}

static liana_tensor sparse_categorical(liana_tensor output, liana_tensor logits, liana_tensor labels)
{
    if (logits.id) return liana_op_sparse_softmax_cross_entropy(logits, labels);
    return categorical(output, logits, labels);
}

const liana__loss liana__loss_sparse_categorical_crossentropy = {
    .name = "sparse_categorical_crossentropy",
    .doc = "-log of the probability of the true class, given by its index.",
    .of_probabilities = true,
    .per_example = sparse_categorical,
};

const liana__loss liana__loss_categorical_crossentropy = {
    .name = "categorical_crossentropy",
    .doc = "The same, with the true class as a one-hot row.",
    .of_probabilities = true,
    .per_example = categorical,
};
