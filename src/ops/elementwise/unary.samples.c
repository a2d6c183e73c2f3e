/* Samples of unary for the generated tests of ops. */
#include "ops/samples.h"

/* Away from kinks and poles, where a finite difference means nothing; 7 x 19 does not divide a vector. */
#define UNARY_SAMPLES(op, low, high)                                                                    \
    static liana_tensor build_##op(liana_graph *graph, liana_dtype dtype)                               \
    {                                                                                                   \
        return liana_op_##op(liana__sample_input(graph, "x", dtype, liana_shape_of(7, 19), low, high)); \
    }                                                                                                   \
    static const liana__sample samples_##op[] = {{"odd size", build_##op, 0}};                          \
    LIANA__SAMPLES(op, samples_##op);

UNARY_SAMPLES(abs, -3, 3)
UNARY_SAMPLES(ceil, -3, 3)
UNARY_SAMPLES(cos, -7, 7)
UNARY_SAMPLES(exp, -9, 9)
UNARY_SAMPLES(floor, -3, 3)
UNARY_SAMPLES(is_finite, -3, 3)
UNARY_SAMPLES(log, 0.01, 50)
UNARY_SAMPLES(log1p, -0.9, 5)
UNARY_SAMPLES(logistic, -20, 20)
UNARY_SAMPLES(negate, -3, 3)
UNARY_SAMPLES(relu, -3, 3)
UNARY_SAMPLES(relu6, -3, 9)
UNARY_SAMPLES(round, -3, 3)
UNARY_SAMPLES(rsqrt, 0.05, 9)
UNARY_SAMPLES(sign, -3, 3)
UNARY_SAMPLES(sin, -7, 7)
UNARY_SAMPLES(sqrt, 0.05, 9)
UNARY_SAMPLES(square, -3, 3)
UNARY_SAMPLES(swish, -20, 20)
UNARY_SAMPLES(tanh, -5, 5)

static liana_tensor build_logical_not(liana_graph *graph, liana_dtype dtype)
{
    (void)dtype;
    return liana_op_logical_not(liana__sample_input(graph, "x", LIANA_BOOL, liana_shape_of(7, 19), 0, 1));
}
static const liana__sample samples_logical_not[] = {{"odd size", build_logical_not, 0}};
LIANA__SAMPLES(logical_not, samples_logical_not);
