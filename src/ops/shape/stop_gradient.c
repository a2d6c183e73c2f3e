/* The same tensor, for gradients a constant. */
#include "kernels/copy.h"
#include "ops/ops.h"
#include "stablehlo/lowering.h"

/* StableHLO knows no gradients, so nothing is written. */
static liana_status lower_same(liana__lowering *l, const liana__node *node)
{
    return liana__hlo_give(l, node, liana__hlo_input(l, node, 0));
}

const liana__op liana__op_stop_gradient = {
    .name = "stop_gradient",
    .doc = "The same tensor; gradients take it for a constant.",
    .num_inputs = 1,
    .infer = liana__infer_like_input,
    .gradient = liana__no_gradient,
    .precision = LIANA__MOVES_DATA,
    .placement = LIANA__PLACE_ALIAS,
    .parts = liana__parts_all_inputs,
    .lower = lower_same,
    .kernels = LIANA__KERNELS(&liana__copy_reference, NULL),
};

liana_tensor liana_op_stop_gradient_at(liana_location here, liana_tensor x)
{
    return liana__build1(here, &liana__op_stop_gradient, x, NULL);
}
