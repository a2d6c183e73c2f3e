/* Functions over axes that are made of several ops. */
#include "ops/functions/functions.h"

#include <math.h>

/* With the maximum m taken out, so that nothing overflows: m + log sum e^(x - m). An infinite one is not taken out. */
liana_tensor liana_op_logsumexp_at(liana_location here, liana_tensor x, liana_axes axes, bool keep_dims)
{
    liana_tensor greatest = liana_op_stop_gradient_at(here, liana_op_reduce_max_at(here, x, axes, true));
    liana_tensor zero = liana__number_like(here, x, 0);
    greatest = liana_op_select_at(here, liana_op_is_finite_at(here, greatest), greatest, zero);
    liana_tensor terms = liana_op_exp_at(here, liana_op_subtract_at(here, x, greatest));
    liana_tensor y = liana_op_log_at(here, liana_op_reduce_sum_at(here, terms, axes, true));
    y = liana_op_add_at(here, y, greatest);
    return keep_dims ? y : liana_op_reduce_sum_at(here, y, axes, false);
}

liana_tensor liana_op_variance_at(liana_location here, liana_tensor x, liana_axes axes, bool keep_dims)
{
    liana_tensor mean = liana_op_reduce_mean_at(here, x, axes, true);
    liana_tensor distance = liana_op_subtract_at(here, x, mean);
    return liana_op_reduce_mean_at(here, liana_op_square_at(here, distance), axes, keep_dims);
}

liana_tensor liana_op_standard_deviation_at(liana_location here, liana_tensor x, liana_axes axes, bool keep_dims)
{
    return liana_op_sqrt_at(here, liana_op_variance_at(here, x, axes, keep_dims));
}

liana_tensor liana_op_norm_at(liana_location here, liana_tensor x, double order, liana_axes axes, bool keep_dims)
{
    liana_tensor size = liana_op_abs_at(here, x);
    if (order == 1) return liana_op_reduce_sum_at(here, size, axes, keep_dims);
    if (order == INFINITY) return liana_op_reduce_max_at(here, size, axes, keep_dims);
    if (order == -INFINITY) return liana_op_reduce_min_at(here, size, axes, keep_dims);
    if (order == 2) {
        liana_tensor sum = liana_op_reduce_sum_at(here, liana_op_square_at(here, x), axes, keep_dims);
        return liana_op_sqrt_at(here, sum);
    }
    if (!(order > 0)) return liana__function_fail(here, x, "norm", "found the order %g, expected one above 0", order);
    liana_tensor powers = liana_op_power_at(here, size, liana__number_like(here, x, order));
    liana_tensor sum = liana_op_reduce_sum_at(here, powers, axes, keep_dims);
    return liana_op_power_at(here, sum, liana__number_like(here, x, 1 / order));
}

/* 1 where x is true or not zero. */
static liana_tensor as_ones(liana_location here, liana_tensor x)
{
    if (liana_tensor_dtype(x) == LIANA_BOOL) return liana_op_cast_at(here, x, LIANA_S32);
    return liana_op_cast_at(here, liana_op_not_equal_at(here, x, liana__number_like(here, x, 0)), LIANA_S32);
}

liana_tensor liana_op_any_at(liana_location here, liana_tensor x, liana_axes axes, bool keep_dims)
{
    return liana_op_cast_at(here, liana_op_reduce_max_at(here, as_ones(here, x), axes, keep_dims), LIANA_BOOL);
}

liana_tensor liana_op_all_at(liana_location here, liana_tensor x, liana_axes axes, bool keep_dims)
{
    return liana_op_cast_at(here, liana_op_reduce_min_at(here, as_ones(here, x), axes, keep_dims), LIANA_BOOL);
}

liana_tensor liana_op_count_nonzero_at(liana_location here, liana_tensor x, liana_axes axes, bool keep_dims)
{
    return liana_op_reduce_sum_at(here, as_ones(here, x), axes, keep_dims);
}

liana_tensor liana_op_argmin_at(liana_location here, liana_tensor x, int64_t axis)
{
    return liana_op_argmax_at(here, liana_op_negate_at(here, x), axis);
}
