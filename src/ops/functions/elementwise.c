/* Functions of each element that are made of several ops. */
#include "ops/functions/functions.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

liana_tensor liana__function_fail(liana_location here, liana_tensor x, const char *function, const char *format, ...)
{
    char message[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    if (x.graph) liana__graph_fail(x.graph, here, LIANA_INVALID_ARGUMENT, "%s: %s", function, message);
    return (liana_tensor){x.graph, 0};
}

bool liana__function_axis(liana_location here, liana_tensor x, const char *function, int more, int64_t *axis)
{
    const int rank = liana_tensor_shape(x).rank + more;
    if (!x.id) return false;
    if (*axis >= -rank && *axis < rank) {
        *axis += *axis < 0 ? rank : 0;
        return true;
    }
    liana__function_fail(here, x, function, "found axis %lld, expected %d to %d", (long long)*axis, -rank, rank - 1);
    return false;
}

/* ---- powers and logarithms ---- */

static liana_tensor scaled(liana_location here, liana_tensor x, double factor)
{
    return liana_op_multiply_at(here, x, liana__number_like(here, x, factor));
}

static liana_tensor plus(liana_location here, liana_tensor x, double summand)
{
    return liana_op_add_at(here, x, liana__number_like(here, x, summand));
}

static liana_tensor minus_from(liana_location here, double minuend, liana_tensor x)
{
    return liana_op_subtract_at(here, liana__number_like(here, x, minuend), x);
}

liana_tensor liana_op_exp2_at(liana_location here, liana_tensor x)
{
    return liana_op_power_at(here, liana__number_like(here, x, 2), x);
}

liana_tensor liana_op_log2_at(liana_location here, liana_tensor x)
{
    return scaled(here, liana_op_log_at(here, x), 1 / log(2));
}

liana_tensor liana_op_log10_at(liana_location here, liana_tensor x)
{
    return scaled(here, liana_op_log_at(here, x), 1 / log(10));
}

liana_tensor liana_op_reciprocal_at(liana_location here, liana_tensor x)
{
    return liana_op_divide_at(here, liana__number_like(here, x, 1), x);
}

/* log(e^a + e^b) = max + log(1 + e^-|a - b|). */
liana_tensor liana_op_logaddexp_at(liana_location here, liana_tensor a, liana_tensor b)
{
    liana_tensor distance = liana_op_abs_at(here, liana_op_subtract_at(here, a, b));
    liana_tensor rest = liana_op_log1p_at(here, liana_op_exp_at(here, liana_op_negate_at(here, distance)));
    return liana_op_add_at(here, liana_op_maximum_at(here, a, b), rest);
}

liana_tensor liana_op_softplus_at(liana_location here, liana_tensor x)
{
    return liana_op_logaddexp_at(here, x, liana__number_like(here, x, 0));
}

/* ---- trigonometry ---- */

liana_tensor liana_op_tan_at(liana_location here, liana_tensor x)
{
    return liana_op_divide_at(here, liana_op_sin_at(here, x), liana_op_cos_at(here, x));
}

/* sqrt(1 - x^2), accurate near -1 and 1. */
static liana_tensor other_side(liana_location here, liana_tensor x)
{
    return liana_op_sqrt_at(here, liana_op_multiply_at(here, minus_from(here, 1, x), plus(here, x, 1)));
}

liana_tensor liana_op_asin_at(liana_location here, liana_tensor x)
{
    return liana_op_atan2_at(here, x, other_side(here, x));
}

liana_tensor liana_op_acos_at(liana_location here, liana_tensor x)
{
    return liana_op_atan2_at(here, other_side(here, x), x);
}

liana_tensor liana_op_atan_at(liana_location here, liana_tensor x)
{
    return liana_op_atan2_at(here, x, liana__number_like(here, x, 1));
}

/* With t = tanh(x / 2): sinh x = 2 t / (1 - t^2), which is accurate near 0; elsewhere (e^x - e^-x) / 2. */
liana_tensor liana_op_sinh_at(liana_location here, liana_tensor x)
{
    liana_tensor t = liana_op_tanh_at(here, scaled(here, x, 0.5));
    liana_tensor near = liana_op_divide_at(here, scaled(here, t, 2), minus_from(here, 1, liana_op_square_at(here, t)));
    liana_tensor up = liana_op_exp_at(here, plus(here, x, -log(2)));
    liana_tensor down = liana_op_exp_at(here, minus_from(here, -log(2), x));
    liana_tensor is_near = liana_op_less_at(here, liana_op_abs_at(here, x), liana__number_like(here, x, 1));
    return liana_op_select_at(here, is_near, near, liana_op_subtract_at(here, up, down));
}

liana_tensor liana_op_cosh_at(liana_location here, liana_tensor x)
{
    liana_tensor up = liana_op_exp_at(here, plus(here, x, -log(2)));
    liana_tensor down = liana_op_exp_at(here, minus_from(here, -log(2), x));
    return liana_op_add_at(here, up, down);
}

/* log(|x| + sqrt(x^2 + 1)) with the sign of x: log1p(|x| + x^2 / (1 + sqrt(x^2 + 1))). Large numbers, whose squares
 * overflow, are log(2 |x|). */
liana_tensor liana_op_asinh_at(liana_location here, liana_tensor x)
{
    const double large = 1e9;
    liana_tensor size = liana_op_abs_at(here, x), limit = liana__number_like(here, x, large);
    liana_tensor is_large = liana_op_greater_at(here, size, limit);
    liana_tensor small = liana_op_minimum_at(here, size, limit), square = liana_op_square_at(here, small);
    liana_tensor root = liana_op_sqrt_at(here, plus(here, square, 1));
    liana_tensor sum = liana_op_add_at(here, small, liana_op_divide_at(here, square, plus(here, root, 1)));
    liana_tensor beyond = plus(here, liana_op_log_at(here, liana_op_maximum_at(here, size, limit)), log(2));
    liana_tensor y = liana_op_select_at(here, is_large, beyond, liana_op_log1p_at(here, sum));
    return liana_op_multiply_at(here, liana_op_sign_at(here, x), y);
}

/* With t = x - 1: log1p(t + sqrt(2 t + t^2)); large numbers as above. */
liana_tensor liana_op_acosh_at(liana_location here, liana_tensor x)
{
    const double large = 1e9;
    liana_tensor limit = liana__number_like(here, x, large), is_large = liana_op_greater_at(here, x, limit);
    liana_tensor t = plus(here, liana_op_minimum_at(here, x, limit), -1);
    liana_tensor root = liana_op_sqrt_at(here, liana_op_multiply_at(here, t, plus(here, t, 2)));
    liana_tensor near = liana_op_log1p_at(here, liana_op_add_at(here, t, root));
    liana_tensor beyond = plus(here, liana_op_log_at(here, liana_op_maximum_at(here, x, limit)), log(2));
    return liana_op_select_at(here, is_large, beyond, near);
}

/* (log(1 + x) - log(1 - x)) / 2. */
liana_tensor liana_op_atanh_at(liana_location here, liana_tensor x)
{
    liana_tensor up = liana_op_log1p_at(here, x), down = liana_op_log1p_at(here, liana_op_negate_at(here, x));
    return scaled(here, liana_op_subtract_at(here, up, down), 0.5);
}

/* ---- whole parts ---- */

liana_tensor liana_op_trunc_at(liana_location here, liana_tensor x)
{
    if (!liana__dtype_is_float(liana_tensor_dtype(x))) return x;
    return liana_op_multiply_at(here, liana_op_sign_at(here, x), liana_op_floor_at(here, liana_op_abs_at(here, x)));
}

/* Integers are divided towards zero; where that leaves a rest of another sign than b, the floor is one less. */
static liana_tensor floor_of_integers(liana_location here, liana_tensor a, liana_tensor b)
{
    const liana_dtype dtype = liana_tensor_dtype(a);
    liana_tensor quotient = liana_op_divide_at(here, a, b), zero = liana__number_like(here, a, 0);
    liana_tensor rest = liana_op_subtract_at(here, a, liana_op_multiply_at(here, quotient, b));
    liana_tensor differs =
        liana_op_not_equal_at(here, liana_op_less_at(here, rest, zero), liana_op_less_at(here, b, zero));
    liana_tensor is_less = liana_op_logical_and_at(here, differs, liana_op_not_equal_at(here, rest, zero));
    return liana_op_subtract_at(here, quotient, liana_op_cast_at(here, is_less, dtype));
}

liana_tensor liana_op_floor_divide_at(liana_location here, liana_tensor a, liana_tensor b)
{
    if (!liana__dtype_is_float(liana_tensor_dtype(a))) return floor_of_integers(here, a, b);
    return liana_op_floor_at(here, liana_op_divide_at(here, a, b));
}

liana_tensor liana_op_mod_at(liana_location here, liana_tensor a, liana_tensor b)
{
    return liana_op_subtract_at(here, a, liana_op_multiply_at(here, liana_op_floor_divide_at(here, a, b), b));
}

/* ---- questions ---- */

liana_tensor liana_op_is_nan_at(liana_location here, liana_tensor x)
{
    return liana_op_not_equal_at(here, x, x);
}

liana_tensor liana_op_is_inf_at(liana_location here, liana_tensor x)
{
    return liana_op_equal_at(here, liana_op_abs_at(here, x), liana__number_like(here, x, INFINITY));
}

liana_tensor liana_op_where_at(liana_location here, liana_tensor condition, liana_tensor a, liana_tensor b)
{
    if (liana_tensor_dtype(condition) != LIANA_BOOL) condition = liana_op_cast_at(here, condition, LIANA_BOOL);
    return liana_op_select_at(here, condition, a, b);
}
