/* Batch normalisation fused with an added residual and an activation; and the ops of its gradient, which compute the
 * activation's input again from x instead of reading it. The pass fuse_batch_norm makes them after differentiation, so
 * they have no gradients of their own. */
#include "ops/norm/batch_norm.h"
#include "stablehlo/lowering.h"

#include <math.h>

static const liana__field fields[] = {
    LIANA__FIELD_ROW(liana__batch_norm_attributes, epsilon, FLOAT,
                     .doc = "Added to the variance, so that a constant channel does not divide by zero."),
    LIANA__FIELD_ROW(liana__batch_norm_attributes, activation, ENUM, .names = liana__fused_activation_names,
                     .doc = "The activation of the normalised images."),
};
static const liana__fields attributes = {"batch_norm_activation", sizeof(liana__batch_norm_attributes), 2, fields};

/* ---- shapes ---- */

static liana_status check_activation(liana__infer *infer)
{
    int activation = ((const liana__batch_norm_attributes *)infer->attributes)->activation;
    if (activation >= 0 && activation < LIANA__NUM_FUSED_ACTIVATIONS) return LIANA_OK;
    return liana__infer_fail(infer, "%d is not an activation", activation);
}

/* The rules of the ops without activations, which read the same first inputs; then a residual, if there is one. */
static liana_status infer_forward(liana__infer *infer, const liana__op *plain)
{
    LIANA_TRY(plain->infer(infer));
    if (infer->num_inputs > plain->num_inputs) {
        LIANA_TRY(liana__batch_norm_check_like_images(infer, plain->num_inputs, "the residual"));
    }
    return check_activation(infer);
}

static liana_status infer_training(liana__infer *infer)
{
    return infer_forward(infer, &liana__op_batch_norm_training);
}

static liana_status infer_inference(liana__infer *infer)
{
    return infer_forward(infer, &liana__op_batch_norm_inference);
}

static liana_status infer_gradient_sums(liana__infer *infer)
{
    LIANA_TRY(liana__op_batch_norm_gradient_sums.infer(infer));
    LIANA_TRY(liana__batch_norm_check_channels(infer, 3, "gamma", false));
    LIANA_TRY(liana__batch_norm_check_channels(infer, 4, "beta", false));
    return check_activation(infer);
}

static liana_status infer_input_gradient(liana__infer *infer)
{
    LIANA_TRY(liana__op_batch_norm_input_gradient.infer(infer));
    LIANA_TRY(liana__batch_norm_check_channels(infer, 5, "beta", false));
    return check_activation(infer);
}

/* ---- reference loops. As in batch_norm.c they go by channel and read a channel's parameters first. ---- */

static double activate(int activation, double z)
{
    if (z != z) return z;
    switch (activation) {
    case LIANA__FUSED_RELU: return z > 0 ? z : 0;
    case LIANA__FUSED_RELU6: return z > 6 ? 6 : z > 0 ? z : 0;
    case LIANA__FUSED_SWISH: return z / (1 + exp(-z));
    default: return z;
    }
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

/* The factors and terms of one channel's normalisation. */
typedef struct channel {
    double mean, r, scale, beta;
} channel;

/* From the inputs of those indices; the variance is element `variance_at` of its input. */
static channel load_channel(const liana__call *call, int64_t c, size_t gamma, size_t beta, size_t mean, size_t variance,
                            int64_t variance_at)
{
    double r = 1 / sqrt(liana__load_wide(call, variance, variance_at) + liana__batch_norm_epsilon(call->node));
    return (channel){liana__load_wide(call, mean, c), r, liana__load_wide(call, gamma, c) * r,
                     liana__load_wide(call, beta, c)};
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
        liana__store(call->dst, call->node->dtype, i, activate(activation, z));
    }
}

static liana_status run_training(const liana__call *call)
{
    int64_t channels = liana__batch_norm_sizes_of(call->node).channels;
    for (int64_t c = 0; c < channels; c++) {
        const channel p = load_channel(call, c, 1, 2, 3, 3, channels + c);
        run_channel(call, c, &p, 4);
    }
    return LIANA_OK;
}

static liana_status run_inference(const liana__call *call)
{
    int64_t channels = liana__batch_norm_sizes_of(call->node).channels;
    for (int64_t c = 0; c < channels; c++) {
        const channel p = load_channel(call, c, 1, 2, 3, 4, c);
        run_channel(call, c, &p, 5);
    }
    return LIANA_OK;
}

static liana_status run_gradient_sums(const liana__call *call)
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

