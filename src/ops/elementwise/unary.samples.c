/* Samples of unary for the generated tests of ops. */
#include "ops/samples.h"

/* Away from kinks and poles, where a finite difference means nothing; 7 x 19 does not divide a vector. */
#define UNARY_SAMPLES_OF(op, low, high, dtype)                                                        \
    static const liana__plain_row op##_rows[] = {                                                     \
        {"odd size", {{"x", LIANA__DIMS(7, 19), low, high, dtype}}},                                  \
        {"halves", {{"x", LIANA__DIMS(29), low, high, (dtype) == LIANA_F32 ? LIANA_F16 : (dtype)}}}}; \
    LIANA__SAMPLE_ROWS(op, op##_rows, liana__sample_plain);
#define UNARY_SAMPLES(op, low, high) UNARY_SAMPLES_OF(op, low, high, LIANA_F32)

UNARY_SAMPLES(abs, -3, 3)
UNARY_SAMPLES(ceil, -3, 3)
UNARY_SAMPLES(cos, -7, 7)
UNARY_SAMPLES(erf, -4, 4)
UNARY_SAMPLES(exp, -9, 9)
UNARY_SAMPLES(expm1, -5, 5)
UNARY_SAMPLES(floor, -3, 3)
UNARY_SAMPLES(gelu, -6, 6)
UNARY_SAMPLES(gelu_tanh, -6, 6)
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
UNARY_SAMPLES_OF(logical_not, 0, 1, LIANA_BOOL)
