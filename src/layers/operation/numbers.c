/* Functions of keras.ops of one or two numbers, composed of others. */
#include "layers/operation/numbers.h"

#include <liana/functions.h>
#include <math.h>

static liana_tensor number(liana_location here, liana_tensor like, double value)
{
    return liana_graph_scalar_at(here, like.graph, liana_tensor_dtype(like), value);
}

static liana_tensor scaled(liana_location here, liana_tensor x, double factor)
{
    return liana_op_multiply_at(here, x, number(here, x, factor));
}

static liana_tensor is_negative(liana_location here, liana_tensor x)
{
    return liana_op_less_at(here, x, number(here, x, 0));
}

/* ---- of one ---- */

/* Keras's: |x| to the power of 1/3, with the sign of x. */
liana_tensor liana__operation_cbrt(liana_location here, liana_tensor x)
{
    liana_tensor root = liana_op_power_at(here, liana_op_abs_at(here, x), number(here, x, 1.0 / 3));
    return liana_op_multiply_at(here, liana_op_sign_at(here, x), root);
}

static const double pi = 3.14159265358979323846;

liana_tensor liana__operation_deg2rad(liana_location here, liana_tensor x)
{
    return scaled(here, x, pi / 180);
}

liana_tensor liana__operation_rad2deg(liana_location here, liana_tensor x)
{
    return scaled(here, x, 180 / pi);
}

liana_tensor liana__operation_erfc(liana_location here, liana_tensor x)
{
    return liana_op_subtract_at(here, number(here, x, 1), liana_op_erf_at(here, x));
}

liana_tensor liana__operation_isneginf(liana_location here, liana_tensor x)
{
    return liana_op_equal_at(here, x, number(here, x, -INFINITY));
}

liana_tensor liana__operation_isposinf(liana_location here, liana_tensor x)
{
    return liana_op_equal_at(here, x, number(here, x, INFINITY));
}

liana_tensor liana__operation_isreal(liana_location here, liana_tensor x)
{
    return liana_op_broadcast_to_at(here, liana_graph_scalar_at(here, x.graph, LIANA_BOOL, 1), liana_tensor_shape(x));
}

/* sin(pi x) / (pi x), and 1 at 0. */
liana_tensor liana__operation_sinc(liana_location here, liana_tensor x)
{
    liana_tensor is_zero = liana_op_equal_at(here, x, number(here, x, 0)), one = number(here, x, 1);
    liana_tensor angle = scaled(here, liana_op_select_at(here, is_zero, one, x), pi);
    liana_tensor quotient = liana_op_divide_at(here, liana_op_sin_at(here, angle), angle);
    return liana_op_select_at(here, is_zero, one, quotient);
}

/* ---- of two ---- */

static liana_tensor without_nan(liana_location here, liana_tensor a, liana_tensor b,
                                liana_tensor (*of)(liana_location, liana_tensor, liana_tensor))
{
    if (liana_tensor_dtype(a) == LIANA_S32) return of(here, a, b);
    liana_tensor left = liana_op_where_at(here, liana_op_is_nan_at(here, a), b, a);
    liana_tensor right = liana_op_where_at(here, liana_op_is_nan_at(here, b), a, b);
    return of(here, left, right);
}

liana_tensor liana__operation_fmax(liana_location here, liana_tensor a, liana_tensor b)
{
    return without_nan(here, a, b, liana_op_maximum_at);
}

liana_tensor liana__operation_fmin(liana_location here, liana_tensor a, liana_tensor b)
{
    return without_nan(here, a, b, liana_op_minimum_at);
}

/* The remainder of truncated division: it has the sign of a. */
liana_tensor liana__operation_fmod(liana_location here, liana_tensor a, liana_tensor b)
{
    liana_tensor rest = liana_op_mod_at(here, liana_op_abs_at(here, a), liana_op_abs_at(here, b));
    return liana_op_multiply_at(here, liana_op_sign_at(here, a), rest);
}

liana_tensor liana__operation_heaviside(liana_location here, liana_tensor a, liana_tensor b)
{
    liana_tensor above = liana_op_greater_at(here, a, number(here, a, 0));
    liana_tensor rest = liana_op_select_at(here, above, number(here, a, 1), b);
    return liana_op_select_at(here, is_negative(here, a), number(here, a, 0), rest);
}

/* The larger one times sqrt(1 + (smaller / larger)^2), which does not overflow before the result does. */
liana_tensor liana__operation_hypot(liana_location here, liana_tensor a, liana_tensor b)
{
    liana_tensor x = liana_op_abs_at(here, a), y = liana_op_abs_at(here, b);
    liana_tensor large = liana_op_maximum_at(here, x, y), small = liana_op_minimum_at(here, x, y);
    liana_tensor is_zero = liana_op_equal_at(here, large, number(here, a, 0)), one = number(here, a, 1);
    liana_tensor ratio = liana_op_divide_at(here, small, liana_op_select_at(here, is_zero, one, large));
    liana_tensor sum = liana_op_add_at(here, one, liana_op_square_at(here, ratio));
    return liana_op_multiply_at(here, large, liana_op_sqrt_at(here, sum));
}

