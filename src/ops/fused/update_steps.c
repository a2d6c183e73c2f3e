/* moving_average and root_descent: what Adam computes for each weight, in two passes over memory for the averages and
 * one for the weight. Only passes make them (src/passes/fuse_update.c). Bits are those of the single ops. */
#include "ops/fused/update_steps.h"

#include "stablehlo/lowering.h"

#include <math.h>

static const liana__field average_fields[] = {
    LIANA__FIELD_ROW(liana__moving_average_attributes, share, FLOAT, .doc = "The share of the new value."),
    LIANA__FIELD_ROW(liana__moving_average_attributes, squares, BOOL, .doc = "Whether the value is squared first."),
};
static const liana__fields average_attributes = {"moving_average", sizeof(liana__moving_average_attributes), 2,
                                                 average_fields};

static const liana__field descent_fields[] = {
    LIANA__FIELD_ROW(liana__root_descent_attributes, epsilon, FLOAT, .doc = "Added to the root."),
};
static const liana__fields descent_attributes = {"root_descent", sizeof(liana__root_descent_attributes), 1,
                                                 descent_fields};

/* The first `count` inputs have the result's shape. */
static liana_status infer_alike(liana__infer *infer, size_t count)
{
    LIANA_TRY(liana__infer_float(infer, 0));
    for (size_t i = 1; i < infer->num_inputs; i++) LIANA_TRY(liana__infer_same_dtype(infer, 0, i));
    for (size_t i = 1; i < count; i++) {
        LIANA_TRY(liana__infer_shape(infer, "the shape", &infer->inputs[i]->shape, "the first input",
                                     &infer->inputs[0]->shape));
    }
    return liana__infer_like_input(infer);
}

static liana_status infer_average(liana__infer *infer)
{
    LIANA_TRY(infer_alike(infer, 2));
    return infer->num_inputs > 2 ? liana__infer_rank(infer, 2, 0, "the count") : LIANA_OK;
}

static liana_status infer_descent(liana__infer *infer)
{
    LIANA_TRY(infer_alike(infer, 3));
    return liana__infer_rank(infer, 3, 0, "the rate");
}

static void cost_of_average(const liana__node *node, liana__cost *cost)
{
    liana__cost_element_wise(node, cost);
    cost->flops *= 3;
}

static void cost_of_descent(const liana__node *node, liana__cost *cost)
{
    liana__cost_element_wise(node, cost);
    cost->flops *= 5;
}

static liana_status run_average(const liana__call *call)
{
    const liana__node *node = call->node;
    const liana__moving_average_attributes *own = node->attributes;
    const double count = node->num_inputs > 2 ? liana__load(call->src[2], node->dtype, 0) : 1;
    for (int64_t i = 0; i < liana_shape_size(&node->shape); i++) {
        const double old = liana__load(call->src[0], node->dtype, i);
        const double x = liana__load(call->src[1], node->dtype, i) / count;
        liana__store(call->dst, node->dtype, i, old + own->share * ((own->squares ? x * x : x) - old));
    }
    return LIANA_OK;
}

static liana_status run_descent(const liana__call *call)
{
    const liana__node *node = call->node;
    const liana__root_descent_attributes *own = node->attributes;
    const double rate = liana__load(call->src[3], node->dtype, 0);
    for (int64_t i = 0; i < liana_shape_size(&node->shape); i++) {
        const double x = liana__load(call->src[0], node->dtype, i), m = liana__load(call->src[1], node->dtype, i);
        const double root = sqrt(liana__load(call->src[2], node->dtype, i));
        liana__store(call->dst, node->dtype, i, x - rate * m / (root + own->epsilon));
    }
    return LIANA_OK;
}

const liana__op liana__op_moving_average = {
    .name = "moving_average",
    .doc = "old + share * (value - old), or of the value's square; a third input divides the value first.",
    .attributes = &average_attributes,
    .num_inputs = 2,
    .more_inputs = 1,
    .infer = infer_average,
    .placement = LIANA__PLACE_IN_PLACE,
    .cost = cost_of_average,
    .parts = liana__parts_element_wise,
    .lower = liana__lower_cpu_only,
    .kernels = LIANA__KERNELS(LIANA__VECTOR_KERNELS(moving_average), LIANA__REFERENCE(run_average)),
};

const liana__op liana__op_root_descent = {
    .name = "root_descent",
    .doc = "x - rate * mean / (sqrt(square) + epsilon).",
    .attributes = &descent_attributes,
    .num_inputs = 4,
    .infer = infer_descent,
    .placement = LIANA__PLACE_IN_PLACE,
    .cost = cost_of_descent,
    .parts = liana__parts_element_wise,
    .lower = liana__lower_cpu_only,
    .kernels = LIANA__KERNELS(LIANA__VECTOR_KERNELS(root_descent), LIANA__REFERENCE(run_descent)),
};
