/* Element-wise ops with one input: a family whose members differ by one row. */
#include "ops/elementwise/unary.h"

#include "ops/elementwise/gelu.h"
#include "ops/gradients.h"
#include "stablehlo/lowering.h"

#include <math.h>

/* ---- values that no function of the C library gives ---- */

#define UNARY_VALUES(X)                 \
    X(relu, x > 0 ? x : x != x ? x : 0) \
    X(relu6, x > 6 ? 6 : relu_value(x)) \
    X(sign, x > 0 ? 1 : x < 0 ? -1 : x) \
    X(logistic, 1 / (1 + exp(-x)))      \
    X(rsqrt, 1 / sqrt(x))               \
    X(square, (x * x))                  \
    X(swish, (x * logistic_value(x)))   \
    X(negate, -x)                       \
    X(logical_not, x == 0)              \
    X(is_finite, isfinite(x) != 0)
#define UNARY_VALUE(op, value)         \
    static double op##_value(double x) \
    {                                  \
        return value;                  \
    }
UNARY_VALUES(UNARY_VALUE)

/* ---- gradients: given x, y = f(x) and dy, build f'(x) dy ---- */

static liana_tensor constant_like(liana_tensor x, double value)
{
    return liana_graph_scalar(x.graph, liana_tensor_dtype(x), value);
}

static liana_tensor of_gate(const liana__op *gate, liana_tensor at, liana_tensor dy)
{
    return liana__build2(LIANA_HERE, gate, at, dy, NULL);
}

#define UNARY_GRADIENTS(X)                                                                                        \
    X(abs, liana_op_multiply(dy, liana_op_sign(x)))                                                               \
    X(cos, liana_op_negate(liana_op_multiply(dy, liana_op_sin(x))))                                               \
    X(erf, liana__erf_gradient(x, dy))                                                                            \
    X(exp, liana_op_multiply(dy, y))                                                                              \
    X(expm1, liana_op_multiply(dy, liana_op_add(y, constant_like(y, 1))))                                         \
    X(gelu, of_gate(&liana__op_gelu_gradient, x, dy))                                                             \
    X(gelu_tanh, of_gate(&liana__op_gelu_tanh_gradient, x, dy))                                                   \
    X(log, liana_op_divide(dy, x))                                                                                \
    X(log1p, liana_op_divide(dy, liana_op_add(x, constant_like(x, 1))))                                           \
    X(logistic, liana_op_multiply(dy, liana_op_multiply(y, liana_op_subtract(constant_like(x, 1), y))))           \
    X(negate, liana_op_negate(dy))                                                                                \
    X(relu, of_gate(&liana__op_relu_gradient, y, dy))                                                             \
    X(relu6, of_gate(&liana__op_relu6_gradient, y, dy))                                                           \
    X(rsqrt,                                                                                                      \
      liana_op_multiply(liana_op_multiply(dy, constant_like(y, -0.5)), liana_op_multiply(y, liana_op_square(y)))) \
    X(sin, liana_op_multiply(dy, liana_op_cos(x)))                                                                \
    X(sqrt, liana_op_divide(liana_op_multiply(dy, constant_like(x, 0.5)), y))                                     \
    X(square, liana_op_multiply(dy, liana_op_multiply(constant_like(x, 2), x)))                                   \
    X(swish, of_gate(&liana__op_swish_gradient, x, dy))                                                           \
    X(tanh, liana_op_multiply(dy, liana_op_subtract(constant_like(x, 1), liana_op_square(y))))
#define UNARY_GRADIENT(op, gradient)                                                   \
    static liana_tensor op##_gradient(liana_tensor x, liana_tensor y, liana_tensor dy) \
    {                                                                                  \
        (void)x, (void)y;                                                              \
        return gradient;                                                               \
    }
UNARY_GRADIENTS(UNARY_GRADIENT)

/* ---- ops that are not one op of StableHLO ---- */

/* The least integer has no positive counterpart: of less than 64 bits it becomes the greatest. */
static liana__hlo lower_signed(liana__lowering *l, const char *op, liana__hlo x)
{
    if (!liana__dtype_is_signed(x.dtype) || x.dtype == LIANA_S64) return liana__hlo_unary(l, op, x);
    return liana__hlo_narrow_integer(l, liana__hlo_unary(l, op, liana__hlo_widen_integer(l, x, true)), x.dtype);
}

static liana__hlo lower_abs(liana__lowering *l, liana__hlo x)
{
    return liana__dtype_is_unsigned(x.dtype) ? x : lower_signed(l, "abs", x);
}

static liana__hlo lower_negate(liana__lowering *l, liana__hlo x)
{
    return lower_signed(l, "negate", x);
}

static liana__hlo lower_relu(liana__lowering *l, liana__hlo x)
{
    return liana__hlo_binary_with(l, "maximum", x, 0);
}

