/* Optimizers that read more than elements, for tests; none has options of its own. */
#include "harness/sum_optimizers.h"

static const liana_option common_fields[] = {LIANA_OPTIMIZER_ROWS("null")};

static liana_tensor constant(liana_tensor like, double value)
{
    return liana_graph_scalar(like.graph, LIANA_F32, value);
}

static void descend(liana_optimizer_step *step, liana_tensor gradient)
{
    step->new_variable = liana_op_subtract(step->variable, liana_op_multiply(step->learning_rate, gradient));
}

/* Gradient descent, clipped by the norm of all gradients. */
static void square_terms(const liana_optimizer_step *step, liana_tensor *terms)
{
    terms[0] = liana_op_square(step->gradient);
}

static liana_tensor clipped(const liana_optimizer_step *step, liana_tensor gradient)
{
    liana_tensor norm = liana_op_sqrt(step->sums[0][0]), limit = constant(norm, LIANA__TEST_CLIP);
    return liana_op_multiply(gradient, liana_op_divide(limit, liana_op_maximum(norm, limit)));
}

static void clip_update(liana_optimizer_step *step)
{
    descend(step, clipped(step, step->gradient));
}

static liana_update_reads clip_reads(const void *options)
{
    (void)options;
    return (liana_update_reads){.num_rounds = 1, .rounds = {{LIANA_SUM_OF_ALL, 1, square_terms}}};
}

const liana_optimizer_type liana__test_clip = {
    LIANA_PART(OPTIMIZER, liana_optimizer_type, "Clip", NULL,
               LIANA_PART_OPTIONS(liana_optimizer_common, common_fields)),
    .reads = clip_reads,
    .update = clip_update,
};

/* A step of the size of the variable: You et al., "Large batch optimization for deep learning" (2019), with momentum in
 * place of Adam. */
static liana_tensor velocity(const liana_optimizer_step *step, liana_tensor gradient)
{
    return liana_op_add(liana_op_multiply(constant(gradient, LIANA__TEST_BETA), step->slots[0]), gradient);
}

static liana_tensor decayed(const liana_optimizer_step *step, liana_tensor change)
{
    return liana_op_add(change, liana_op_multiply(constant(change, LIANA__TEST_DECAY), step->variable));
}

static void norm_terms(const liana_optimizer_step *step, liana_tensor gradient, liana_tensor *terms)
{
    terms[0] = liana_op_square(step->variable);
    terms[1] = liana_op_square(decayed(step, velocity(step, gradient)));
}

static void trust_terms(const liana_optimizer_step *step, liana_tensor *terms)
{
    norm_terms(step, step->gradient, terms);
}

static void trust(liana_optimizer_step *step, liana_tensor gradient, const liana_tensor *sums)
{
    step->new_slots[0] = velocity(step, gradient);
    liana_tensor small = constant(gradient, 1e-6);
    liana_tensor ratio = liana_op_divide(liana_op_sqrt(sums[0]), liana_op_add(liana_op_sqrt(sums[1]), small));
    descend(step, liana_op_multiply(ratio, decayed(step, step->new_slots[0])));
}

static void trust_update(liana_optimizer_step *step)
{
    trust(step, step->gradient, step->sums[0]);
}

static liana_update_reads trust_reads(const void *options)
{
    (void)options;
    return (liana_update_reads){.num_rounds = 1, .rounds = {{LIANA_SUM_OF_VARIABLE, 2, trust_terms}}};
}

const liana_optimizer_type liana__test_trust = {
    LIANA_PART(OPTIMIZER, liana_optimizer_type, "Trust", NULL,
               LIANA_PART_OPTIONS(liana_optimizer_common, common_fields)),
    .slots = {"velocity"},
    .reads = trust_reads,
    .update = trust_update,
};

/* Both: norms of the variables, of gradients that are clipped by the norm of all. */
static void both_terms(const liana_optimizer_step *step, liana_tensor *terms)
{
    norm_terms(step, clipped(step, step->gradient), terms);
}

static void both_update(liana_optimizer_step *step)
{
    trust(step, clipped(step, step->gradient), step->sums[1]);
}

static liana_update_reads both_reads(const void *options)
{
    (void)options;
    return (
        liana_update_reads){.num_rounds = 2,
                            .rounds = {{LIANA_SUM_OF_ALL, 1, square_terms}, {LIANA_SUM_OF_VARIABLE, 2, both_terms}}};
}

const liana_optimizer_type liana__test_clip_and_trust = {
    LIANA_PART(OPTIMIZER, liana_optimizer_type, "Both", NULL,
               LIANA_PART_OPTIONS(liana_optimizer_common, common_fields)),
    .slots = {"velocity"},
    .reads = both_reads,
    .update = both_update,
};

/* Gradients without their mean over axis 0 (Yong et al., "Gradient centralization", 2020), clipped. */
static liana_tensor centred(const liana_optimizer_step *step)
{
    if (liana_tensor_shape(step->gradient).rank < 2) return step->gradient;
    return liana_op_subtract(step->gradient, liana_op_reduce_mean(step->gradient, LIANA_AXES(0), true));
}

static void centre_terms(const liana_optimizer_step *step, liana_tensor *terms)
{
    terms[0] = liana_op_square(centred(step));
}

static void centre_update(liana_optimizer_step *step)
{
    descend(step, clipped(step, centred(step)));
}

static liana_update_reads centre_reads(const void *options)
{
    (void)options;
    return (liana_update_reads){.whole = true, .num_rounds = 1, .rounds = {{LIANA_SUM_OF_ALL, 1, centre_terms}}};
}

const liana_optimizer_type liana__test_centre = {
    LIANA_PART(OPTIMIZER, liana_optimizer_type, "Centre", NULL,
               LIANA_PART_OPTIONS(liana_optimizer_common, common_fields)),
    .reads = centre_reads,
    .update = centre_update,
};
