/* Element-wise ops: most are one op of ONNX. */
#include "onnx/op_table.h"

#include <math.h>

/* A node that is being composed of several. */
typedef struct composing {
    liana__onnx_scope *scope;
    const liana__node *node;
    liana_dtype dtype; /* of its inputs */
} composing;

static const char *one(const composing *c, const char *type, const char *x)
{
    return liana__onnx_say(c->scope, c->node, type, LIANA__ONNX_OF(x), NULL);
}

static const char *two(const composing *c, const char *type, const char *a, const char *b)
{
    return liana__onnx_say(c->scope, c->node, type, LIANA__ONNX_OF(a, b), NULL);
}

static const char *number(const composing *c, double value)
{
    return liana__onnx_number(c->scope, c->dtype, value);
}

static const char *where(const composing *c, const char *condition, const char *a, const char *b)
{
    return liana__onnx_say(c->scope, c->node, "Where", LIANA__ONNX_OF(condition, a, b), NULL);
}

void liana__onnx_to_one(liana__onnx_scope *scope, const liana__node *node, const char *type)
{
    const liana__onnx_layout layout = liana__onnx_value_of(scope, node)->layout;
    const char *inputs[4] = {NULL};
    for (uint32_t i = 0; i < node->num_inputs && i < 3; i++) {
        inputs[i] = liana__onnx_operand(scope, node, i, layout);
    }
    liana__onnx_give(scope, node, liana__onnx_say(scope, node, type, inputs, NULL), layout);
}

/* ---- ops that ONNX has not, or not in opset 17 ---- */

static const char *clip_to(const composing *c, const char *x, double low, double high)
{
    const char *least = isfinite(low) ? number(c, low) : "", *most = isfinite(high) ? number(c, high) : "";
    return liana__onnx_say(c->scope, c->node, "Clip", LIANA__ONNX_OF(x, least, most), NULL);
}

static const char *expm1_of(const composing *c, const char *x)
{
    return two(c, "Sub", one(c, "Exp", x), number(c, 1));
}

/* The form that runtimes know, and compute as one. */
static const char *gelu_of(const composing *c, const char *x)
{
    const char *inner = two(c, "Add", one(c, "Erf", two(c, "Div", x, number(c, sqrt(2)))), number(c, 1));
    return two(c, "Mul", two(c, "Mul", x, inner), number(c, 0.5));
}

static const char *gelu_tanh_of(const composing *c, const char *x)
{
    const char *cube = two(c, "Mul", two(c, "Mul", x, x), x);
    const char *sum = two(c, "Add", x, two(c, "Mul", cube, number(c, 0.044715)));
    const char *inner = one(c, "Tanh", two(c, "Mul", sum, number(c, sqrt(2 / acos(-1)))));
    return two(c, "Mul", two(c, "Mul", x, number(c, 0.5)), two(c, "Add", inner, number(c, 1)));
}

static const char *is_finite_of(const composing *c, const char *x)
{
    /* IsInf has no half floats. */
    if (c->dtype == LIANA_F16) x = liana__onnx_cast(c->scope, c->node, x, LIANA_F32);
    return one(c, "Not", two(c, "Or", one(c, "IsInf", x), one(c, "IsNaN", x)));
}

static const char *log1p_of(const composing *c, const char *x)
{
    return one(c, "Log", two(c, "Add", x, number(c, 1)));
}

static const char *relu6_of(const composing *c, const char *x)
{
    return clip_to(c, x, 0, 6);
}

static const char *rsqrt_of(const composing *c, const char *x)
{
    return one(c, "Reciprocal", one(c, "Sqrt", x));
}

static const char *square_of(const composing *c, const char *x)
{
    return two(c, "Mul", x, x);
}

static const char *swish_of(const composing *c, const char *x)
{
    return two(c, "Mul", x, one(c, "Sigmoid", x));
}

static const char *not_equal_of(const composing *c, const char *a, const char *b)
{
    return one(c, "Not", two(c, "Equal", a, b));
}

/* The angle of the point (x, y): arctan(y / x), half a turn on where x < 0. */
static const char *atan2_of(const composing *c, const char *y, const char *x)
{
    const double half_turn = acos(-1);
    const char *zero = number(c, 0), *turn = number(c, half_turn), *back = number(c, -half_turn);
    const char *angle = one(c, "Atan", two(c, "Div", y, x));
    const char *left = two(c, "Add", angle, where(c, two(c, "Less", y, zero), back, turn));
    const char *up = two(c, "Mul", one(c, "Sign", y), number(c, half_turn / 2));
    const char *not_right = where(c, two(c, "Less", x, zero), left, up);
    return where(c, two(c, "Greater", x, zero), angle, not_right);
}

