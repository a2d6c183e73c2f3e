/* Losses of whole rows: how far two distributions, or two directions, are apart. */
#include "losses/loss.h"

/* keras.backend.epsilon(). */
static const double EPSILON = 1e-7;

static liana_tensor sum_of_last_axis(liana_tensor each)
{
    return liana_op_reduce_sum(each, LIANA_AXES(-1), false);
}

/* Kullback and Leibler 1951: the sum of t log(t / p). */
static liana_tensor kl_divergence(const liana_loss_call *call)
{
    liana_tensor target = liana_op_clip(liana__target_rows(&call->target, call->output), EPSILON, 1);
    liana_tensor ratio = liana_op_divide(target, liana_op_clip(call->output, EPSILON, 1));
    return sum_of_last_axis(liana_op_multiply(target, liana_op_log(ratio)));
}

/* The row divided by its length, which counts as 1e-7 at least, as in keras.ops.normalize. */
static liana_tensor normalize(liana_tensor row)
{
    liana_tensor squares = liana_op_reduce_sum(liana_op_square(row), LIANA_AXES(-1), true);
    return liana_op_multiply(row,
                             liana_op_rsqrt(liana_op_maximum(squares, liana__scalar_like(row, EPSILON * EPSILON))));
}

typedef struct cosine_options {
    int64_t axis;
} cosine_options;

static const liana_option cosine_fields[] = {LIANA__LOSS_AXIS_ROW(cosine_options)};

static liana_tensor cosine_similarity(const liana_loss_call *given)
{
    const cosine_options *options = given->options;
    const liana_loss_call moved = liana__loss_move_axis(given, options->axis), *call = &moved;
    liana_tensor target = liana__target_rows(&call->target, call->output);
    liana_tensor product = liana_op_multiply(normalize(target), normalize(call->output));
    return liana__loss_spread(liana_op_negate(sum_of_last_axis(product)), given->output);
}

const liana_loss_type liana__loss_kl_divergence = {
    LIANA_PART(LOSS, liana_loss_type, "kl_divergence",
               "How much the target's distribution surprises one who expects the output's.",
               .aliases = {"KLDivergence", "kullback_leibler_divergence", "kld"}),
    .targets = LIANA_TARGET_CLASSES | LIANA_TARGET_VALUES,
    .range = LIANA_RANGE_UNIT,
    .elements = kl_divergence,
};

const liana_loss_type liana__loss_cosine_similarity = {
    LIANA_PART(LOSS, liana_loss_type, "cosine_similarity",
               "Minus the cosine of the angle between output and target: -1 is the same direction.",
               .aliases = {"CosineSimilarity"}, LIANA_PART_OPTIONS(cosine_options, cosine_fields)),
    .targets = LIANA_TARGET_VALUES,
    .elements = cosine_similarity,
};
