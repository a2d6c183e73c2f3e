/* functions.h - functions of keras.ops and numpy that are made of several ops.
 *
 * They are used as the ops are (ops.h): gradients flow through them, and errors stay with the graph. Axes that are
 * negative count from the end. */
#ifndef LIANA_FUNCTIONS_H
#define LIANA_FUNCTIONS_H

#include <liana/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- element-wise: float dtypes unless the function says otherwise ---- */

/* 2^x. */
#define liana_op_exp2(x) liana_op_exp2_at(LIANA_HERE, x)
LIANA_API liana_tensor liana_op_exp2_at(liana_location here, liana_tensor x);

/* The logarithm to base 2. */
#define liana_op_log2(x) liana_op_log2_at(LIANA_HERE, x)
LIANA_API liana_tensor liana_op_log2_at(liana_location here, liana_tensor x);

/* The logarithm to base 10. */
#define liana_op_log10(x) liana_op_log10_at(LIANA_HERE, x)
LIANA_API liana_tensor liana_op_log10_at(liana_location here, liana_tensor x);

/* 1 / x. */
#define liana_op_reciprocal(x) liana_op_reciprocal_at(LIANA_HERE, x)
LIANA_API liana_tensor liana_op_reciprocal_at(liana_location here, liana_tensor x);

/* log(1 + e^x), without overflow. */
#define liana_op_softplus(x) liana_op_softplus_at(LIANA_HERE, x)
LIANA_API liana_tensor liana_op_softplus_at(liana_location here, liana_tensor x);

/* log(e^a + e^b), without overflow. */
#define liana_op_logaddexp(a, b) liana_op_logaddexp_at(LIANA_HERE, a, b)
LIANA_API liana_tensor liana_op_logaddexp_at(liana_location here, liana_tensor a, liana_tensor b);

/* Tangent; radians. */
#define liana_op_tan(x) liana_op_tan_at(LIANA_HERE, x)
LIANA_API liana_tensor liana_op_tan_at(liana_location here, liana_tensor x);

/* The angle whose sine is x. */
#define liana_op_asin(x) liana_op_asin_at(LIANA_HERE, x)
LIANA_API liana_tensor liana_op_asin_at(liana_location here, liana_tensor x);

/* The angle whose cosine is x. */
#define liana_op_acos(x) liana_op_acos_at(LIANA_HERE, x)
LIANA_API liana_tensor liana_op_acos_at(liana_location here, liana_tensor x);

/* The angle whose tangent is x. */
#define liana_op_atan(x) liana_op_atan_at(LIANA_HERE, x)
LIANA_API liana_tensor liana_op_atan_at(liana_location here, liana_tensor x);

/* Hyperbolic sine. */
#define liana_op_sinh(x) liana_op_sinh_at(LIANA_HERE, x)
LIANA_API liana_tensor liana_op_sinh_at(liana_location here, liana_tensor x);

/* Hyperbolic cosine. */
#define liana_op_cosh(x) liana_op_cosh_at(LIANA_HERE, x)
LIANA_API liana_tensor liana_op_cosh_at(liana_location here, liana_tensor x);

/* The number whose hyperbolic sine is x. */
#define liana_op_asinh(x) liana_op_asinh_at(LIANA_HERE, x)
LIANA_API liana_tensor liana_op_asinh_at(liana_location here, liana_tensor x);

/* The number >= 0 whose hyperbolic cosine is x. */
#define liana_op_acosh(x) liana_op_acosh_at(LIANA_HERE, x)
LIANA_API liana_tensor liana_op_acosh_at(liana_location here, liana_tensor x);

/* The number whose hyperbolic tangent is x. */
#define liana_op_atanh(x) liana_op_atanh_at(LIANA_HERE, x)
LIANA_API liana_tensor liana_op_atanh_at(liana_location here, liana_tensor x);

/* The whole number next to x on the side of 0; integers stay. */
#define liana_op_trunc(x) liana_op_trunc_at(LIANA_HERE, x)
LIANA_API liana_tensor liana_op_trunc_at(liana_location here, liana_tensor x);

/* The greatest whole number <= a / b; also for integers. */
#define liana_op_floor_divide(a, b) liana_op_floor_divide_at(LIANA_HERE, a, b)
LIANA_API liana_tensor liana_op_floor_divide_at(liana_location here, liana_tensor a, liana_tensor b);

/* a - b floor_divide(a, b), which has the sign of b; also for integers. */
#define liana_op_mod(a, b) liana_op_mod_at(LIANA_HERE, a, b)
LIANA_API liana_tensor liana_op_mod_at(liana_location here, liana_tensor a, liana_tensor b);

/* bool: not a number. */
#define liana_op_is_nan(x) liana_op_is_nan_at(LIANA_HERE, x)
LIANA_API liana_tensor liana_op_is_nan_at(liana_location here, liana_tensor x);