typedef struct composed_row {
    const liana__op *op;
    const char *(*of_one)(const composing *c, const char *x);
    const char *(*of_two)(const composing *c, const char *a, const char *b);
} composed_row;

static const composed_row composed[] = {
    {.op = &liana__op_expm1, .of_one = expm1_of},         {.op = &liana__op_gelu, .of_one = gelu_of},
    {.op = &liana__op_gelu_tanh, .of_one = gelu_tanh_of}, {.op = &liana__op_is_finite, .of_one = is_finite_of},
    {.op = &liana__op_log1p, .of_one = log1p_of},         {.op = &liana__op_relu6, .of_one = relu6_of},
    {.op = &liana__op_rsqrt, .of_one = rsqrt_of},         {.op = &liana__op_square, .of_one = square_of},
    {.op = &liana__op_swish, .of_one = swish_of},         {.op = &liana__op_not_equal, .of_two = not_equal_of},
    {.op = &liana__op_atan2, .of_two = atan2_of},
};

void liana__onnx_to_composed(liana__onnx_scope *scope, const liana__node *node, const char *type)
{
    const composing c = {scope, node, node->inputs[0]->dtype};
    const liana__onnx_layout layout = liana__onnx_value_of(scope, node)->layout;
    (void)type;
    for (size_t i = 0; i < sizeof composed / sizeof *composed; i++) {
        const composed_row *row = &composed[i];
        if (row->op != node->op) continue;
        const char *a = liana__onnx_operand(scope, node, 0, layout);
        const char *result =
            row->of_one ? row->of_one(&c, a) : row->of_two(&c, a, liana__onnx_operand(scope, node, 1, layout));
        liana__onnx_give(scope, node, result, layout);
    }
}

void liana__onnx_to_clip(liana__onnx_scope *scope, const liana__node *node, const char *type)
{
    const composing c = {scope, node, node->dtype};
    const liana__onnx_layout layout = liana__onnx_value_of(scope, node)->layout;
    const char *x = liana__onnx_operand(scope, node, 0, layout);
    (void)type;
    x = clip_to(&c, x, liana__onnx_float(node, "low"), liana__onnx_float(node, "high"));
    liana__onnx_give(scope, node, x, layout);
}

/* liana clamps numbers to the range of a small dtype, and ONNX leaves open what becomes of them. */
const char *liana__onnx_convert(liana__onnx_scope *scope, const liana__node *node, const char *x, liana_dtype from,
                                liana_dtype to)
{
    static const double limits[LIANA_NUM_DTYPES][2] = {[LIANA_S8] = {INT8_MIN, INT8_MAX},
                                                       [LIANA_U8] = {0, UINT8_MAX},
                                                       [LIANA_S16] = {INT16_MIN, INT16_MAX},
                                                       [LIANA_U16] = {0, UINT16_MAX}};
    const double low = limits[to][0], high = limits[to][1];
    const bool was_small = limits[from][1] > 0;
    const bool fits = from == LIANA_BOOL || (was_small && limits[from][0] >= low && limits[from][1] <= high);
    if (from == to) return x;
    if (high > 0 && !fits) {
        const liana_dtype wide = was_small ? LIANA_S32 : from;
        if (was_small) x = liana__onnx_cast(scope, node, x, wide);
        x = clip_to(&(composing){scope, node, wide}, x, low, high);
    }
    return liana__onnx_cast(scope, node, x, to);
}

/* Parts of a loop's results come in one dtype, and are cast to their own, which they have in ONNX. */
void liana__onnx_to_cast(liana__onnx_scope *scope, const liana__node *node, const char *type)
{
    const liana__onnx_layout layout = liana__onnx_value_of(scope, node)->layout;
    const liana__node *input = node->inputs[0];
    const char *part = input->op == &liana__op_loop_part ? liana__onnx_part_as(scope, input, node->dtype) : NULL;
    (void)type;
    if (part) {
        liana__onnx_give(scope, node, part, LIANA__ONNX_NATURAL);
        return;
    }
    const char *x = liana__onnx_operand(scope, node, 0, layout);
    liana__onnx_give(scope, node, liana__onnx_convert(scope, node, x, input->dtype, node->dtype), layout);
}
