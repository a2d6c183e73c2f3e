/* Element-wise ops with two inputs, broadcast as in numpy: a family whose members differ by one row. */
#include "ops/elementwise/binary.h"

#include "ops/elementwise/gelu.h"
#include "ops/gradients.h"
#include "stablehlo/lowering.h"

#include <math.h>

/* ---- values ---- */

/* Of the gates a is y, and b is dy. */
#define BINARY_VALUES(X)                                \
    X(add, a + b)                                       \
    X(subtract, a - b)                                  \
    X(multiply, (a * b))                                \
    X(divide, a / b)                                    \
    X(maximum, a != a ? a : b != b ? b : a > b ? a : b) \
    X(minimum, a != a ? a : b != b ? b : a < b ? a : b) \
    X(equal, a == b)                                    \
    X(not_equal, a != b)                                \
    X(less, a < b)                                      \
    X(less_equal, a <= b)                               \
    X(greater, a > b)                                   \
    X(greater_equal, a >= b)                            \
    X(logical_and, a != 0 && b != 0)                    \
    X(logical_or, a != 0 || b != 0)                     \
    X(logical_xor, (a != 0) != (b != 0))                \
    X(relu_gradient, a > 0 ? b : 0)                     \
    X(relu6_gradient, a > 0 && a < 6 ? b : 0)
#define BINARY_VALUE(op, value)                  \
    static double op##_value(double a, double b) \
    {                                            \
        return value;                            \
    }
BINARY_VALUES(BINARY_VALUE)

/* With s = 1 / (1 + e^-x): the derivative of x s is s (1 + x (1 - s)). */
static double swish_gradient_value(double x, double dy)
{
    double s = 1 / (1 + exp(-x));
    return dy * (s * (1 + x * (1 - s)));
}

/* ---- gradients, before they are summed to the inputs' own shapes ---- */

static void add_gradient(liana__gradient *g)
{
    g->input_gradients[0] = g->output_gradient;
    g->input_gradients[1] = g->output_gradient;
}

static void subtract_gradient(liana__gradient *g)
{
    g->input_gradients[0] = g->output_gradient;
    if (g->wanted[1]) g->input_gradients[1] = liana_op_negate(g->output_gradient);
}

static void multiply_gradient(liana__gradient *g)
{
    if (g->wanted[0]) g->input_gradients[0] = liana_op_multiply(g->output_gradient, g->inputs[1]);
    if (g->wanted[1]) g->input_gradients[1] = liana_op_multiply(g->output_gradient, g->inputs[0]);
}

static void divide_gradient(liana__gradient *g)
{
    liana_tensor quotient = liana_op_divide(g->output_gradient, g->inputs[1]);
    g->input_gradients[0] = quotient;
    if (g->wanted[1]) g->input_gradients[1] = liana_op_negate(liana_op_multiply(quotient, g->output));
}

/* The gradient of maximum and minimum goes to the chosen input; equal inputs share it, as in TensorFlow's
 * subgradient-free limit of a smooth maximum. */
static void share_gradient(liana__gradient *g, liana_tensor first_wins, liana_tensor second_wins)
{
    liana_dtype dtype = liana_tensor_dtype(g->output);
    liana_tensor half = liana_graph_scalar(g->output.graph, dtype, 0.5);
    liana_tensor first = liana_op_cast(first_wins, dtype), second = liana_op_cast(second_wins, dtype);
    liana_tensor both = liana_op_multiply(liana_op_multiply(first, second), half);
    g->input_gradients[0] = liana_op_multiply(g->output_gradient, liana_op_subtract(first, both));
    g->input_gradients[1] = liana_op_multiply(g->output_gradient, liana_op_subtract(second, both));
}

static void maximum_gradient(liana__gradient *g)
{
    share_gradient(g, liana_op_greater_equal(g->inputs[0], g->inputs[1]),
                   liana_op_greater_equal(g->inputs[1], g->inputs[0]));
}

static void minimum_gradient(liana__gradient *g)
{
    share_gradient(g, liana_op_less_equal(g->inputs[0], g->inputs[1]), liana_op_less_equal(g->inputs[1], g->inputs[0]));
}

/* b a^(b - 1) and a^b log a. Where their factors are 0 times infinity, b = 0 and a = 0, they are 0 (as in TensorFlow
 * and JAX); a negative base has no derivative along b. */