static liana_status run_input_gradient(const liana__call *call)
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
            liana__store(call->dst, call->node->dtype, i, p.scale * (dy - sum - (x - p.mean) * p.r * product_sum));
        }
    }
    return LIANA_OK;
}

/* ---- cost: as without the activation, and an operation for that ---- */

static void cost_of(const liana__node *node, liana__cost *cost)
{
    bool forward =
        node->op == &liana__op_batch_norm_training_activation || node->op == &liana__op_batch_norm_inference_activation;
    bool adds = forward && liana_shape_equal(liana__input_shape(node, node->num_inputs - 1), &node->shape);
    double per_element = forward ? 3 + adds : 7; /* backward, x is normalised a second time */
    cost->flops = per_element * (double)liana_shape_size(liana__input_shape(node, 0));
    cost->family = "batch normalisation";
}

/* ---- parts: of all inputs but parameters, statistics and sums ---- */

static liana__parts training_parts(const liana__node *node)
{
    return liana__batch_norm_parts(node, LIANA__PART_ROWS, 1 << 1 | 1 << 2 | 1 << 3);
}

static liana__parts inference_parts(const liana__node *node)
{
    liana__parts parts = liana__batch_norm_parts(node, LIANA__PART_ROWS, 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4);
    parts.by_lines = node->shape.rank > 2;
    return parts;
}

static liana__parts gradient_sums_parts(const liana__node *node)
{
    return liana__batch_norm_parts(node, LIANA__PART_MERGE, 1 << 2 | 1 << 3 | 1 << 4);
}

static liana__parts input_gradient_parts(const liana__node *node)
{
    return liana__batch_norm_parts(node, LIANA__PART_ROWS, 1 << 2 | 1 << 3 | 1 << 4 | 1 << 5);
}

/* ---- the ops; the kernels are batch_norm's ---- */

const liana__op liana__op_batch_norm_training_activation = {
    .name = "batch_norm_training_activation",
    .doc = "batch_norm_training, an optional residual that is added, and an activation.",
    .attributes = &attributes,
    .num_inputs = 4,
    .more_inputs = 1,
    .infer = infer_training,
    .placement = LIANA__PLACE_IN_PLACE,
    .cost = cost_of,
    .parts = training_parts,
    .lower = liana__lower_cpu_only,
    .kernels = LIANA__KERNELS(LIANA__BF16_VECTOR_KERNELS(batch_norm_training), LIANA__REFERENCE(run_training)),
};

const liana__op liana__op_batch_norm_inference_activation = {
    .name = "batch_norm_inference_activation",
    .doc = "batch_norm_inference, an optional residual that is added, and an activation.",
    .attributes = &attributes,
    .num_inputs = 5,
    .more_inputs = 1,
    .infer = infer_inference,
    .placement = LIANA__PLACE_IN_PLACE,
    .cost = cost_of,
    .parts = inference_parts,
    .lower = liana__lower_cpu_only,
    .kernels = LIANA__KERNELS(LIANA__BF16_VECTOR_KERNELS(batch_norm_inference), LIANA__REFERENCE(run_inference)),
};

const liana__op liana__op_batch_norm_activation_gradient_sums = {
    .name = "batch_norm_activation_gradient_sums",
    .doc = "batch_norm_gradient_sums of what the activation lets pass of dy.",
    .attributes = &attributes,
    .num_inputs = 5,
    .infer = infer_gradient_sums,
    .cost = cost_of,
    .parts = gradient_sums_parts,
    .merge = liana__batch_norm_merge_sums,
    .lower = liana__lower_cpu_only,
    .kernels =
        LIANA__KERNELS(LIANA__BF16_VECTOR_KERNELS(batch_norm_gradient_sums), LIANA__REFERENCE(run_gradient_sums)),
};

const liana__op liana__op_batch_norm_activation_input_gradient = {
    .name = "batch_norm_activation_input_gradient",
    .doc = "batch_norm_input_gradient of what the activation lets pass of dy.",
    .attributes = &attributes,
    .num_inputs = 6,
    .infer = infer_input_gradient,
    .placement = LIANA__PLACE_IN_PLACE,
    .cost = cost_of,
    .parts = input_gradient_parts,
    .note_whole = liana__batch_norm_note_rows,
    .lower = liana__lower_cpu_only,
    .kernels =
        LIANA__KERNELS(LIANA__BF16_VECTOR_KERNELS(batch_norm_input_gradient), LIANA__REFERENCE(run_input_gradient)),
};