liana_tensor liana__operation_logaddexp2(liana_location here, liana_tensor a, liana_tensor b)
{
    const double log2 = 0.69314718055994530942;
    liana_tensor sum = liana_op_logaddexp_at(here, scaled(here, a, log2), scaled(here, b, log2));
    return scaled(here, sum, 1 / log2);
}

liana_tensor liana__operation_ldexp(liana_location here, liana_tensor a, liana_tensor b)
{
    return liana_op_multiply_at(here, a, liana_op_exp2_at(here, b));
}

/* ---- with settings ---- */

static liana_tensor nothing(const liana__operation_call *call)
{
    return (liana_tensor){call->layer->inputs[0].graph, 0};
}

/* Infinite numbers become the largest that there are. */
liana_tensor liana__operation_build_nan_to_num(liana__operation_call *call)
{
    const liana_tensor x = call->operands[0];
    const double largest = liana_tensor_dtype(x) == LIANA_F64 ? 0x1.fffffffffffffp1023 : 0x1.fffffep127;
    double nan, above, below;
    const bool is_known = liana__operation_number(call, "nan", 0, &nan) &&
                          liana__operation_number(call, "posinf", largest, &above) &&
                          liana__operation_number(call, "neginf", -largest, &below);
    if (!is_known) return nothing(call);
    liana_location here = call->here;
    liana_tensor y = liana_op_where_at(here, liana_op_is_nan_at(here, x), number(here, x, nan), x);
    y = liana_op_where_at(here, liana__operation_isposinf(here, x), number(here, x, above), y);
    return liana_op_where_at(here, liana__operation_isneginf(here, x), number(here, x, below), y);
}

/* |x1 - x2| <= atol + rtol |x2|. */
liana_tensor liana__operation_build_isclose(liana__operation_call *call)
{
    double relative, absolute;
    const bool is_known = liana__operation_number(call, "rtol", 1e-5, &relative) &&
                          liana__operation_number(call, "atol", 1e-8, &absolute);
    if (!is_known) return nothing(call);
    const liana_tensor a = call->operands[0], b = call->operands[1];
    if (call->count < 2 || !a.id || !b.id) return liana__operation_fail(call, "expected x1 and x2");
    liana_location here = call->here;
    liana_tensor allowed =
        liana_op_add_at(here, scaled(here, liana_op_abs_at(here, b), relative), number(here, b, absolute));
    liana_tensor distance = liana_op_abs_at(here, liana_op_subtract_at(here, a, b));
    liana_tensor close = liana_op_less_equal_at(here, distance, allowed);
    if (!liana__operation_flag(call, "equal_nan")) return close;
    liana_tensor both = liana_op_logical_and_at(here, liana_op_is_nan_at(here, a), liana_op_is_nan_at(here, b));
    return liana_op_logical_or_at(here, close, both);
}

liana_tensor liana__operation_build_full_like(liana__operation_call *call)
{
    double value;
    const liana_tensor x = call->operands[0];
    if (!liana__value_get(call->arguments, "fill_value")) return liana__operation_fail(call, "fill_value: found none");
    if (!liana__operation_number(call, "fill_value", 0, &value)) return nothing(call);
    return liana_op_broadcast_to_at(call->here, number(call->here, x, value), liana_tensor_shape(x));
}

/* The number of bins, in ascending order, that are not above x. */
liana_tensor liana__operation_build_digitize(liana__operation_call *call)
{
    const liana_tensor x = call->operands[0], bins = call->operands[1];
    if (!liana__value_get(call->arguments, "bins") || !bins.id || liana_tensor_shape(bins).rank != 1) {
        return liana__operation_fail(call, "bins: expected a constant list of numbers");
    }
    liana_tensor wide = liana_op_expand_dims_at(call->here, x, -1);
    liana_tensor passed = liana_op_greater_equal_at(call->here, wide, bins);
    return liana_op_reduce_sum_at(call->here, liana_op_cast_at(call->here, passed, LIANA_S32), LIANA_AXES(-1), false);
}

liana_tensor liana__operation_build_isin(liana__operation_call *call)
{
    const liana_tensor x = call->operands[0];
    if (!liana__value_get(call->arguments, "x2") || !call->operands[1].id) {
        return liana__operation_fail(call, "x2: expected constant numbers");
    }
    liana_tensor set = liana_op_reshape_at(call->here, call->operands[1], liana_shape_of(-1));
    liana_tensor same = liana_op_equal_at(call->here, liana_op_expand_dims_at(call->here, x, -1), set);
    liana_tensor found = liana_op_any_at(call->here, same, LIANA_AXES(-1), false);
    return liana__operation_flag(call, "invert") ? liana_op_logical_not_at(call->here, found) : found;
}