static void power_gradient(liana__gradient *g)
{
    liana_tensor a = g->inputs[0], b = g->inputs[1];
    liana_dtype dtype = liana_tensor_dtype(a);
    liana_tensor zero = liana_graph_scalar(a.graph, dtype, 0), one = liana_graph_scalar(a.graph, dtype, 1);
    if (g->wanted[0]) {
        liana_tensor exponent = liana_op_select(liana_op_equal(b, zero), one, liana_op_subtract(b, one));
        liana_tensor slope = liana_op_multiply(b, liana_op_power(a, exponent));
        g->input_gradients[0] = liana_op_multiply(g->output_gradient, slope);
    }
    if (g->wanted[1]) {
        liana_tensor logarithm = liana_op_log(liana_op_select(liana_op_equal(a, zero), one, a));
        g->input_gradients[1] = liana_op_multiply(g->output_gradient, liana_op_multiply(g->output, logarithm));
    }
}

/* Of the angle of the point (b, a): b / (a^2 + b^2) and -a / (a^2 + b^2). */
static void atan2_gradient(liana__gradient *g)
{
    liana_tensor a = g->inputs[0], b = g->inputs[1];
    liana_tensor square = liana_op_add(liana_op_square(a), liana_op_square(b));
    liana_tensor part = liana_op_divide(g->output_gradient, square);
    if (g->wanted[0]) g->input_gradients[0] = liana_op_multiply(part, b);
    if (g->wanted[1]) g->input_gradients[1] = liana_op_negate(liana_op_multiply(part, a));
}

/* Linear in dy; constant in y except at the kinks. */
static void gate_gradient(liana__gradient *g)
{
    if (!g->wanted[1]) return;
    g->input_gradients[1] = liana__build2(LIANA_HERE, g->node->op, g->inputs[0], g->output_gradient, NULL);
}

/* Linear in dy; the second derivative is s (1 - s) (2 + x (1 - 2 s)). */
static void swish_gradient_gradient(liana__gradient *g)
{
    liana_tensor x = g->inputs[0], dy = g->inputs[1], v = g->output_gradient;
    if (g->wanted[1]) g->input_gradients[1] = liana__build2(LIANA_HERE, &liana__op_swish_gradient, x, v, NULL);
    if (!g->wanted[0]) return;
    liana_dtype dtype = liana_tensor_dtype(x);
    liana_tensor one = liana_graph_scalar(x.graph, dtype, 1), two = liana_graph_scalar(x.graph, dtype, 2);
    liana_tensor s = liana_op_logistic(x), rest = liana_op_subtract(one, s);
    liana_tensor bend = liana_op_add(two, liana_op_multiply(x, liana_op_subtract(rest, s)));
    liana_tensor second = liana_op_multiply(liana_op_multiply(s, rest), bend);
    g->input_gradients[0] = liana_op_multiply(liana_op_multiply(v, dy), second);
}

/* Linear in dy, as swish_gradient. */
static void gelu_gradient_gradient(liana__gradient *g)
{
    liana_tensor x = g->inputs[0], dy = g->inputs[1], v = g->output_gradient;
    const liana__op *op = g->node->op;
    if (g->wanted[1]) g->input_gradients[1] = liana__build2(LIANA_HERE, op, x, v, NULL);
    if (!g->wanted[0]) return;
    liana_tensor bend = op == &liana__op_gelu_gradient ? liana__gelu_bend(x) : liana__gelu_tanh_bend(x);
    g->input_gradients[0] = liana_op_multiply(liana_op_multiply(v, dy), bend);
}

/* ---- ops that are not one op of StableHLO ---- */

/* Integers as in the reference: those of 64 bits wrap, others are clamped to their range. */
static liana__hlo lower_arithmetic(liana__lowering *l, const char *op, liana__hlo a, liana__hlo b)
{
    if (liana__dtype_is_float(a.dtype)) return liana__hlo_binary(l, op, a, b);
    bool may_be_negative = liana__dtype_is_signed(a.dtype) || strcmp(op, "subtract") == 0;
    liana__hlo x = liana__hlo_widen_integer(l, a, may_be_negative), y = liana__hlo_widen_integer(l, b, may_be_negative);
    return liana__hlo_narrow_integer(l, liana__hlo_binary(l, op, x, y), a.dtype);
}

/* Integers divided by 0 and by -1, for which StableHLO leaves results open: x / 0 is 0 in 64 bits, else the end of the
 * range on x's side, beyond which 2^32 is. */
