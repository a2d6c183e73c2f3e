/* Ops that give the same tensor, with another gradient. stop_gradient: for gradients it is a constant.
 * straight_through: the first of two tensors, whose gradient goes to both. */
#include "kernels/copy.h"
#include "ops/ops.h"
#include "stablehlo/lowering.h"

/* StableHLO knows no gradients, so nothing is written, and the second tensor is not computed unless something else
 * needs it. */
static liana_status lower_first(liana__lowering *l, const liana__node *node)
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
    .lower = lower_first,
    .kernels = LIANA__KERNELS(&liana__copy_reference, NULL),
};

liana_tensor liana_op_stop_gradient_at(liana_location here, liana_tensor x)
{
    return liana__build1(here, &liana__op_stop_gradient, x, NULL);
}

/* ---- straight_through ---- */

static liana_status infer_pair(liana__infer *infer)
{
    const liana_shape *value = &infer->inputs[0]->shape, *path = &infer->inputs[1]->shape;
    LIANA_TRY(liana__infer_same_dtype(infer, 0, 1));
    if (!liana_shape_equal(value, path)) {
        return liana__infer_fail(infer, "the value has the shape %s and the path of its gradient %s, expected the same",
                                 liana__shape_print(value).text, liana__shape_print(path).text);
    }
    return liana__infer_like_input(infer);
}

static void gradient_to_both(liana__gradient *gradient)
{
    gradient->input_gradients[0] = gradient->input_gradients[1] = gradient->output_gradient;
}

const liana__op liana__op_straight_through = {
    .name = "straight_through",
    .doc = "The first tensor; its gradient also goes to the second one, as if their sum were given.",
    .num_inputs = 2,
    .infer = infer_pair,
    .gradient = gradient_to_both,
    .precision = LIANA__MOVES_DATA,
    .placement = LIANA__PLACE_ALIAS,
    .parts = liana__parts_all_inputs,
    .lower = lower_first,
    .kernels = LIANA__KERNELS(&liana__copy_reference, NULL),
};

liana_tensor liana_op_straight_through_at(liana_location here, liana_tensor value, liana_tensor path)
{
    return liana__build2(here, &liana__op_straight_through, value, path, NULL);
}