static liana__hlo lower_relu6(liana__lowering *l, liana__hlo x)
{
    return liana__hlo_clamp(l, x, 0, 6);
}

static liana__hlo lower_square(liana__lowering *l, liana__hlo x)
{
    if (liana__dtype_is_float(x.dtype)) return liana__hlo_binary(l, "multiply", x, x);
    liana__hlo wide = liana__hlo_widen_integer(l, x, liana__dtype_is_signed(x.dtype));
    return liana__hlo_narrow_integer(l, liana__hlo_binary(l, "multiply", wide, wide), x.dtype);
}

static liana__hlo lower_swish(liana__lowering *l, liana__hlo x)
{
    liana__hlo wide = liana__hlo_widen(l, x);
    return liana__hlo_convert(l, liana__hlo_binary(l, "multiply", wide, liana__hlo_unary(l, "logistic", wide)),
                              x.dtype);
}

/* ---- the table ---- */

/* The dtypes that an op accepts. */
enum { FLOATS = LIANA__FLOATS, SIGNED = LIANA__SIGNED, BOOLS = LIANA__BOOLS, NUMBERS = LIANA__NUMBERS };

typedef struct unary_row {
    double (*value)(double x);
    liana_tensor (*gradient)(liana_tensor x, liana_tensor y, liana_tensor dy); /* NULL: zero */
    int accepts;
    bool gives_bool;
    /* One op of StableHLO, or several. */
    const char *stablehlo;
    liana__hlo (*compose)(liana__lowering *lowering, liana__hlo x);
} unary_row;
#define AS(name) .stablehlo = name
#define BY(function) .compose = function

/* name, value, gradient, accepted dtypes, gives bool, in mixed precision, as StableHLO, doc */
#define UNARY_ROWS(X)                                                                                               \
    X(abs, fabs, abs_gradient, NUMBERS, false, LIANA__FOLLOWS, BY(lower_abs), "|x|")                                \
    X(ceil, ceil, NULL, FLOATS, false, LIANA__FOLLOWS, AS("ceil"), "The smallest whole number >= x.")               \
    X(cos, cos, cos_gradient, FLOATS, false, LIANA__STAYS_WIDE, AS("cosine"), "Cosine.")                            \
    X(erf, erf, erf_gradient, FLOATS, false, LIANA__FOLLOWS, BY(liana__lower_erf), "The error function.")           \
    X(exp, exp, exp_gradient, FLOATS, false, LIANA__STAYS_WIDE, AS("exponential"), "e^x")                           \
    X(expm1, expm1, expm1_gradient, FLOATS, false, LIANA__STAYS_WIDE, AS("exponential_minus_one"), "e^x - 1")       \
    X(floor, floor, NULL, FLOATS, false, LIANA__FOLLOWS, AS("floor"), "The largest whole number <= x.")             \
    X(gelu, liana__gelu, gelu_gradient, FLOATS, false, LIANA__FOLLOWS, BY(liana__lower_gelu),                       \
      "x (1 + erf(x / sqrt(2))) / 2")                                                                               \
    X(gelu_tanh, liana__gelu_tanh, gelu_tanh_gradient, FLOATS, false, LIANA__FOLLOWS, BY(liana__lower_gelu_tanh),   \
      "gelu with tanh in place of erf.")                                                                            \
    X(is_finite, is_finite_value, NULL, FLOATS, true, LIANA__FOLLOWS, BY(liana__hlo_is_finite),                     \
      "Neither infinite nor NaN.")                                                                                  \
    X(log, log, log_gradient, FLOATS, false, LIANA__STAYS_WIDE, AS("log"), "Natural logarithm.")                    \
    X(log1p, log1p, log1p_gradient, FLOATS, false, LIANA__STAYS_WIDE, AS("log_plus_one"), "log(1 + x)")             \
    X(logistic, logistic_value, logistic_gradient, FLOATS, false, LIANA__FOLLOWS, AS("logistic"), "1 / (1 + e^-x)") \
    X(logical_not, logical_not_value, NULL, BOOLS, true, LIANA__FOLLOWS, AS("not"), "not x")                        \
    X(negate, negate_value, negate_gradient, FLOATS | SIGNED, false, LIANA__FOLLOWS, BY(lower_negate), "-x")        \
    X(relu, relu_value, relu_gradient, FLOATS, false, LIANA__FOLLOWS, BY(lower_relu), "max(x, 0)")                  \
    X(relu6, relu6_value, relu6_gradient, FLOATS, false, LIANA__FOLLOWS, BY(lower_relu6), "min(max(x, 0), 6)")      \
    X(round, rint, NULL, FLOATS, false, LIANA__FOLLOWS, AS("round_nearest_even"),                                   \
      "The nearest whole number, ties to even.")                                                                    \
    X(rsqrt, rsqrt_value, rsqrt_gradient, FLOATS, false, LIANA__STAYS_WIDE, AS("rsqrt"), "1 / sqrt(x)")             \
    X(sign, sign_value, NULL, FLOATS | SIGNED, false, LIANA__FOLLOWS, AS("sign"), "-1, 0 or 1")                     \
    X(sin, sin, sin_gradient, FLOATS, false, LIANA__STAYS_WIDE, AS("sine"), "Sine.")                                \
    X(sqrt, sqrt, sqrt_gradient, FLOATS, false, LIANA__STAYS_WIDE, AS("sqrt"), "Square root.")                      \
    X(square, square_value, square_gradient, NUMBERS, false, LIANA__FOLLOWS, BY(lower_square), "x * x")             \
    X(swish, swish_value, swish_gradient, FLOATS, false, LIANA__FOLLOWS, BY(lower_swish), "x / (1 + e^-x)")         \
    X(tanh, tanh, tanh_gradient, FLOATS, false, LIANA__FOLLOWS, AS("tanh"), "Hyperbolic tangent.")

