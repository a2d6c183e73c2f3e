/* Cross-entropies in which sure answers count less (Lin et al. 2017, "Focal Loss for Dense Object Detection").
 *
 * They are computed of probabilities, as in Keras, also where the model gives logits. */
#include "losses/loss.h"

#include <stddef.h>

/* keras.backend.epsilon(). */
static const double EPSILON = 1e-7;

static liana_tensor one_minus(liana_tensor x)
{
    return liana_op_subtract(liana__scalar_like(x, 1), x);
}

static liana_tensor scaled(liana_tensor x, double factor)
{
    return liana_op_multiply(x, liana__scalar_like(x, factor));
}

typedef struct focal_options {
    double gamma, alpha, label_smoothing;
    int64_t axis;
    bool apply_class_balancing; /* of the binary loss only */
} focal_options;

#define FOCAL_ROWS                                                                                                 \
    LIANA_OPTION_ROW(focal_options, gamma, FLOAT, .default_text = "2.0", .minimum = 0, .maximum = 1e3,             \
                     .doc = "The power of 1 - p, with which an answer of the probability p counts."),              \
        LIANA_OPTION_ROW(focal_options, alpha, FLOAT, .default_text = "0.25", .minimum = 0, .maximum = 1e6,        \
                         .doc = "The weight of the true classes."),                                                \
        LIANA_OPTION_ROW(focal_options, label_smoothing, FLOAT, .default_text = "0.0", .minimum = 0, .maximum = 1, \
                         .doc = "The share of a target that is spread evenly over all classes."),                  \
        LIANA__LOSS_AXIS_ROW(focal_options)

static const liana_option categorical_fields[] = {FOCAL_ROWS};
static const liana_option binary_fields[] = {
    FOCAL_ROWS,
    LIANA_OPTION_ROW(focal_options, apply_class_balancing, BOOL, .default_text = "false",
                     .doc = "Whether alpha weighs the answers yes, and 1 - alpha the answers no."),
};

static liana_tensor power(liana_tensor x, double exponent)
{
    return liana_op_power(x, liana__scalar_like(x, exponent));
}

static liana_tensor categorical_focal(const liana_loss_call *given)
{
    const focal_options *options = given->options;
    const liana_loss_call moved = liana__loss_move_axis(given, options->axis), *call = &moved;
    liana_shape shape = liana_tensor_shape(call->output);
    const double classes = shape.rank ? (double)shape.dims[shape.rank - 1] : 1;
    liana_tensor target =
        liana__target_smooth(liana__target_rows(&call->target, call->output), options->label_smoothing, classes);
    liana_tensor sum = liana_op_reduce_sum(call->output, LIANA_AXES(-1), true);
    liana_tensor p = liana_op_clip(liana_op_divide(call->output, sum), EPSILON, 1 - EPSILON);
    liana_tensor each =
        liana_op_multiply(power(one_minus(p), options->gamma), liana_op_multiply(target, liana_op_log(p)));
    each = liana_op_reduce_sum(scaled(each, -options->alpha), LIANA_AXES(-1), false);
    return liana__loss_spread(each, given->output);
}

/* With the probability q of being right: q = t p + (1 - t) (1 - p). */
static liana_tensor binary_focal(const liana_loss_call *given)
{
    const focal_options *options = given->options;
    const liana_loss_call moved = liana__loss_move_axis(given, options->axis), *call = &moved;
    liana_tensor target =
        liana__target_smooth(liana__target_rows(&call->target, call->output), options->label_smoothing, 2);
    liana_tensor p = call->output, clipped = liana_op_clip(p, EPSILON, 1 - EPSILON), no = one_minus(target);
    liana_tensor logs = liana_op_add(liana_op_multiply(target, liana_op_log(clipped)),
                                     liana_op_multiply(no, liana_op_log(one_minus(clipped))));
    liana_tensor right = liana_op_add(liana_op_multiply(target, p), liana_op_multiply(no, one_minus(p)));
    liana_tensor each = liana_op_negate(liana_op_multiply(power(one_minus(right), options->gamma), logs));
    if (options->apply_class_balancing) {
        liana_tensor weight = liana_op_add(scaled(target, options->alpha), scaled(no, 1 - options->alpha));
        each = liana_op_multiply(weight, each);
    }
    return liana__loss_spread(liana_op_reduce_mean(each, LIANA_AXES(-1), false), given->output);
}

const liana_loss_type liana__loss_categorical_focal_crossentropy = {
    LIANA_PART(LOSS, liana_loss_type, "categorical_focal_crossentropy",
               "categorical_crossentropy in which answers count less the surer they are.",
               .aliases = {"CategoricalFocalCrossentropy"}, LIANA_PART_OPTIONS(focal_options, categorical_fields)),
    .activation = LIANA_LOGITS_SOFTMAX,
    .targets = LIANA_TARGET_CLASSES | LIANA_TARGET_VALUES,
    .range = LIANA_RANGE_SHARES,
    .elements = categorical_focal,
};

const liana_loss_type liana__loss_binary_focal_crossentropy = {
    LIANA_PART(LOSS, liana_loss_type, "binary_focal_crossentropy",
               "binary_crossentropy in which answers count less the surer they are.",
               .aliases = {"BinaryFocalCrossentropy"}, LIANA_PART_OPTIONS(focal_options, binary_fields)),
    .activation = LIANA_LOGITS_SIGMOID,
    .targets = LIANA_TARGET_VALUES,
    .range = LIANA_RANGE_UNIT,
    .elements = binary_focal,
};
