/* The same tensor, for gradients a constant. */
#include "ops/ops.h"
#include "stablehlo/lowering.h"

static liana_status run_copy(const liana__call *call)
{
    memmove(call->dst, call->src[0], liana__byte_size(call->node->dtype, &call->node->shape));
    return LIANA_OK;
}

/* StableHLO knows no gradients, so nothing is written. */
static liana_status lower_same(liana__lowering *l, const liana__node *node)
{
    return liana__hlo_give(l, node, liana__hlo_input(l, node, 0));
}

static const liana__kernel reference = {.name = "reference", .run = run_copy};

const liana__op liana__op_stop_gradient = {
    .name = "stop_gradient",
    .doc = "The same tensor; gradients take it for a constant.",
    .min_inputs = 1,
    .max_inputs = 1,
    .infer = liana__infer_like_input,
    .gradient = liana__no_gradient,
    .precision = LIANA__MOVES_DATA,
    .placement = LIANA__PLACE_ALIAS,
    .parts = liana__parts_all_inputs,
    .lower = lower_same,
    .kernels = (const liana__kernel *const[]){&reference, NULL},
};

liana_tensor liana_op_stop_gradient_at(liana_location here, liana_tensor x)
{
    return liana__build1(here, &liana__op_stop_gradient, x, NULL);
}
