/* The first of two tensors; its gradient goes to both. */
#include "kernels/copy.h"
#include "ops/ops.h"
#include "stablehlo/lowering.h"

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

/* The path is not computed unless something else needs it. */
static liana_status lower_value(liana__lowering *l, const liana__node *node)
{
    return liana__hlo_give(l, node, liana__hlo_input(l, node, 0));
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
    .lower = lower_value,
    .kernels = LIANA__KERNELS(&liana__copy_reference, NULL),
};

liana_tensor liana_op_straight_through_at(liana_location here, liana_tensor value, liana_tensor path)
{
    return liana__build2(here, &liana__op_straight_through, value, path, NULL);
}
