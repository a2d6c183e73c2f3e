/* Sun et al. 2020, "Circle loss: a unified perspective of pair similarity optimization": embeddings of one class shall
 * be near each other, those of different classes far apart. Outputs are rows of length 1. */
#include "ir/graph.h"
#include "losses/loss.h"

typedef struct circle_options {
    double gamma, margin;
    bool remove_diagonal;
} circle_options;

static const liana_option fields[] = {
    LIANA_OPTION_ROW(circle_options, gamma, FLOAT, .default_text = "80.0", .minimum = 0, .maximum = 1e6,
                     .doc = "A factor of all distances."),
    LIANA_OPTION_ROW(circle_options, margin, FLOAT, .default_text = "0.4", .minimum = 0, .maximum = 1,
                     .doc = "How much nearer than 1 pairs of one class shall be, and how much farther than 0 others."),
    LIANA_OPTION_ROW(circle_options, remove_diagonal, BOOL, .default_text = "true",
                     .doc = "Whether an example is no pair with itself."),
};

static liana_tensor like(liana_tensor x, double value)
{
    return liana__scalar_like(x, value);
}

static liana_tensor at_least_zero(liana_tensor x)
{
    return liana_op_maximum(x, like(x, 0));
}

static liana_tensor opposite(liana_tensor x)
{
    return liana_op_subtract(like(x, 1), x);
}

static liana_tensor sum_of_rows(liana_tensor x)
{
    return liana_op_reduce_sum(x, LIANA_AXES(1), false);
}

/* [batch, batch]: 1 for pairs of one class, and for pairs of two. */
static void find_pairs(const liana_loss_call *call, liana_tensor *alike, liana_tensor *different)
{
    const circle_options *options = call->options;
    const liana_dtype dtype = liana_tensor_dtype(call->output);
    const int64_t batch = liana_tensor_shape(call->output).dims[0];
    liana_graph *graph = call->output.graph;
    liana_tensor classes = call->target.tensor;
    liana_tensor column = liana_op_reshape(classes, liana_shape_of(batch, 1));
    liana_tensor row = liana_op_reshape(classes, liana_shape_of(1, batch));
    liana_tensor same = liana_op_cast(liana_op_equal(column, row), dtype);
    *alike = same;
    *different = opposite(same);
    if (options->remove_diagonal) {
        const liana_shape square = liana_shape_of(batch, batch);
        liana_tensor itself =
            liana_op_equal(liana_op_iota(graph, LIANA_S32, square, 0), liana_op_iota(graph, LIANA_S32, square, 1));
        *alike = liana_op_multiply(same, opposite(liana_op_cast(itself, dtype)));
    }
    if (!call->present.id) return;
    liana_tensor present = liana_op_reshape(call->present, liana_shape_of(1, batch));
    if (dtype != LIANA_F32) present = liana_op_cast(present, dtype);
    *alike = liana_op_multiply(*alike, present);
    *different = liana_op_multiply(*different, present);
}

/* [batch]: the logarithm of the sum of e^x over the pairs of each row; 0 where there is none. *some: 1 where there is
 * one. */
static liana_tensor log_sum(liana_tensor x, liana_tensor pairs, liana_tensor *some)
{
    liana_tensor hidden = liana_op_multiply(opposite(pairs), like(x, -1e30));
    liana_tensor masked = liana_op_add(liana_op_multiply(x, pairs), hidden);
    liana_tensor most = liana_op_stop_gradient(liana_op_reduce_max(masked, LIANA_AXES(1), true));
    liana_tensor each = liana_op_multiply(liana_op_exp(liana_op_subtract(masked, most)), pairs);
    liana_tensor sum = sum_of_rows(each), is_some = liana_op_greater(sum, like(sum, 0));
    *some = liana_op_cast(is_some, liana_tensor_dtype(x));
    liana_tensor top = liana_op_reshape(most, liana_tensor_shape(sum));
    liana_tensor logs = liana_op_add(liana_op_log(liana_op_select(is_some, sum, like(sum, 1))), top);
    return liana_op_select(is_some, logs, like(sum, 0));
}

/* log(1 + e^x), which cannot overflow. */
static liana_tensor softplus(liana_tensor x)
{
    liana_tensor tail = liana_op_log1p(liana_op_exp(liana_op_negate(liana_op_abs(x))));
    return liana_op_add(at_least_zero(x), tail);
}

/* The number of examples over that of those whose loss is above 0. */
static liana_tensor share_of_positive(const liana_loss_call *call, liana_tensor each)
{
    const liana_shape shape = liana_tensor_shape(each);
    liana_tensor counted = liana_op_cast(liana_op_greater(each, like(each, 0)), liana_tensor_dtype(each));
    liana_tensor number = like(each, shape.rank ? (double)shape.dims[0] : 1);
    if (call->present.id) {
        counted = liana__times_rows(counted, call->present);
        number = liana_op_reduce_sum(liana__times_rows(liana_op_broadcast_to(like(each, 1), shape), call->present),
                                     LIANA_ALL_AXES, false);
    }
    liana_tensor some = liana_op_maximum(liana_op_reduce_sum(counted, LIANA_ALL_AXES, false), like(each, 1));
    return liana_op_stop_gradient(liana_op_divide(number, some));
}

/* As in Keras, examples whose loss is 0 count neither in the sum nor in the number. */
static liana_tensor mean_of_positive(const liana_loss_call *call, liana_tensor each)
{
    return liana_op_multiply(each, share_of_positive(call, each));
}

/* A sum has no number. */
liana_tensor liana__circle_summed(const liana_loss_call *call, liana_tensor each)
{
    return liana_op_divide(each, share_of_positive(call, each));
}

static liana_tensor circle(const liana_loss_call *call)
{
    const circle_options *options = call->options;
    liana_tensor x = call->output, alike, different, has_alike, has_different;
    if (liana_tensor_shape(x).rank != 2) {
        return liana__graph_fail(x.graph, liana_tensor_info(x).here, LIANA_INVALID_CONFIG,
                                 "the loss 'circle' is of outputs [batch, values], found %d dimensions",
                                 liana_tensor_shape(x).rank);
    }
    find_pairs(call, &alike, &different);
    liana_tensor distance = at_least_zero(opposite(liana_op_matmul(x, x, false, true)));
    liana_tensor near = at_least_zero(liana_op_add(distance, like(x, options->margin)));
    liana_tensor far = at_least_zero(liana_op_subtract(like(x, 1 + options->margin), distance));
    near = liana_op_multiply(near, liana_op_subtract(distance, like(x, options->margin)));
    far = liana_op_multiply(far, liana_op_subtract(like(x, 1 - options->margin), distance));
    liana_tensor left = log_sum(liana_op_multiply(near, like(x, options->gamma)), alike, &has_alike);
    liana_tensor right = log_sum(liana_op_multiply(far, like(x, options->gamma)), different, &has_different);
    liana_tensor both = liana_op_multiply(has_alike, has_different);
    return mean_of_positive(call, liana_op_multiply(softplus(liana_op_add(left, right)), both));
}

static bool needs_whole_batch(const void *options)
{
    (void)options;
    return true;
}

const liana_loss_type liana__loss_circle = {
    LIANA_PART(LOSS, liana_loss_type, "circle",
               "Distances of embeddings: of one class small, of different classes large, over all pairs of a batch.",
               .aliases = {"Circle"}, LIANA_PART_OPTIONS(circle_options, fields)),
    .targets = LIANA_TARGET_CLASSES,
    .elements = circle,
    .needs_whole_batch = needs_whole_batch,
};
