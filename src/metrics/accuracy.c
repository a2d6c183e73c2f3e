/* How often the model is right: about the most likely class, one of the k most likely ones, or answers of yes and
 * no. */
#include "metrics/metric.h"

/* f32: each element's share of right answers, by a threshold. Mean over the last axis, as Keras's binary_accuracy. */
static liana_tensor share_above(const liana_metric_call *call, double threshold)
{
    liana_tensor target = liana__target_rows(&call->target, call->output);
    liana_tensor yes = liana_op_greater(call->output, liana__scalar_like(call->output, threshold));
    liana_tensor right = liana_op_equal(liana_op_cast(yes, LIANA_F32), target);
    return liana_op_reduce_mean(liana_op_cast(right, LIANA_F32), LIANA_AXES(-1), false);
}

/* s32: the true class. */
static liana_tensor true_class(const liana_metric_call *call)
{
    if (call->target.kind == LIANA_TARGET_CLASSES) return call->target.tensor;
    return liana_op_argmax(call->target.tensor, -1);
}

static bool has_one_answer(const liana_metric_call *call)
{
    liana_shape shape = liana_tensor_shape(call->output);
    return shape.rank && shape.dims[shape.rank - 1] == 1;
}

/* Keras's rule for the name 'accuracy', with one difference: answers that are each yes or no (a sigmoid's) are judged
 * each by itself, however many there are. */
static liana_tensor accuracy(const liana_metric_call *call)
{
    if (has_one_answer(call) || call->activation == LIANA_LOGITS_SIGMOID) return share_above(call, 0.5);
    liana_tensor right = liana_op_equal(liana_op_argmax(call->output, -1), true_class(call));
    return liana_op_cast(right, LIANA_F32);
}

/* The share of values that equal the target's. */
static liana_tensor equality(const liana_metric_call *call)
{
    liana_tensor right = liana_op_equal(call->output, liana__target_rows(&call->target, call->output));
    return liana_op_reduce_mean(liana_op_cast(right, LIANA_F32), LIANA_AXES(-1), false);
}

/* By the largest value, whatever the output is. */
static liana_tensor categorical_accuracy(const liana_metric_call *call)
{
    return liana_op_cast(liana_op_equal(liana_op_argmax(call->output, -1), true_class(call)), LIANA_F32);
}

typedef struct threshold_options {
    double threshold;
} threshold_options;

static const liana_option threshold_fields[] = {
    LIANA_OPTION_ROW(threshold_options, threshold, FLOAT, .default_text = "0.5", .minimum = 0, .maximum = 1,
                     .doc = "Predictions above it are yes."),
};

static liana_tensor binary_accuracy(const liana_metric_call *call)
{
    const threshold_options *options = call->options;
    return share_above(call, options->threshold);
}

static liana_tensor among_best(const liana_metric_call *call, int64_t k)
{
    liana_tensor labels = true_class(call);
    liana_tensor found = liana_op_in_top_k(liana__as_rows(call->output), liana__as_column(labels), k);
    liana_shape shape = liana_tensor_shape(labels);
    found = liana_op_cast(found, LIANA_F32);
    return shape.rank <= 1 ? found : liana_op_reshape(found, shape);
}

static liana_tensor top_5_accuracy(const liana_metric_call *call)
{
    return among_best(call, 5);
}

typedef struct top_k_options {
    int64_t k;
} top_k_options;

static const liana_option top_k_fields[] = {
    LIANA_OPTION_ROW(top_k_options, k, INT, .default_text = "5", .minimum = 1, .maximum = 1000000,
                     .doc = "How many of the most likely classes count."),
};

static liana_tensor top_k_accuracy(const liana_metric_call *call)
{
    const top_k_options *options = call->options;
    return among_best(call, options->k);
}

#define OF_ALL_TARGETS .targets = LIANA_TARGET_CLASSES | LIANA_TARGET_VALUES

const liana_metric_type liana__metric_accuracy = {
    LIANA_PART(METRIC, liana_metric_type, "accuracy",
               "The share of examples whose true class has the largest probability (the first of equals).",
               .aliases = {"acc"}),
    OF_ALL_TARGETS,
    .elements = accuracy,
};

const liana_metric_type liana__metric_equality = {
    LIANA_PART(METRIC, liana_metric_type, "equality", "The share of values that are equal to the target's.",
               .aliases = {"Accuracy"}),
    OF_ALL_TARGETS,
    .elements = equality,
};

const liana_metric_type liana__metric_binary_accuracy = {
    LIANA_PART(METRIC, liana_metric_type, "binary_accuracy",
               "The share of right answers, where each is yes (1) or no (0).", .aliases = {"BinaryAccuracy"},
               LIANA_PART_OPTIONS(threshold_options, threshold_fields)),
    OF_ALL_TARGETS,
    .elements = binary_accuracy,
};

#define CATEGORICAL(name, class_name)                                                                     \
    const liana_metric_type liana__metric_##name = {                                                      \
        LIANA_PART(METRIC, liana_metric_type, #name,                                                      \
                   "The share of elements whose true class has the largest value (the first of equals).", \
                   .aliases = {class_name}),                                                              \
        OF_ALL_TARGETS,                                                                                   \
        .elements = categorical_accuracy,                                                                 \
    };
CATEGORICAL(categorical_accuracy, "CategoricalAccuracy")
CATEGORICAL(sparse_categorical_accuracy, "SparseCategoricalAccuracy")

const liana_metric_type liana__metric_top_5_accuracy = {
    LIANA_PART(METRIC, liana_metric_type, "top_5_accuracy",
               "The share of examples whose true class is among the five most likely."),
    OF_ALL_TARGETS,
    .elements = top_5_accuracy,
};

#define TOP_K(name, ...)                                                                                           \
    const liana_metric_type liana__metric_##name = {                                                               \
        LIANA_PART(METRIC, liana_metric_type, #name,                                                               \
                   "The share of examples whose true class is among the k most likely.", .aliases = {__VA_ARGS__}, \
                   LIANA_PART_OPTIONS(top_k_options, top_k_fields)),                                               \
        OF_ALL_TARGETS,                                                                                            \
        .elements = top_k_accuracy,                                                                                \
    };
TOP_K(top_k_accuracy, NULL)
TOP_K(top_k_categorical_accuracy, "TopKCategoricalAccuracy")
TOP_K(sparse_top_k_categorical_accuracy, "SparseTopKCategoricalAccuracy")
