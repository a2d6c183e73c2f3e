/* Batch normalisation: statistics, normalisation in training and inference, and the ops of its gradient. */
#include "ops/norm/batch_norm.h"

#include "ir/graph.h"
#include "stablehlo/lowering.h"

#include <math.h>

static const liana__field fields[] = {
    LIANA__FIELD_ROW(liana__batch_norm_attributes, epsilon, FLOAT,
                     .doc = "Added to the variance, so that a constant channel does not divide by zero."),
};
static const liana__fields attributes = {"batch_norm", sizeof(liana__batch_norm_attributes), 1, fields};

/* ---- shapes ---- */

static int64_t channels_of(const liana__infer *infer)
{
    const liana_shape *x = &infer->inputs[0]->shape;
    return x->dims[x->rank - 1];
}

static liana_status check_images(liana__infer *infer)
{
    LIANA_TRY(liana__infer_float(infer, 0));
    if (infer->inputs[0]->shape.rank >= 2) return LIANA_OK;
    return liana__infer_fail(infer, "input 0 has rank %d, expected at least 2: [batch, .., channels]",
                             infer->inputs[0]->shape.rank);
}

liana_status liana__batch_norm_check_channels(liana__infer *infer, size_t index, const char *name, bool stacked)
{
    int64_t channels = channels_of(infer);
    liana_shape expected = stacked ? liana_shape_of(2, channels) : liana_shape_of(channels);
    const liana__node *input = infer->inputs[index];
    liana_dtype dtype = liana__wide_dtype(infer->inputs[0]->dtype);
    if (input->dtype == dtype && liana_shape_equal(&input->shape, &expected)) return LIANA_OK;
    return liana__infer_fail(infer, "%s is %s, expected %s for %lld channels of %s", name,
                             liana__type_print(input->dtype, &input->shape).text,
                             liana__type_print(dtype, &expected).text, (long long)channels,
                             liana_dtype_name(infer->inputs[0]->dtype));
}

liana_status liana__batch_norm_check_epsilon(liana__infer *infer)
{
    double epsilon = ((const liana__batch_norm_attributes *)infer->attributes)->epsilon;
    if (epsilon >= 0 && isfinite(epsilon)) return LIANA_OK;
    return liana__infer_fail(infer, "epsilon is %g, expected a finite number of at least 0", epsilon);
}

liana_status liana__batch_norm_check_like_images(liana__infer *infer, size_t index, const char *name)
{
    LIANA_TRY(liana__infer_same_dtype(infer, 0, index));
    return liana__infer_shape(infer, name, &infer->inputs[index]->shape, "x's", &infer->inputs[0]->shape);
}

static liana_status give_stacked(liana__infer *infer)
{
    infer->dtype = liana__wide_dtype(infer->inputs[0]->dtype);
    infer->shape = liana_shape_of(2, channels_of(infer));
    return LIANA_OK;
}

static liana_status infer_statistics(liana__infer *infer)
{
    LIANA_TRY(check_images(infer));
    return give_stacked(infer);
}

static liana_status infer_training(liana__infer *infer)
{
    LIANA_TRY(check_images(infer));
    LIANA_TRY(liana__batch_norm_check_channels(infer, 1, "gamma", false));
    LIANA_TRY(liana__batch_norm_check_channels(infer, 2, "beta", false));
    LIANA_TRY(liana__batch_norm_check_epsilon(infer));
    LIANA_TRY(liana__batch_norm_check_channels(infer, 3, "statistics", true));
    return liana__infer_like_input(infer);
}

static liana_status infer_inference(liana__infer *infer)
{
    static const char *const names[] = {"x", "gamma", "beta", "mean", "variance"};
    LIANA_TRY(check_images(infer));
    for (size_t i = 1; i < 5; i++) LIANA_TRY(liana__batch_norm_check_channels(infer, i, names[i], false));
    LIANA_TRY(liana__batch_norm_check_epsilon(infer));
    return liana__infer_like_input(infer);
}

static liana_status infer_gradient_sums(liana__infer *infer)
{
    LIANA_TRY(check_images(infer));
    LIANA_TRY(liana__batch_norm_check_like_images(infer, 1, "dy"));
    LIANA_TRY(liana__batch_norm_check_channels(infer, 2, "statistics", true));
    LIANA_TRY(liana__batch_norm_check_epsilon(infer));
    return give_stacked(infer);
}