/* bool: infinite. */
#define liana_op_is_inf(x) liana_op_is_inf_at(LIANA_HERE, x)
LIANA_API liana_tensor liana_op_is_inf_at(liana_location here, liana_tensor x);

/* a where the condition is true or not zero, else b. Shapes are broadcast. */
#define liana_op_where(condition, a, b) liana_op_where_at(LIANA_HERE, condition, a, b)
LIANA_API liana_tensor liana_op_where_at(liana_location here, liana_tensor condition, liana_tensor a, liana_tensor b);

/* ---- over axes; as the reductions of ops.h ---- */

/* log(sum(e^x)), without overflow. */
#define liana_op_logsumexp(x, axes, keep_dims) liana_op_logsumexp_at(LIANA_HERE, x, axes, keep_dims)
LIANA_API liana_tensor liana_op_logsumexp_at(liana_location here, liana_tensor x, liana_axes axes, bool keep_dims);

/* The mean of the squared distances from the mean. */
#define liana_op_variance(x, axes, keep_dims) liana_op_variance_at(LIANA_HERE, x, axes, keep_dims)
LIANA_API liana_tensor liana_op_variance_at(liana_location here, liana_tensor x, liana_axes axes, bool keep_dims);

/* The root of the variance. */
#define liana_op_standard_deviation(x, axes, keep_dims) liana_op_standard_deviation_at(LIANA_HERE, x, axes, keep_dims)
LIANA_API liana_tensor liana_op_standard_deviation_at(liana_location here, liana_tensor x, liana_axes axes,
                                                      bool keep_dims);

/* sum(|x|^order)^(1 / order), for an order above 0: 2 is the length. INFINITY: the greatest |x|; -INFINITY: the
 * least. */
#define liana_op_norm(x, order, axes, keep_dims) liana_op_norm_at(LIANA_HERE, x, order, axes, keep_dims)
LIANA_API liana_tensor liana_op_norm_at(liana_location here, liana_tensor x, double order, liana_axes axes,
                                        bool keep_dims);

/* bool: whether an element is true, or not zero; any dtype. */
#define liana_op_any(x, axes, keep_dims) liana_op_any_at(LIANA_HERE, x, axes, keep_dims)
LIANA_API liana_tensor liana_op_any_at(liana_location here, liana_tensor x, liana_axes axes, bool keep_dims);

/* bool: whether all are. */
#define liana_op_all(x, axes, keep_dims) liana_op_all_at(LIANA_HERE, x, axes, keep_dims)
LIANA_API liana_tensor liana_op_all_at(liana_location here, liana_tensor x, liana_axes axes, bool keep_dims);

/* s32: how many are. */
#define liana_op_count_nonzero(x, axes, keep_dims) liana_op_count_nonzero_at(LIANA_HERE, x, axes, keep_dims)
LIANA_API liana_tensor liana_op_count_nonzero_at(liana_location here, liana_tensor x, liana_axes axes, bool keep_dims);

/* s32: the index of the minimum along an axis, the first of equals. The axis is removed. */
#define liana_op_argmin(x, axis) liana_op_argmin_at(LIANA_HERE, x, axis)
LIANA_API liana_tensor liana_op_argmin_at(liana_location here, liana_tensor x, int64_t axis);

/* ---- shapes and places; any dtype ---- */

/* A new axis of size 1 at `axis` of the result. */
#define liana_op_expand_dims(x, axis) liana_op_expand_dims_at(LIANA_HERE, x, axis)
LIANA_API liana_tensor liana_op_expand_dims_at(liana_location here, liana_tensor x, int64_t axis);

/* Without these axes, which have the size 1; LIANA_ALL_AXES: without all of size 1. */
#define liana_op_squeeze(x, axes) liana_op_squeeze_at(LIANA_HERE, x, axes)
LIANA_API liana_tensor liana_op_squeeze_at(liana_location here, liana_tensor x, liana_axes axes);

/* An axis at another place; the others keep their order. */
#define liana_op_move_axis(x, from, to) liana_op_move_axis_at(LIANA_HERE, x, from, to)
LIANA_API liana_tensor liana_op_move_axis_at(liana_location here, liana_tensor x, int64_t from, int64_t to);

/* Two axes in each other's place. */
#define liana_op_swap_axes(x, a, b) liana_op_swap_axes_at(LIANA_HERE, x, a, b)
LIANA_API liana_tensor liana_op_swap_axes_at(liana_location here, liana_tensor x, int64_t a, int64_t b);

/* Tensors of one shape along a new axis; at most 256. */
#define liana_op_stack(tensors, count, axis) liana_op_stack_at(LIANA_HERE, tensors, count, axis)
LIANA_API liana_tensor liana_op_stack_at(liana_location here, const liana_tensor *tensors, size_t count, int64_t axis);