static liana__hlo lower_divide(liana__lowering *l, liana__hlo a, liana__hlo b)
{
    if (liana__dtype_is_float(a.dtype)) return liana__hlo_binary(l, "divide", a, b);
    liana__hlo x = liana__hlo_widen_integer(l, a, true), y = liana__hlo_widen_integer(l, b, true);
    bool is_small = liana_dtype_size(a.dtype) < 8;
    liana__hlo is_zero = liana__hlo_compare_with(l, "EQ", y, 0), open = is_zero, is_minus_one = is_zero;
    if (liana__dtype_is_signed(x.dtype)) {
        is_minus_one = liana__hlo_compare_with(l, "EQ", y, -1);
        open = liana__hlo_binary(l, "or", is_zero, is_minus_one);
    }
    liana__hlo one = liana__hlo_fill(l, y.dtype, LIANA_SCALAR, 1);
    liana__hlo quotient = liana__hlo_binary(l, "divide", x, liana__hlo_select(l, open, one, y));
    if (liana__dtype_is_signed(x.dtype))
        quotient = liana__hlo_select(l, is_minus_one, liana__hlo_unary(l, "negate", x), quotient);
    liana__hlo side = is_small ? liana__hlo_clamp(l, x, -1, 1) : x;
    liana__hlo by_zero = liana__hlo_binary_with(l, "multiply", side, is_small ? 0x1p32 : 0);
    return liana__hlo_narrow_integer(l, liana__hlo_select(l, is_zero, by_zero, quotient), a.dtype);
}

static liana__hlo pass_where(liana__lowering *l, liana__hlo condition, liana__hlo dy)
{
    return liana__hlo_select(l, condition, dy, liana__hlo_fill(l, dy.dtype, LIANA_SCALAR, 0));
}

static liana__hlo lower_relu_gradient(liana__lowering *l, liana__hlo y, liana__hlo dy)
{
    return pass_where(l, liana__hlo_compare_with(l, "GT", y, 0), dy);
}

static liana__hlo lower_relu6_gradient(liana__lowering *l, liana__hlo y, liana__hlo dy)
{
    liana__hlo above = liana__hlo_compare_with(l, "GT", y, 0), below = liana__hlo_compare_with(l, "LT", y, 6);
    return pass_where(l, liana__hlo_binary(l, "and", above, below), dy);
}

static liana__hlo lower_swish_gradient(liana__lowering *l, liana__hlo narrow_x, liana__hlo narrow_dy)
{
    liana__hlo x = liana__hlo_widen(l, narrow_x), dy = liana__hlo_widen(l, narrow_dy);
    liana__hlo s = liana__hlo_unary(l, "logistic", x), one = liana__hlo_fill(l, x.dtype, x.shape, 1);
    liana__hlo bend = liana__hlo_binary(l, "multiply", x, liana__hlo_binary(l, "subtract", one, s));
    liana__hlo slope = liana__hlo_binary(l, "multiply", s, liana__hlo_binary(l, "add", one, bend));
    return liana__hlo_convert(l, liana__hlo_binary(l, "multiply", dy, slope), narrow_x.dtype);
}

/* ---- the table ---- */

/* The dtypes that an op accepts. */
enum { FLOATS = LIANA__FLOATS, BOOLS = LIANA__BOOLS, NUMBERS = LIANA__NUMBERS, ANY = LIANA__ANY_DTYPE };

typedef struct binary_row {
    double (*value)(double a, double b);
    void (*gradient)(liana__gradient *gradient); /* NULL: zero */
    int accepts;
    bool gives_bool;
    /* One op of StableHLO; the same, where small integers do not wrap; a comparison; or several ops. */
    const char *stablehlo, *arithmetic, *comparison;
    liana__hlo (*compose)(liana__lowering *lowering, liana__hlo a, liana__hlo b);
} binary_row;
#define AS(name) .stablehlo = name
#define ARITHMETIC(name) .arithmetic = name
#define COMPARES(direction) .comparison = direction
#define BY(function) .compose = function