static liana_status infer_input_gradient(liana__infer *infer)
{
    LIANA_TRY(check_images(infer));
    LIANA_TRY(liana__batch_norm_check_like_images(infer, 1, "dy"));
    LIANA_TRY(liana__batch_norm_check_channels(infer, 2, "gamma", false));
    LIANA_TRY(liana__batch_norm_check_channels(infer, 3, "statistics", true));
    LIANA_TRY(liana__batch_norm_check_channels(infer, 4, "sums", true));
    LIANA_TRY(liana__batch_norm_check_epsilon(infer));
    return liana__infer_like_input(infer);
}

/* ---- gradients ---- */

/* Row 0 or 1 of a [2, channels] tensor, as [channels]. */
static liana_tensor row_of(liana_tensor stacked, int64_t row)
{
    int64_t channels = liana_tensor_shape(stacked).dims[1];
    int64_t start[] = {row, 0}, limit[] = {row + 1, channels};
    return liana_op_reshape(liana_op_slice(stacked, start, limit, NULL), liana_shape_of(channels));
}

static liana_tensor stack(liana_tensor first, liana_tensor second)
{
    liana_shape row = liana_shape_of(1, liana_tensor_shape(first).dims[0]);
    liana_tensor rows[] = {liana_op_reshape(first, row), liana_op_reshape(second, row)};
    return liana_op_concat(rows, 2, 0);
}

/* [channels] of one value, of the dtype of `like` (also [channels]). */
static liana_tensor filled(liana_tensor like, double value)
{
    return liana__full(LIANA_HERE, like.graph, liana_tensor_dtype(like), liana_tensor_shape(like), value);
}

static liana_tensor scaled(liana_tensor x, double factor)
{
    return liana_op_multiply(x, liana_graph_scalar(x.graph, liana_tensor_dtype(x), factor));
}

static liana_tensor product(liana_tensor a, liana_tensor b, liana_tensor c)
{
    return liana_op_multiply(liana_op_multiply(a, b), c);
}

/* x with each channel multiplied by `factor` [channels]: in one pass, and in f32 for bf16. */
static liana_tensor scale_channels(liana_tensor x, liana_tensor factor)
{
    liana_tensor zero = filled(factor, 0);
    return liana_op_batch_norm_inference(x, factor, zero, zero, filled(factor, 1), 0);
}

/* sum(x y) over each channel. */
static liana_tensor dot_channels(liana_tensor x, liana_tensor y, liana_tensor like)
{
    liana_tensor plain = stack(filled(like, 0), filled(like, 1));
    return row_of(liana__op_batch_norm_gradient_sums_at(LIANA_HERE, x, y, plain, 0), 1);
}

static liana_tensor deviation_inverse(liana_tensor variance, double epsilon)
{
    return liana_op_rsqrt(liana_op_add(variance, filled(variance, epsilon)));
}

/* d mean / dx = 1 / N, d variance / dx = 2 (x - mean) / N. */
static void statistics_gradient(liana__gradient *g)
{
    double rows = (double)liana__batch_norm_sizes_of(g->node).rows;
    liana_tensor of_mean = scaled(row_of(g->output_gradient, 0), 1 / rows);
    liana_tensor of_variance = scaled(row_of(g->output_gradient, 1), 2 / rows);
    g->input_gradients[0] =
        liana_op_batch_norm_inference(g->inputs[0], of_variance, of_mean, row_of(g->output, 0), filled(of_mean, 1), 0);
}

static void training_gradient(liana__gradient *g)
{
    liana_tensor x = g->inputs[0], gamma = g->inputs[1], statistics = g->inputs[3], dy = g->output_gradient;
    double epsilon = liana__batch_norm_epsilon(g->node);
    liana_tensor sums = liana__op_batch_norm_gradient_sums_at(LIANA_HERE, x, dy, statistics, epsilon);
    if (g->wanted[0]) {
        g->input_gradients[0] =
            liana__op_batch_norm_input_gradient_at(LIANA_HERE, x, dy, gamma, statistics, sums, epsilon);
    }
    if (g->wanted[1]) g->input_gradients[1] = row_of(sums, 1);
    if (g->wanted[2]) g->input_gradients[2] = row_of(sums, 0);
}

