/* Samples of stop_gradient and straight_through for the generated tests of ops. The path of straight_through is a
 * constant here: the gradient that goes there is not the derivative of the value. tests/ops/test_masked_normalization.c
 * tests that one, and that stop_gradient stops gradients. */
#include "ops/samples.h"

static const liana__plain_row stopped[] = {
    {"rank 3", {{"x", LIANA__DIMS(3, 4, 5), -2, 2, LIANA_F32}}},
    {"a scalar", {{"x", LIANA__NO_DIMS, -2, 2, LIANA_F32}}},
};
LIANA__SAMPLE_ROWS(stop_gradient, stopped, liana__sample_plain);

typedef struct problem {
    const char *name;
    liana_shape shape;
} problem;

static const problem problems[] = {{"rank 3", LIANA__DIMS(3, 4, 5)}, {"a scalar", LIANA__NO_DIMS}};

static liana_tensor build(liana_graph *graph, liana_dtype dtype, const liana__op *op, const void *row)
{
    (void)op;
    const liana_shape shape = ((const problem *)row)->shape;
    liana_tensor value = liana__sample_input(graph, "value", dtype, shape, -2, 2);
    return liana_op_straight_through(value, liana_op_broadcast_to(liana_graph_scalar(graph, dtype, 2), shape));
}
LIANA__SAMPLE_ROWS(straight_through, problems, build);