/* name, value, gradient, accepted dtypes, gives bool, in mixed precision, as StableHLO, doc */
#define BINARY_ROWS(X)                                                                                               \
    X(add, add_value, add_gradient, NUMBERS, false, LIANA__FOLLOWS, ARITHMETIC("add"), "a + b")                      \
    X(subtract, subtract_value, subtract_gradient, NUMBERS, false, LIANA__FOLLOWS, ARITHMETIC("subtract"), "a - b")  \
    X(multiply, multiply_value, multiply_gradient, NUMBERS, false, LIANA__FOLLOWS, ARITHMETIC("multiply"), "a * b")  \
    X(divide, divide_value, divide_gradient, NUMBERS, false, LIANA__STAYS_WIDE, BY(lower_divide), "a / b")           \
    X(maximum, maximum_value, maximum_gradient, NUMBERS, false, LIANA__FOLLOWS, AS("maximum"),                       \
      "The maximum; NaN if either is NaN.")                                                                          \
    X(minimum, minimum_value, minimum_gradient, NUMBERS, false, LIANA__FOLLOWS, AS("minimum"),                       \
      "The minimum; NaN if either is NaN.")                                                                          \
    X(atan2, atan2, atan2_gradient, FLOATS, false, LIANA__STAYS_WIDE, AS("atan2"), "The angle of the point (b, a).") \
    X(power, pow, power_gradient, FLOATS, false, LIANA__STAYS_WIDE, AS("power"), "a^b")                              \
    X(equal, equal_value, NULL, ANY, true, LIANA__FOLLOWS, COMPARES("EQ"), "a == b")                                 \
    X(not_equal, not_equal_value, NULL, ANY, true, LIANA__FOLLOWS, COMPARES("NE"), "a != b")                         \
    X(less, less_value, NULL, NUMBERS, true, LIANA__FOLLOWS, COMPARES("LT"), "a < b")                                \
    X(less_equal, less_equal_value, NULL, NUMBERS, true, LIANA__FOLLOWS, COMPARES("LE"), "a <= b")                   \
    X(greater, greater_value, NULL, NUMBERS, true, LIANA__FOLLOWS, COMPARES("GT"), "a > b")                          \
    X(greater_equal, greater_equal_value, NULL, NUMBERS, true, LIANA__FOLLOWS, COMPARES("GE"), "a >= b")             \
    X(logical_and, logical_and_value, NULL, BOOLS, true, LIANA__FOLLOWS, AS("and"), "a and b")                       \
    X(logical_or, logical_or_value, NULL, BOOLS, true, LIANA__FOLLOWS, AS("or"), "a or b")                           \
    X(logical_xor, logical_xor_value, NULL, BOOLS, true, LIANA__FOLLOWS, AS("xor"), "a exclusive-or b")
#define GATE_ROWS(X)                                                                                                \
    X(relu_gradient, relu_gradient_value, gate_gradient, FLOATS, false, LIANA__FOLLOWS, BY(lower_relu_gradient),    \
      "dy where y > 0")                                                                                             \
    X(relu6_gradient, relu6_gradient_value, gate_gradient, FLOATS, false, LIANA__FOLLOWS, BY(lower_relu6_gradient), \
      "dy where 0 < y < 6")                                                                                         \
    X(swish_gradient, swish_gradient_value, swish_gradient_gradient, FLOATS, false, LIANA__FOLLOWS,                 \
      BY(lower_swish_gradient), "dy times the derivative of swish at x")                                            \
    X(gelu_gradient, liana__gelu_gradient, gelu_gradient_gradient, FLOATS, false, LIANA__FOLLOWS,                   \
      BY(liana__lower_gelu_gradient), "dy times the derivative of gelu at x")                                       \
    X(gelu_tanh_gradient, liana__gelu_tanh_gradient, gelu_gradient_gradient, FLOATS, false, LIANA__FOLLOWS,         \
      BY(liana__lower_gelu_tanh_gradient), "dy times the derivative of gelu_tanh at x")

static const binary_row *row_of(const liana__op *op)
{
    return op->details;
}

static liana_status infer_binary(liana__infer *infer)
{
    const binary_row *row = row_of(infer->op);
    LIANA_TRY(liana__infer_same_dtype(infer, 0, 1));
    infer->dtype = infer->inputs[0]->dtype;
    LIANA_TRY(liana__infer_accepts(infer, row->accepts));
    if (row->gives_bool) infer->dtype = LIANA_BOOL;
    if (liana__shape_broadcast(&infer->inputs[0]->shape, &infer->inputs[1]->shape, &infer->shape)) return LIANA_OK;
    return liana__infer_fail(infer,
                             "shapes %s and %s cannot be broadcast together; expected equal sizes or 1, counted "
                             "from the last axis",
                             liana__shape_print(&infer->inputs[0]->shape).text,
                             liana__shape_print(&infer->inputs[1]->shape).text);
}

static void binary_gradient(liana__gradient *gradient)
{
    const binary_row *row = row_of(gradient->node->op);
    if (!row->gradient) return;
    row->gradient(gradient);
    for (int i = 0; i < 2; i++) {
        liana_tensor *wide = &gradient->input_gradients[i];
        if (!gradient->wanted[i] || !wide->id) continue;
        *wide = liana__sum_to_shape(LIANA_HERE, *wide, liana__input_shape(gradient->node, (size_t)i));
    }
}