/* dmean = -gamma r sum(dy), dvariance = -gamma r^2 sum(dy xhat) / 2. */
static void inference_gradient(liana__gradient *g)
{
    liana_tensor gamma = g->inputs[1], mean = g->inputs[3], variance = g->inputs[4], dy = g->output_gradient;
    double epsilon = liana__batch_norm_epsilon(g->node);
    liana_tensor zero = filled(gamma, 0);
    if (g->wanted[0]) g->input_gradients[0] = liana_op_batch_norm_inference(dy, gamma, zero, zero, variance, epsilon);
    if (!g->wanted[1] && !g->wanted[2] && !g->wanted[3] && !g->wanted[4]) return;
    liana_tensor sums =
        liana__op_batch_norm_gradient_sums_at(LIANA_HERE, g->inputs[0], dy, stack(mean, variance), epsilon);
    liana_tensor r = deviation_inverse(variance, epsilon), gamma_r = liana_op_multiply(gamma, r);
    g->input_gradients[1] = row_of(sums, 1);
    g->input_gradients[2] = row_of(sums, 0);
    if (g->wanted[3]) g->input_gradients[3] = liana_op_negate(liana_op_multiply(gamma_r, row_of(sums, 0)));
    if (g->wanted[4]) g->input_gradients[4] = scaled(product(gamma_r, r, row_of(sums, 1)), -0.5);
}

/* With v = [v0, v1] arriving: v0 sum(dy) + v1 sum(dy xhat). */
static void gradient_sums_gradient(liana__gradient *g)
{
    liana_tensor x = g->inputs[0], dy = g->inputs[1], statistics = g->inputs[2];
    double epsilon = liana__batch_norm_epsilon(g->node);
    liana_tensor v0 = row_of(g->output_gradient, 0), v1 = row_of(g->output_gradient, 1);
    liana_tensor mean = row_of(statistics, 0), variance = row_of(statistics, 1);
    liana_tensor r = deviation_inverse(variance, epsilon), v1_r = liana_op_multiply(v1, r);
    if (g->wanted[0]) g->input_gradients[0] = scale_channels(dy, v1_r);
    if (g->wanted[1]) g->input_gradients[1] = liana_op_batch_norm_inference(x, v1, v0, mean, variance, epsilon);
    if (g->wanted[2]) {
        liana_tensor of_mean = liana_op_negate(liana_op_multiply(v1_r, row_of(g->output, 0)));
        liana_tensor of_variance = scaled(product(v1_r, r, row_of(g->output, 1)), -0.5);
        g->input_gradients[2] = stack(of_mean, of_variance);
    }
}

/* v is the gradient that arrives. With V0 = sum(v), V1 = sum(v xhat) and D = sum(v dy), this is the gradient of gamma r
 * (D - sums[0] V0 / N - sums[1] V1 / N). Its five inputs are taken as independent. */
static void input_gradient_gradient(liana__gradient *g)
{
    liana_tensor x = g->inputs[0], dy = g->inputs[1], gamma = g->inputs[2], statistics = g->inputs[3];
    liana_tensor v = g->output_gradient;
    double epsilon = liana__batch_norm_epsilon(g->node), rows = (double)liana__batch_norm_sizes_of(g->node).rows;
    liana_tensor r = deviation_inverse(row_of(statistics, 1), epsilon), gamma_r = liana_op_multiply(gamma, r);
    liana_tensor s0 = scaled(row_of(g->inputs[4], 0), 1 / rows), s1 = scaled(row_of(g->inputs[4], 1), 1 / rows);
    liana_tensor sums = liana__op_batch_norm_gradient_sums_at(LIANA_HERE, x, v, statistics, epsilon);
    liana_tensor v0 = row_of(sums, 0), v1 = row_of(sums, 1), d = dot_channels(v, dy, gamma);
    liana_tensor centred = liana_op_subtract(d, liana_op_multiply(s0, v0)), turned = liana_op_multiply(s1, v1);
    liana_tensor gamma_r2 = liana_op_multiply(gamma_r, r);
    g->input_gradients[0] = scale_channels(v, liana_op_negate(liana_op_multiply(gamma_r2, s1)));
    g->input_gradients[1] = scale_channels(v, gamma_r);
    g->input_gradients[2] = liana_op_multiply(r, liana_op_subtract(centred, turned));
    liana_tensor of_variance = product(gamma_r2, r, liana_op_subtract(turned, scaled(centred, 0.5)));
    g->input_gradients[3] = stack(product(gamma_r2, s1, v0), of_variance);
    g->input_gradients[4] = scaled(stack(liana_op_multiply(gamma_r, v0), liana_op_multiply(gamma_r, v1)), -1 / rows);
}

/* ---- reference loops, with an activation or without. All go channel by channel, and read a channel's parameters
 * before they write its first element: the result may be on an input of the same shape, even on statistics of two
 * rows. ---- */