static const unary_row *row_of(const liana__op *op)
{
    return op->details;
}

static liana_status infer_unary(liana__infer *infer)
{
    const unary_row *row = row_of(infer->op);
    LIANA_TRY(liana__infer_like_input(infer));
    LIANA_TRY(liana__infer_accepts(infer, row->accepts));
    if (row->gives_bool) infer->dtype = LIANA_BOOL;
    return LIANA_OK;
}

static void unary_gradient(liana__gradient *gradient)
{
    const unary_row *row = row_of(gradient->node->op);
    if (!row->gradient) return;
    gradient->input_gradients[0] = row->gradient(gradient->inputs[0], gradient->output, gradient->output_gradient);
}

static liana_status lower_unary(liana__lowering *l, const liana__node *node)
{
    const unary_row *row = row_of(node->op);
    liana__hlo x = liana__hlo_input(l, node, 0);
    return liana__hlo_give(l, node, row->compose ? row->compose(l, x) : liana__hlo_unary(l, row->stablehlo, x));
}

/* Integers of 64 bits do not fit a double. They wrap. */
static bool run_integer(const liana__op *op, liana_dtype dtype, const void *src, void *dst, int64_t i)
{
    if (dtype != LIANA_S64 && dtype != LIANA_U64) return false;
    const uint64_t x = ((const uint64_t *)src)[i];
    const bool is_negative = dtype == LIANA_S64 && (int64_t)x < 0;
    uint64_t y = x;
    if (op == &liana__op_square) {
        y = x * x;
    } else if (op == &liana__op_negate || (op == &liana__op_abs && is_negative)) {
        y = 0 - x;
    } else if (op != &liana__op_abs) {
        return false;
    }
    ((uint64_t *)dst)[i] = y;
    return true;
}

static liana_status run_reference(const liana__call *call)
{
    const liana__node *node = call->node;
    double (*value)(double) = row_of(node->op)->value;
    liana_dtype dtype = node->inputs[0]->dtype;
    int64_t size = liana_shape_size(&node->shape);
    for (int64_t i = 0; i < size; i++) {
        if (run_integer(node->op, dtype, call->src[0], call->dst, i)) continue;
        liana__store(call->dst, node->dtype, i, value(liana__load(call->src[0], dtype, i)));
    }
    return LIANA_OK;
}

static const liana__kernel *const kernels[] = {LIANA__BF16_VECTOR_KERNELS(unary), LIANA__REFERENCE(run_reference)};

#define UNARY_OP(op_name, value_, gradient_, accepts_, gives_bool_, precision_, stablehlo_, doc_)                  \
    const liana__op liana__op_##op_name = {.name = #op_name,                                                       \
                                           .doc = doc_,                                                            \
                                           .num_inputs = 1,                                                        \
                                           .infer = infer_unary,                                                   \
                                           .gradient = unary_gradient,                                             \
                                           .placement = LIANA__PLACE_IN_PLACE,                                     \
                                           .precision = precision_,                                                \
                                           .cost = liana__cost_element_wise,                                       \
                                           .parts = liana__parts_element_wise,                                     \
                                           .lower = lower_unary,                                                   \
                                           .kernels = kernels,                                                     \
                                           .details = &(const unary_row){value_, gradient_, accepts_, gives_bool_, \
                                                                         stablehlo_}};                             \
    liana_tensor liana_op_##op_name##_at(liana_location here, liana_tensor x)                                      \
    {                                                                                                              \
        return liana__build1(here, &liana__op_##op_name, x, NULL);                                                 \
    }
UNARY_ROWS(UNARY_OP)
#undef UNARY_OP
