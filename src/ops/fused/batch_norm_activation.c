/* Batch normalisation fused with an added residual and an activation; and the ops of its gradient, which compute the
 * activation's input again from x instead of reading it. The pass fuse_batch_norm makes them after differentiation, so
 * they have no gradients of their own. */
#include "ops/norm/batch_norm.h"
#include "stablehlo/lowering.h"

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
    return liana__infer_activation(infer, ((const liana__batch_norm_attributes *)infer->attributes)->activation);
}

/* The rules of the op without an activation, which reads the same first inputs; then a residual, if there is one. */
static liana_status infer_forward(liana__infer *infer)
{
    const liana__op *plain = infer->op->details;
    LIANA_TRY(plain->infer(infer));
    if (infer->num_inputs > plain->num_inputs) {
        LIANA_TRY(liana__batch_norm_check_like_images(infer, plain->num_inputs, "the residual"));
    }
    return check_activation(infer);
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

/* ---- the ops; the kernels are batch_norm's ---- */

const liana__op liana__op_batch_norm_training_activation = {
    .name = "batch_norm_training_activation",
    .doc = "batch_norm_training, an optional residual that is added, and an activation.",
    .attributes = &attributes,
    .num_inputs = 4,
    .more_inputs = 1,
    .infer = infer_forward,
    .placement = LIANA__PLACE_IN_PLACE,
    .cost = cost_of,
    .parts = training_parts,
    .lower = liana__lower_cpu_only,
    .kernels = LIANA__KERNELS(LIANA__BF16_VECTOR_KERNELS(batch_norm_training),
                              LIANA__REFERENCE(liana__batch_norm_run_training)),
    .details = &liana__op_batch_norm_training,
};

const liana__op liana__op_batch_norm_inference_activation = {
    .name = "batch_norm_inference_activation",
    .doc = "batch_norm_inference, an optional residual that is added, and an activation.",
    .attributes = &attributes,
    .num_inputs = 5,
    .more_inputs = 1,
    .infer = infer_forward,
    .placement = LIANA__PLACE_IN_PLACE,
    .cost = cost_of,
    .parts = inference_parts,
    .lower = liana__lower_cpu_only,
    .kernels = LIANA__KERNELS(LIANA__BF16_VECTOR_KERNELS(batch_norm_inference),
                              LIANA__REFERENCE(liana__batch_norm_run_inference)),
    .details = &liana__op_batch_norm_inference,
};

const liana__op liana__op_batch_norm_activation_gradient_sums = {
    .name = "batch_norm_activation_gradient_sums",
    .doc = "batch_norm_gradient_sums of what the activation lets pass of dy.",
    .attributes = &attributes,
    .num_inputs = 5,
    .infer = infer_gradient_sums,
    .cost = cost_of,
    .parts = liana__batch_norm_gradient_sums_parts,
    .merge = liana__batch_norm_merge_sums,
    .lower = liana__lower_cpu_only,
    .kernels = LIANA__KERNELS(LIANA__BF16_VECTOR_KERNELS(batch_norm_gradient_sums),
                              LIANA__REFERENCE(liana__batch_norm_run_gradient_sums)),
};

const liana__op liana__op_batch_norm_activation_input_gradient = {
    .name = "batch_norm_activation_input_gradient",
    .doc = "batch_norm_input_gradient of what the activation lets pass of dy.",
    .attributes = &attributes,
    .num_inputs = 6,
    .infer = infer_input_gradient,
    .placement = LIANA__PLACE_IN_PLACE,
    .cost = cost_of,
    .parts = liana__batch_norm_input_gradient_parts,
    .note_whole = liana__batch_norm_note_rows,
    .lower = liana__lower_cpu_only,
    .kernels = LIANA__KERNELS(LIANA__BF16_VECTOR_KERNELS(batch_norm_input_gradient),
                              LIANA__REFERENCE(liana__batch_norm_run_input_gradient)),
};