static liana_status run_statistics(const liana__call *call)
{
    liana__batch_norm_sizes s = liana__batch_norm_sizes_of(call->node);
    for (int64_t c = 0; c < s.channels; c++) {
        double total = 0, squares = 0;
        for (int64_t i = 0; i < s.rows; i++) total += liana__load_image(call, 0, i * s.channels + c);
        double mean = total / (double)s.rows;
        for (int64_t i = 0; i < s.rows; i++) {
            double distance = liana__load_image(call, 0, i * s.channels + c) - mean;
            squares += distance * distance;
        }
        liana__store(call->dst, call->node->dtype, c, mean);
        liana__store(call->dst, call->node->dtype, s.channels + c, squares / (double)s.rows);
    }
    return LIANA_OK;
}

/* dy where the activation lets it pass; for swish times its derivative. */
static double pass_gradient(int activation, double z, double dy)
{
    double s = 1 / (1 + exp(-z));
    switch (activation) {
    case LIANA__FUSED_RELU: return z > 0 ? dy : 0;
    case LIANA__FUSED_RELU6: return z > 0 && z < 6 ? dy : 0;
    case LIANA__FUSED_SWISH: return dy * (s * (1 + z * (1 - s)));
    default: return dy;
    }
}

/* The numbers with which one channel is normalised. */
typedef struct channel {
    double mean, r, gamma, scale, beta;
} channel;

/* From the inputs of those indices; the variance is element `variance_at` of its input. Gradients without an activation
 * have no beta, and sums no gamma; they do not use them. */
static channel load_channel(const liana__call *call, int64_t c, size_t gamma, size_t beta, size_t mean, size_t variance,
                            int64_t variance_at)
{
    const size_t count = call->node->num_inputs;
    channel p = {.mean = liana__load_wide(call, mean, c)};
    double deviation = sqrt(liana__load_wide(call, variance, variance_at) + liana__batch_norm_epsilon(call->node));
    if (gamma < count) p.gamma = liana__load_wide(call, gamma, c);
    if (beta < count) p.beta = liana__load_wide(call, beta, c);
    p.r = 1 / deviation;
    p.scale = p.gamma / deviation;
    return p;
}

static double normalise(const channel *p, double x)
{
    return (x - p->mean) * p->scale + p->beta;
}

/* Input `residual` is added, if the node has one. */
static void run_channel(const liana__call *call, int64_t c, const channel *p, size_t residual)
{
    liana__batch_norm_sizes s = liana__batch_norm_sizes_of(call->node);
    int activation = liana__batch_norm_activation_of(call->node);
    for (int64_t i = c; i < s.rows * s.channels; i += s.channels) {
        double z = normalise(p, liana__load_image(call, 0, i));
        if (call->node->num_inputs > residual) z += liana__load_image(call, residual, i);
        liana__store(call->dst, call->node->dtype, i, liana__fused_activate(activation, z));
    }
}

liana_status liana__batch_norm_run_training(const liana__call *call)
{
    int64_t channels = liana__batch_norm_sizes_of(call->node).channels;
    for (int64_t c = 0; c < channels; c++) {
        const channel p = load_channel(call, c, 1, 2, 3, 3, channels + c);
        run_channel(call, c, &p, 4);
    }
    return LIANA_OK;
}

liana_status liana__batch_norm_run_inference(const liana__call *call)
{
    int64_t channels = liana__batch_norm_sizes_of(call->node).channels;
    for (int64_t c = 0; c < channels; c++) {
        const channel p = load_channel(call, c, 1, 2, 3, 4, c);
        run_channel(call, c, &p, 5);
    }
    return LIANA_OK;
}

liana_status liana__batch_norm_run_gradient_sums(const liana__call *call)
{
    liana__batch_norm_sizes s = liana__batch_norm_sizes_of(call->node);
    int activation = liana__batch_norm_activation_of(call->node);
    for (int64_t c = 0; c < s.channels; c++) {
        const channel p = load_channel(call, c, 3, 4, 2, 2, s.channels + c);
        double sum = 0, product_sum = 0;
        for (int64_t i = c; i < s.rows * s.channels; i += s.channels) {
            double x = liana__load_image(call, 0, i);
            double dy = pass_gradient(activation, normalise(&p, x), liana__load_image(call, 1, i));
            sum += dy;
            product_sum += dy * (x - p.mean);
        }
        liana__store(call->dst, call->node->dtype, c, sum);
        liana__store(call->dst, call->node->dtype, s.channels + c, product_sum * p.r);
    }
    return LIANA_OK;
}