static liana_status lower_binary(liana__lowering *l, const liana__node *node)
{
    const binary_row *row = row_of(node->op);
    liana__hlo a = liana__hlo_input(l, node, 0), b = liana__hlo_input(l, node, 1);
    if (row->compose) return liana__hlo_give(l, node, row->compose(l, a, b));
    if (row->comparison) return liana__hlo_give(l, node, liana__hlo_compare(l, row->comparison, a, b));
    if (row->arithmetic) return liana__hlo_give(l, node, lower_arithmetic(l, row->arithmetic, a, b));
    return liana__hlo_give(l, node, liana__hlo_binary(l, row->stablehlo, a, b));
}

/* Integers up to 64 bits do not fit a double, and overflow must wrap: they get a loop of their own. */
static bool run_integers(const liana__op *op, liana_dtype dtype, const void *a, int64_t i, const void *b, int64_t j,
                         void *dst, int64_t k)
{
    bool wide = dtype == LIANA_S64 || dtype == LIANA_U64;
    if (!wide || row_of(op)->gives_bool) return false;
    uint64_t x = ((const uint64_t *)a)[i], y = ((const uint64_t *)b)[j], z;
    bool is_signed = dtype == LIANA_S64;
    bool less = is_signed ? (int64_t)x < (int64_t)y : x < y;
    if (op == &liana__op_add) {
        z = x + y;
    } else if (op == &liana__op_subtract) {
        z = x - y;
    } else if (op == &liana__op_multiply) {
        z = x * y;
    } else if (op == &liana__op_maximum) {
        z = less ? y : x;
    } else if (op == &liana__op_minimum) {
        z = less ? x : y;
    } else if (y == 0) {
        z = 0;
    } else if (is_signed) {
        z = (int64_t)y == -1 ? 0 - x : (uint64_t)((int64_t)x / (int64_t)y);
    } else {
        z = x / y;
    }
    ((uint64_t *)dst)[k] = z;
    return true;
}

static liana_status run_reference(const liana__call *call)
{
    const liana__node *node = call->node;
    double (*value)(double, double) = row_of(node->op)->value;
    liana_dtype dtype = node->inputs[0]->dtype;
    int64_t strides_a[LIANA_MAX_RANK], strides_b[LIANA_MAX_RANK], index[LIANA_MAX_RANK] = {0};
    liana__broadcast_strides(liana__input_shape(node, 0), &node->shape, strides_a);
    liana__broadcast_strides(liana__input_shape(node, 1), &node->shape, strides_b);
    int64_t size = liana_shape_size(&node->shape), a = 0, b = 0;
    for (int64_t i = 0; i < size; i++) {
        if (!run_integers(node->op, dtype, call->src[0], a, call->src[1], b, call->dst, i)) {
            double x = liana__load(call->src[0], dtype, a), y = liana__load(call->src[1], dtype, b);
            liana__store(call->dst, node->dtype, i, value(x, y));
        }
        for (int axis = node->shape.rank - 1; axis >= 0; axis--) {
            a += strides_a[axis];
            b += strides_b[axis];
            if (++index[axis] < node->shape.dims[axis]) break;
            a -= strides_a[axis] * node->shape.dims[axis];
            b -= strides_b[axis] * node->shape.dims[axis];
            index[axis] = 0;
        }
    }
    return LIANA_OK;
}

static const liana__kernel *const kernels[] = {LIANA__BF16_VECTOR_KERNELS(binary), LIANA__VECTOR_KERNELS(compare),
                                               LIANA__REFERENCE(run_reference)};

#define BINARY_OP(op_name, value_, gradient_, accepts_, gives_bool_, precision_, stablehlo_, doc_)                  \
    const liana__op liana__op_##op_name = {.name = #op_name,                                                        \
                                           .doc = doc_,                                                             \
                                           .num_inputs = 2,                                                         \
                                           .infer = infer_binary,                                                   \
                                           .gradient = binary_gradient,                                             \
                                           .placement = LIANA__PLACE_IN_PLACE,                                      \
                                           .precision = precision_,                                                 \
                                           .cost = liana__cost_element_wise,                                        \
                                           .parts = liana__parts_element_wise,                                      \
                                           .lower = lower_binary,                                                   \
                                           .kernels = kernels,                                                      \
                                           .details = &(const binary_row){value_, gradient_, accepts_, gives_bool_, \
                                                                          stablehlo_}};
BINARY_ROWS(BINARY_OP)
GATE_ROWS(BINARY_OP)
#undef BINARY_OP

#define BINARY_BUILDER(name, ...)                                                          \
    liana_tensor liana_op_##name##_at(liana_location here, liana_tensor a, liana_tensor b) \
    {                                                                                      \
        return liana__build2(here, &liana__op_##name, a, b, NULL);                         \
    }
BINARY_ROWS(BINARY_BUILDER)
#undef BINARY_BUILDER