/* x in `count` parts of equal size along an axis. */
#define liana_op_split(x, count, axis, parts) liana_op_split_at(LIANA_HERE, x, count, axis, parts)
LIANA_API void liana_op_split_at(liana_location here, liana_tensor x, size_t count, int64_t axis, liana_tensor *parts);

/* Elements moved by `shift` along an axis; those beyond its end come in at its begin. */
#define liana_op_roll(x, shift, axis) liana_op_roll_at(LIANA_HERE, x, shift, axis)
LIANA_API liana_tensor liana_op_roll_at(liana_location here, liana_tensor x, int64_t shift, int64_t axis);

/* Backwards along these axes. */
#define liana_op_flip(x, axes) liana_op_flip_at(LIANA_HERE, x, axes)
LIANA_API liana_tensor liana_op_flip_at(liana_location here, liana_tensor x, liana_axes axes);

/* Each element `repeats` times, one after the other. */
#define liana_op_repeat(x, repeats, axis) liana_op_repeat_at(LIANA_HERE, x, repeats, axis)
LIANA_API liana_tensor liana_op_repeat_at(liana_location here, liana_tensor x, int64_t repeats, int64_t axis);

/* x several times, one copy after the other: repeats.dims[i] times along an axis, counted from the last; at most 256.
 * */
#define liana_op_tile(x, repeats) liana_op_tile_at(LIANA_HERE, x, repeats)
LIANA_API liana_tensor liana_op_tile_at(liana_location here, liana_tensor x, liana_shape repeats);

/* ---- tensors that follow a rule ---- */

/* One value everywhere. */
#define liana_op_full(graph, dtype, shape, value) liana_op_full_at(LIANA_HERE, graph, dtype, shape, value)
LIANA_API liana_tensor liana_op_full_at(liana_location here, liana_graph *graph, liana_dtype dtype, liana_shape shape,
                                        double value);

/* start, start + step, ... before stop. */
#define liana_op_arange(graph, dtype, start, stop, step) liana_op_arange_at(LIANA_HERE, graph, dtype, start, stop, step)
LIANA_API liana_tensor liana_op_arange_at(liana_location here, liana_graph *graph, liana_dtype dtype, double start,
                                          double stop, double step);

/* `count` numbers at equal distances from start on; the last one is stop if `has_end`. */
#define liana_op_linspace(graph, dtype, start, stop, count, has_end) \
    liana_op_linspace_at(LIANA_HERE, graph, dtype, start, stop, count, has_end)
LIANA_API liana_tensor liana_op_linspace_at(liana_location here, liana_graph *graph, liana_dtype dtype, double start,
                                            double stop, int64_t count, bool has_end);

/* Ones on a diagonal, 0 the main one, 1 the one above it; else zeros. */
#define liana_op_eye(graph, dtype, rows, columns, diagonal) \
    liana_op_eye_at(LIANA_HERE, graph, dtype, rows, columns, diagonal)
LIANA_API liana_tensor liana_op_eye_at(liana_location here, liana_graph *graph, liana_dtype dtype, int64_t rows,
                                       int64_t columns, int64_t diagonal);

/* Ones on a diagonal and below it, else zeros. */
#define liana_op_tri(graph, dtype, rows, columns, diagonal) \
    liana_op_tri_at(LIANA_HERE, graph, dtype, rows, columns, diagonal)
LIANA_API liana_tensor liana_op_tri_at(liana_location here, liana_graph *graph, liana_dtype dtype, int64_t rows,
                                       int64_t columns, int64_t diagonal);

/* x [.., rows, columns] with zeros above a diagonal. */
#define liana_op_tril(x, diagonal) liana_op_tril_at(LIANA_HERE, x, diagonal)
LIANA_API liana_tensor liana_op_tril_at(liana_location here, liana_tensor x, int64_t diagonal);

/* x [.., rows, columns] with zeros below a diagonal. */
#define liana_op_triu(x, diagonal) liana_op_triu_at(LIANA_HERE, x, diagonal)
LIANA_API liana_tensor liana_op_triu_at(liana_location here, liana_tensor x, int64_t diagonal);

/* [elements of a, elements of b]: all products. */
#define liana_op_outer(a, b) liana_op_outer_at(LIANA_HERE, a, b)
LIANA_API liana_tensor liana_op_outer_at(liana_location here, liana_tensor a, liana_tensor b);

/* The coordinates of a grid with axis i at x[i]: grids[i] has all axes, and changes along axis i (numpy's indexing
 * "ij"). */
#define liana_op_meshgrid(x, count, grids) liana_op_meshgrid_at(LIANA_HERE, x, count, grids)
LIANA_API void liana_op_meshgrid_at(liana_location here, const liana_tensor *x, size_t count, liana_tensor *grids);

#ifdef __cplusplus
}
#endif
#endif