liana_status liana__batch_norm_run_input_gradient(const liana__call *call)
{
    liana__batch_norm_sizes s = liana__batch_norm_sizes_of(call->node);
    int activation = liana__batch_norm_activation_of(call->node);
    double rows = liana__batch_norm_summed_rows(call->node);
    for (int64_t c = 0; c < s.channels; c++) {
        const channel p = load_channel(call, c, 2, 5, 3, 3, s.channels + c);
        double sum = liana__load_wide(call, 4, c) / rows,
               product_sum = liana__load_wide(call, 4, s.channels + c) / rows;
        for (int64_t i = c; i < s.rows * s.channels; i += s.channels) {
            double x = liana__load_image(call, 0, i);
            double dy = pass_gradient(activation, normalise(&p, x), liana__load_image(call, 1, i));
            double dx = p.gamma * p.r * (dy - sum - (x - p.mean) * p.r * product_sum);
            liana__store(call->dst, call->node->dtype, i, dx);
        }
    }
    return LIANA_OK;
}

/* ---- StableHLO: images and numbers for each channel, in the dtype of these ---- */

static liana__hlo multiply(liana__lowering *l, liana__hlo a, liana__hlo b)
{
    return liana__hlo_binary(l, "multiply", a, b);
}

/* The sum over each channel: [channels]. */
static liana__hlo sum_channels(liana__lowering *l, liana__hlo x)
{
    int64_t axes[LIANA_MAX_RANK];
    for (int i = 0; i < x.shape.rank - 1; i++) axes[i] = i;
    return liana__hlo_reduce(l, LIANA__HLO_ADD, x, axes, x.shape.rank - 1);
}

/* Row 0 or 1 of [2, channels], as [channels]. */
static liana__hlo lowered_row(liana__lowering *l, liana__hlo stacked, int64_t row)
{
    static const int64_t ones[] = {1, 1};
    const int64_t start[] = {row, 0}, limit[] = {row + 1, stacked.shape.dims[1]};
    return liana__hlo_reshape(l, liana__hlo_slice(l, stacked, start, limit, ones), liana_shape_of(limit[1]));
}

static liana__hlo lowered_stack(liana__lowering *l, liana__hlo first, liana__hlo second)
{
    liana_shape row = liana_shape_of(1, first.shape.dims[0]);
    liana__hlo rows[] = {liana__hlo_reshape(l, first, row), liana__hlo_reshape(l, second, row)};
    return liana__hlo_concatenate(l, rows, 2, 0);
}

/* 1 / sqrt(variance + epsilon) */
static liana__hlo lowered_inverse(liana__lowering *l, liana__hlo variance, double epsilon)
{
    return liana__hlo_unary(l, "rsqrt", liana__hlo_binary_with(l, "add", variance, epsilon));
}

static liana__hlo centred(liana__lowering *l, liana__hlo x, liana__hlo mean)
{
    return liana__hlo_binary(l, "subtract", x, mean);
}

/* Sums in f32 of numbers far from 0 are poor, so the first mean is only near the true one. The distances from it, small
 * numbers, give the missing digits, and the variance. */
static liana_status lower_statistics(liana__lowering *l, const liana__node *node)
{
    const double rows = (double)liana__batch_norm_sizes_of(node).rows;
    liana__hlo x = liana__hlo_widen(l, liana__hlo_input(l, node, 0));
    liana__hlo near = liana__hlo_coarse(l, liana__hlo_binary_with(l, "divide", sum_channels(l, x), rows));
    liana__hlo distance = centred(l, x, near);
    liana__hlo lacks = liana__hlo_binary_with(l, "divide", sum_channels(l, distance), rows);
    liana__hlo squares = sum_channels(l, multiply(l, distance, distance));
    liana__hlo about_near = liana__hlo_binary_with(l, "divide", squares, rows);
    liana__hlo variance = liana__hlo_binary(l, "subtract", about_near, multiply(l, lacks, lacks));
    return liana__hlo_give(l, node, lowered_stack(l, liana__hlo_binary(l, "add", near, lacks), variance));
}

/* (x - mean) gamma r + beta */
static liana_status lower_normalised(liana__lowering *l, const liana__node *node, liana__hlo mean, liana__hlo variance)
{
    liana__hlo x = liana__hlo_widen(l, liana__hlo_input(l, node, 0)), gamma = liana__hlo_input(l, node, 1);
    liana__hlo scale = multiply(l, gamma, lowered_inverse(l, variance, liana__batch_norm_epsilon(node)));
    liana__hlo scaled_x = multiply(l, centred(l, x, mean), scale);
    liana__hlo y = liana__hlo_binary(l, "add", scaled_x, liana__hlo_input(l, node, 2));
    return liana__hlo_give(l, node, liana__hlo_convert(l, y, node->dtype));
}

static liana_status lower_training(liana__lowering *l, const liana__node *node)
{
    liana__hlo statistics = liana__hlo_input(l, node, 3);
    liana__hlo mean = lowered_row(l, statistics, 0);
    return lower_normalised(l, node, mean, lowered_row(l, statistics, 1));
}

static liana_status lower_inference(liana__lowering *l, const liana__node *node)
{
    return lower_normalised(l, node, liana__hlo_input(l, node, 3), liana__hlo_input(l, node, 4));
}

static liana_status lower_gradient_sums(liana__lowering *l, const liana__node *node)
{
    liana__hlo x = liana__hlo_widen(l, liana__hlo_input(l, node, 0));
    liana__hlo dy = liana__hlo_widen(l, liana__hlo_input(l, node, 1)), statistics = liana__hlo_input(l, node, 2);
    liana__hlo mean = lowered_row(l, statistics, 0);
    liana__hlo r = lowered_inverse(l, lowered_row(l, statistics, 1), liana__batch_norm_epsilon(node));
    liana__hlo sum = sum_channels(l, dy), products = sum_channels(l, multiply(l, dy, centred(l, x, mean)));
    return liana__hlo_give(l, node, lowered_stack(l, sum, multiply(l, products, r)));
}

/* gamma r (dy - sums[0] / N - xhat sums[1] / N) */
static liana_status lower_input_gradient(liana__lowering *l, const liana__node *node)
{
    liana__hlo x = liana__hlo_widen(l, liana__hlo_input(l, node, 0));
    liana__hlo dy = liana__hlo_widen(l, liana__hlo_input(l, node, 1)), statistics = liana__hlo_input(l, node, 3);
    liana__hlo sums =
        liana__hlo_binary_with(l, "divide", liana__hlo_input(l, node, 4), liana__batch_norm_summed_rows(node));
    liana__hlo r = lowered_inverse(l, lowered_row(l, statistics, 1), liana__batch_norm_epsilon(node));
    liana__hlo xhat = multiply(l, centred(l, x, lowered_row(l, statistics, 0)), r);
    liana__hlo rest = liana__hlo_binary(l, "subtract", dy, lowered_row(l, sums, 0));
    rest = liana__hlo_binary(l, "subtract", rest, multiply(l, xhat, lowered_row(l, sums, 1)));
    liana__hlo dx = multiply(l, rest, multiply(l, liana__hlo_input(l, node, 2), r));
    return liana__hlo_give(l, node, liana__hlo_convert(l, dx, node->dtype));
}

/* ---- cost: the work for each element, without the work for each channel ---- */

static void image_cost(const liana__node *node, double flops_per_element, liana__cost *cost)
{
    cost->flops = flops_per_element * (double)liana_shape_size(liana__input_shape(node, 0));
    cost->family = "batch normalisation";
}

/* One multiply-add. */
static void normalise_cost(const liana__node *node, liana__cost *cost)
{
    image_cost(node, 2, cost);
}

/* Statistics: the sum; the difference from the mean, its square, their sum. Sums of gradients: the sum of dy; the
 * difference from the mean, and a multiply-add with dy. Gradients of images: a dy + b x + c. */
static void sums_cost(const liana__node *node, liana__cost *cost)
{
    image_cost(node, 4, cost);
}

/* ---- parts ---- */

static liana__parts normalise_parts(const liana__node *node)
{
    liana__parts parts = liana__parts_first_input(node);
    parts.by_lines = node->shape.rank > 2;
    return parts;
}

liana__parts liana__batch_norm_parts(const liana__node *node, liana__part_kind kind, uint64_t whole)
{
    const int64_t rows = liana__input_shape(node, 0)->dims[0];
    return (liana__parts){.kind = kind, .rows = rows, .whole = whole, .dtype = LIANA_F64};
}

static liana__parts statistics_parts(const liana__node *node)
{
    return liana__batch_norm_parts(node, LIANA__PART_MERGE, 0);
}

liana__parts liana__batch_norm_gradient_sums_parts(const liana__node *node)
{
    enum { STATISTICS = 1 << 2, GAMMA = 1 << 3, BETA = 1 << 4 };
    return liana__batch_norm_parts(node, LIANA__PART_MERGE, STATISTICS | GAMMA | BETA);
}

liana__parts liana__batch_norm_input_gradient_parts(const liana__node *node)
{
    enum { GAMMA = 1 << 2, STATISTICS = 1 << 3, SUMS = 1 << 4, BETA = 1 << 5 };
    return liana__batch_norm_parts(node, LIANA__PART_ROWS, GAMMA | STATISTICS | SUMS | BETA);
}

void liana__batch_norm_note_rows(const liana__node *whole, void *part)
{
    ((liana__batch_norm_attributes *)part)->rows = liana__batch_norm_sizes_of(whole).rows;
}

/* Chan's formula for parts of equal size: the mean of the means, and the mean of the variances plus the variance of the
 * means. */
static void merge_statistics(const liana__node *node, const void *parts, size_t stride, size_t count, void *result)
{
    int64_t channels = node->shape.dims[1];
    for (int64_t c = 0; c < channels; c++) {
        double mean = 0, variance = 0;
        for (size_t i = 0; i < count; i++) {
            const double *means = (const double *)((const char *)parts + i * stride);
            mean += means[c] / (double)count;
        }
        for (size_t i = 0; i < count; i++) {
            const double *means = (const double *)((const char *)parts + i * stride);
            double distance = means[c] - mean;
            variance += (means[channels + c] + distance * distance) / (double)count;
        }
        liana__store(result, node->dtype, c, mean);
        liana__store(result, node->dtype, channels + c, variance);
    }
}

void liana__batch_norm_merge_sums(const liana__node *node, const void *parts, size_t stride, size_t count, void *result)
{
    for (int64_t i = 0; i < liana_shape_size(&node->shape); i++) {
        double total = 0;
        for (size_t k = 0; k < count; k++) total += ((const double *)((const char *)parts + k * stride))[i];
        liana__store(result, node->dtype, i, total);
    }
}

/* ---- the ops ---- */

const liana__op liana__op_batch_norm_statistics = {
    .name = "batch_norm_statistics",
    .doc = "Mean and population variance of each channel.",
    .num_inputs = 1,
    .infer = infer_statistics,
    .gradient = statistics_gradient,
    .precision = LIANA__SUMS,
    .cost = sums_cost,
    .parts = statistics_parts,
    .merge = merge_statistics,
    .lower = lower_statistics,
    .kernels = LIANA__KERNELS(LIANA__BF16_VECTOR_KERNELS(batch_norm_statistics), LIANA__REFERENCE(run_statistics)),
};

const liana__op liana__op_batch_norm_training = {
    .name = "batch_norm_training",
    .doc = "Normalisation by the statistics of the same images, through which the gradient also flows.",
    .attributes = &attributes,
    .num_inputs = 4,
    .infer = infer_training,
    .gradient = training_gradient,
    .with_activation = &liana__op_batch_norm_training_activation,
    .precision = LIANA__FOLLOWS,
    .narrow_inputs = 1 << 0,
    .placement = LIANA__PLACE_IN_PLACE,
    .cost = normalise_cost,
    .parts = normalise_parts,
    .lower = lower_training,
    .kernels = LIANA__KERNELS(LIANA__BF16_VECTOR_KERNELS(batch_norm_training),
                              LIANA__REFERENCE(liana__batch_norm_run_training)),
};

const liana__op liana__op_batch_norm_inference = {
    .name = "batch_norm_inference",
    .doc = "Normalisation by given statistics.",
    .attributes = &attributes,
    .num_inputs = 5,
    .infer = infer_inference,
    .gradient = inference_gradient,
    .with_activation = &liana__op_batch_norm_inference_activation,
    .precision = LIANA__FOLLOWS,
    .narrow_inputs = 1 << 0,
    .placement = LIANA__PLACE_IN_PLACE,
    .cost = normalise_cost,
    .parts = normalise_parts,
    .lower = lower_inference,
    .kernels = LIANA__KERNELS(LIANA__BF16_VECTOR_KERNELS(batch_norm_inference),
                              LIANA__REFERENCE(liana__batch_norm_run_inference)),
};

const liana__op liana__op_batch_norm_gradient_sums = {
    .name = "batch_norm_gradient_sums",
    .doc = "The sums over each channel of dy and of dy times the normalised images.",
    .attributes = &attributes,
    .num_inputs = 3,
    .infer = infer_gradient_sums,
    .gradient = gradient_sums_gradient,
    .precision = LIANA__SUMS,
    .narrow_inputs = 1 << 0 | 1 << 1,
    .cost = sums_cost,
    .parts = liana__batch_norm_gradient_sums_parts,
    .merge = liana__batch_norm_merge_sums,
    .lower = lower_gradient_sums,
    .kernels = LIANA__KERNELS(LIANA__BF16_VECTOR_KERNELS(batch_norm_gradient_sums),
                              LIANA__REFERENCE(liana__batch_norm_run_gradient_sums)),
};

const liana__op liana__op_batch_norm_input_gradient = {
    .name = "batch_norm_input_gradient",
    .doc = "The gradient of batch_norm_training with respect to its images.",
    .attributes = &attributes,
    .num_inputs = 5,
    .infer = infer_input_gradient,
    .gradient = input_gradient_gradient,
    .precision = LIANA__FOLLOWS,
    .narrow_inputs = 1 << 0 | 1 << 1,
    .placement = LIANA__PLACE_IN_PLACE,
    .cost = sums_cost,
    .parts = liana__batch_norm_input_gradient_parts,
    .note_whole = liana__batch_norm_note_rows,
    .lower = lower_input_gradient,
    .kernels = LIANA__KERNELS(LIANA__BF16_VECTOR_KERNELS(batch_norm_input_gradient),
                              LIANA__REFERENCE(liana__batch_norm_run_input_gradient)),
};

liana_tensor liana_op_batch_norm_statistics_at(liana_location here, liana_tensor x)
{
    return liana__build1(here, &liana__op_batch_norm_statistics, x, NULL);
}

/* The gradient assumes that the statistics are those of x. Only the builder of the op can get that wrong: passes
 * replace x only by equal values. */
static bool statistics_fit(liana_location here, liana_tensor x, liana_tensor statistics)
{
    const liana__node *node = liana__tensor_node(statistics);
    if (!node || !liana__tensor_node(x)) return true;
    bool of_statistics = node->op == &liana__op_batch_norm_statistics;
    if (of_statistics && node->inputs[0] == liana__tensor_node(x)) return true;
    liana__graph_fail(x.graph, here, LIANA_INVALID_ARGUMENT,
                      "batch_norm_training: statistics is a result of %s%s, expected liana_op_batch_norm_statistics of "
                      "the same x; for other statistics use liana_op_batch_norm_inference",
                      node->op->name, of_statistics ? " of another tensor" : "");
    return false;
}

liana_tensor liana_op_batch_norm_training_at(liana_location here, liana_tensor x, liana_tensor gamma, liana_tensor beta,
                                             liana_tensor statistics, double epsilon)
{
    const liana_tensor inputs[] = {x, gamma, beta, statistics};
    if (!statistics_fit(here, x, statistics)) return (liana_tensor){x.graph, 0};
    return liana__build(here, x.graph, &liana__op_batch_norm_training, inputs, 4,
                        &(liana__batch_norm_attributes){.epsilon = epsilon});
}

liana_tensor liana_op_batch_norm_inference_at(liana_location here, liana_tensor x, liana_tensor gamma,
                                              liana_tensor beta, liana_tensor mean, liana_tensor variance,
                                              double epsilon)
{
    const liana_tensor inputs[] = {x, gamma, beta, mean, variance};
    return liana__build(here, x.graph, &liana__op_batch_norm_inference, inputs, 5,
                        &(liana__batch_norm_attributes){.epsilon = epsilon});
}

liana_tensor liana__op_batch_norm_gradient_sums_at(liana_location here, liana_tensor x, liana_tensor dy,
                                                   liana_tensor statistics, double epsilon)
{
    return liana__build3(here, &liana__op_batch_norm_gradient_sums, x, dy, statistics,
                         &(liana__batch_norm_attributes){.epsilon = epsilon});
}

liana_tensor liana__op_batch_norm_input_gradient_at(liana_location here, liana_tensor x, liana_tensor dy,
                                                    liana_tensor gamma, liana_tensor statistics, liana_tensor sums,
                                                    double epsilon)
{
    const liana_tensor inputs[] = {x, dy, gamma, statistics, sums};
    return liana__build(here, x.graph, &liana__op_batch_norm_input_gradient, inputs, 5,
                        &(liana__batch_norm_attributes){.epsilon = epsilon});
}
