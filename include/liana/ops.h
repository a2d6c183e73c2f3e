/* ops.h - ops: the functions that a graph is made of.
 *
 * Each function adds one node and returns its result. Errors stay with the graph (graph.h). Images are [batch, height,
 * width, channels]; convolution kernels are [height, width, channels in, channels out]: TensorFlow's NHWC and HWIO.
 * Tests check each op against finite differences and a plain loop. */
#ifndef LIANA_OPS_H
#define LIANA_OPS_H

#include <liana/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- element-wise ops of one input: any shape; float dtypes unless the op says otherwise ---- */

/* |x|; also for integers. */
#define liana_op_abs(x) liana_op_abs_at(LIANA_HERE, x)
LIANA_API liana_tensor liana_op_abs_at(liana_location here, liana_tensor x);

/* The least whole number >= x. */
#define liana_op_ceil(x) liana_op_ceil_at(LIANA_HERE, x)
LIANA_API liana_tensor liana_op_ceil_at(liana_location here, liana_tensor x);

/* Cosine; radians. */
#define liana_op_cos(x) liana_op_cos_at(LIANA_HERE, x)
LIANA_API liana_tensor liana_op_cos_at(liana_location here, liana_tensor x);

/* The error function. */
#define liana_op_erf(x) liana_op_erf_at(LIANA_HERE, x)
LIANA_API liana_tensor liana_op_erf_at(liana_location here, liana_tensor x);

/* e^x. */
#define liana_op_exp(x) liana_op_exp_at(LIANA_HERE, x)
LIANA_API liana_tensor liana_op_exp_at(liana_location here, liana_tensor x);

/* e^x - 1, accurate near 0. */
#define liana_op_expm1(x) liana_op_expm1_at(LIANA_HERE, x)
LIANA_API liana_tensor liana_op_expm1_at(liana_location here, liana_tensor x);

/* The greatest whole number <= x. */
#define liana_op_floor(x) liana_op_floor_at(LIANA_HERE, x)
LIANA_API liana_tensor liana_op_floor_at(liana_location here, liana_tensor x);

/* x (1 + erf(x / sqrt(2))) / 2 (Hendrycks and Gimpel 2016). */
#define liana_op_gelu(x) liana_op_gelu_at(LIANA_HERE, x)
LIANA_API liana_tensor liana_op_gelu_at(liana_location here, liana_tensor x);

/* Their approximation of it: x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2. */
#define liana_op_gelu_tanh(x) liana_op_gelu_tanh_at(LIANA_HERE, x)
LIANA_API liana_tensor liana_op_gelu_tanh_at(liana_location here, liana_tensor x);

/* bool: neither infinite nor NaN. */
#define liana_op_is_finite(x) liana_op_is_finite_at(LIANA_HERE, x)
LIANA_API liana_tensor liana_op_is_finite_at(liana_location here, liana_tensor x);

/* Natural logarithm. */
#define liana_op_log(x) liana_op_log_at(LIANA_HERE, x)
LIANA_API liana_tensor liana_op_log_at(liana_location here, liana_tensor x);

/* log(1 + x), accurate near 0. */
#define liana_op_log1p(x) liana_op_log1p_at(LIANA_HERE, x)
LIANA_API liana_tensor liana_op_log1p_at(liana_location here, liana_tensor x);

/* The sigmoid 1 / (1 + e^-x). */
#define liana_op_logistic(x) liana_op_logistic_at(LIANA_HERE, x)
LIANA_API liana_tensor liana_op_logistic_at(liana_location here, liana_tensor x);

/* bool: not x. */
#define liana_op_logical_not(x) liana_op_logical_not_at(LIANA_HERE, x)
LIANA_API liana_tensor liana_op_logical_not_at(liana_location here, liana_tensor x);

/* -x; also for signed integers. */
#define liana_op_negate(x) liana_op_negate_at(LIANA_HERE, x)
LIANA_API liana_tensor liana_op_negate_at(liana_location here, liana_tensor x);

/* max(x, 0). */
#define liana_op_relu(x) liana_op_relu_at(LIANA_HERE, x)
LIANA_API liana_tensor liana_op_relu_at(liana_location here, liana_tensor x);

/* min(max(x, 0), 6). */
#define liana_op_relu6(x) liana_op_relu6_at(LIANA_HERE, x)
LIANA_API liana_tensor liana_op_relu6_at(liana_location here, liana_tensor x);

/* The nearest whole number, ties to even. */
#define liana_op_round(x) liana_op_round_at(LIANA_HERE, x)
LIANA_API liana_tensor liana_op_round_at(liana_location here, liana_tensor x);

/* 1 / sqrt(x). */
#define liana_op_rsqrt(x) liana_op_rsqrt_at(LIANA_HERE, x)
LIANA_API liana_tensor liana_op_rsqrt_at(liana_location here, liana_tensor x);

/* -1, 0 or 1; also for signed integers. */
#define liana_op_sign(x) liana_op_sign_at(LIANA_HERE, x)
LIANA_API liana_tensor liana_op_sign_at(liana_location here, liana_tensor x);

/* Sine; radians. */
#define liana_op_sin(x) liana_op_sin_at(LIANA_HERE, x)
LIANA_API liana_tensor liana_op_sin_at(liana_location here, liana_tensor x);

/* Square root. */
#define liana_op_sqrt(x) liana_op_sqrt_at(LIANA_HERE, x)
LIANA_API liana_tensor liana_op_sqrt_at(liana_location here, liana_tensor x);

/* x * x; also for integers. */
#define liana_op_square(x) liana_op_square_at(LIANA_HERE, x)
LIANA_API liana_tensor liana_op_square_at(liana_location here, liana_tensor x);

/* x / (1 + e^-x). */
#define liana_op_swish(x) liana_op_swish_at(LIANA_HERE, x)
LIANA_API liana_tensor liana_op_swish_at(liana_location here, liana_tensor x);

/* Hyperbolic tangent. */
#define liana_op_tanh(x) liana_op_tanh_at(LIANA_HERE, x)
LIANA_API liana_tensor liana_op_tanh_at(liana_location here, liana_tensor x);

/* ---- element-wise ops of two inputs of one dtype; shapes are broadcast as in numpy ---- */

/* a + b. */
#define liana_op_add(a, b) liana_op_add_at(LIANA_HERE, a, b)
LIANA_API liana_tensor liana_op_add_at(liana_location here, liana_tensor a, liana_tensor b);

/* a - b. */
#define liana_op_subtract(a, b) liana_op_subtract_at(LIANA_HERE, a, b)
LIANA_API liana_tensor liana_op_subtract_at(liana_location here, liana_tensor a, liana_tensor b);

/* a * b. */
#define liana_op_multiply(a, b) liana_op_multiply_at(LIANA_HERE, a, b)
LIANA_API liana_tensor liana_op_multiply_at(liana_location here, liana_tensor a, liana_tensor b);

/* a / b. Integers are truncated towards zero, and x / 0 is 0. */
#define liana_op_divide(a, b) liana_op_divide_at(LIANA_HERE, a, b)
LIANA_API liana_tensor liana_op_divide_at(liana_location here, liana_tensor a, liana_tensor b);

/* The maximum; NaN if either is NaN. */
#define liana_op_maximum(a, b) liana_op_maximum_at(LIANA_HERE, a, b)
LIANA_API liana_tensor liana_op_maximum_at(liana_location here, liana_tensor a, liana_tensor b);

/* The minimum; NaN if either is NaN. */
#define liana_op_minimum(a, b) liana_op_minimum_at(LIANA_HERE, a, b)
LIANA_API liana_tensor liana_op_minimum_at(liana_location here, liana_tensor a, liana_tensor b);

/* a^b; for floats. */
#define liana_op_power(a, b) liana_op_power_at(LIANA_HERE, a, b)
LIANA_API liana_tensor liana_op_power_at(liana_location here, liana_tensor a, liana_tensor b);

/* The angle of the point (b, a) from the first axis, from -pi to pi; for floats. */
#define liana_op_atan2(a, b) liana_op_atan2_at(LIANA_HERE, a, b)
LIANA_API liana_tensor liana_op_atan2_at(liana_location here, liana_tensor a, liana_tensor b);

/* bool: a == b. */
#define liana_op_equal(a, b) liana_op_equal_at(LIANA_HERE, a, b)
LIANA_API liana_tensor liana_op_equal_at(liana_location here, liana_tensor a, liana_tensor b);

/* bool: a != b. */
#define liana_op_not_equal(a, b) liana_op_not_equal_at(LIANA_HERE, a, b)
LIANA_API liana_tensor liana_op_not_equal_at(liana_location here, liana_tensor a, liana_tensor b);

/* bool: a < b. */
#define liana_op_less(a, b) liana_op_less_at(LIANA_HERE, a, b)
LIANA_API liana_tensor liana_op_less_at(liana_location here, liana_tensor a, liana_tensor b);

/* bool: a <= b. */
#define liana_op_less_equal(a, b) liana_op_less_equal_at(LIANA_HERE, a, b)
LIANA_API liana_tensor liana_op_less_equal_at(liana_location here, liana_tensor a, liana_tensor b);

/* bool: a > b. */
#define liana_op_greater(a, b) liana_op_greater_at(LIANA_HERE, a, b)
LIANA_API liana_tensor liana_op_greater_at(liana_location here, liana_tensor a, liana_tensor b);

/* bool: a >= b. */
#define liana_op_greater_equal(a, b) liana_op_greater_equal_at(LIANA_HERE, a, b)
LIANA_API liana_tensor liana_op_greater_equal_at(liana_location here, liana_tensor a, liana_tensor b);

/* bool: a and b. */
#define liana_op_logical_and(a, b) liana_op_logical_and_at(LIANA_HERE, a, b)
LIANA_API liana_tensor liana_op_logical_and_at(liana_location here, liana_tensor a, liana_tensor b);

/* bool: a or b. */
#define liana_op_logical_or(a, b) liana_op_logical_or_at(LIANA_HERE, a, b)
LIANA_API liana_tensor liana_op_logical_or_at(liana_location here, liana_tensor a, liana_tensor b);

/* bool: a exclusive-or b. */
#define liana_op_logical_xor(a, b) liana_op_logical_xor_at(LIANA_HERE, a, b)
LIANA_API liana_tensor liana_op_logical_xor_at(liana_location here, liana_tensor a, liana_tensor b);

/* ---- other element-wise ops ---- */

/* `a` where `condition` (bool) is true, else `b`; broadcast as in numpy. */
#define liana_op_select(condition, a, b) liana_op_select_at(LIANA_HERE, condition, a, b)
LIANA_API liana_tensor liana_op_select_at(liana_location here, liana_tensor condition, liana_tensor a, liana_tensor b);

/* min(max(x, low), high); the gradient is 0 outside [low, high]. */
#define liana_op_clip(x, low, high) liana_op_clip_at(LIANA_HERE, x, low, high)
LIANA_API liana_tensor liana_op_clip_at(liana_location here, liana_tensor x, double low, double high);

/* Converts to another dtype. Floats become integers by truncation, clamped to the range. Any nonzero value becomes
 * true. The gradient passes between float dtypes, and stops at others. */
#define liana_op_cast(x, dtype) liana_op_cast_at(LIANA_HERE, x, dtype)
LIANA_API liana_tensor liana_op_cast_at(liana_location here, liana_tensor x, liana_dtype dtype);

/* x itself, which gradients take for a constant: none flows to x on this way (Keras's ops.stop_gradient). Any dtype. */
#define liana_op_stop_gradient(x) liana_op_stop_gradient_at(LIANA_HERE, x)
LIANA_API liana_tensor liana_op_stop_gradient_at(liana_location here, liana_tensor x);

/* `value`, whose gradient also goes to `path`, as if it were value + path - stop_gradient(path): the straight-through
 * estimator of Bengio, Leonard and Courville (2013). straight_through(stop_gradient(round(x)), x) rounds, and has the
 * gradient of x. Both have one shape and dtype. */
#define liana_op_straight_through(value, path) liana_op_straight_through_at(LIANA_HERE, value, path)
LIANA_API liana_tensor liana_op_straight_through_at(liana_location here, liana_tensor value, liana_tensor path);

/* ---- reductions over axes (negative ones count from the end; LIANA_ALL_AXES for all) ---- */

/* Sum. The reduced axes are removed, or kept with size 1 if `keep_dims`. */
#define liana_op_reduce_sum(x, axes, keep_dims) liana_op_reduce_sum_at(LIANA_HERE, x, axes, keep_dims)
LIANA_API liana_tensor liana_op_reduce_sum_at(liana_location here, liana_tensor x, liana_axes axes, bool keep_dims);

/* Arithmetic mean; for floats. */
#define liana_op_reduce_mean(x, axes, keep_dims) liana_op_reduce_mean_at(LIANA_HERE, x, axes, keep_dims)
LIANA_API liana_tensor liana_op_reduce_mean_at(liana_location here, liana_tensor x, liana_axes axes, bool keep_dims);

/* Maximum. Equal elements share the gradient equally, as in TensorFlow. */
#define liana_op_reduce_max(x, axes, keep_dims) liana_op_reduce_max_at(LIANA_HERE, x, axes, keep_dims)
LIANA_API liana_tensor liana_op_reduce_max_at(liana_location here, liana_tensor x, liana_axes axes, bool keep_dims);

/* Minimum; gradient as for reduce_max. */
#define liana_op_reduce_min(x, axes, keep_dims) liana_op_reduce_min_at(LIANA_HERE, x, axes, keep_dims)
LIANA_API liana_tensor liana_op_reduce_min_at(liana_location here, liana_tensor x, liana_axes axes, bool keep_dims);

/* Product. The gradient is product / element: correct only if no element is 0. */
#define liana_op_reduce_prod(x, axes, keep_dims) liana_op_reduce_prod_at(LIANA_HERE, x, axes, keep_dims)
LIANA_API liana_tensor liana_op_reduce_prod_at(liana_location here, liana_tensor x, liana_axes axes, bool keep_dims);

/* s32: the index of the maximum along an axis, the first of equals. The axis is removed. */
#define liana_op_argmax(x, axis) liana_op_argmax_at(LIANA_HERE, x, axis)
LIANA_API liana_tensor liana_op_argmax_at(liana_location here, liana_tensor x, int64_t axis);

/* s32, x's shape: the indices that order the elements along an axis, the least first, or the greatest if `descending`.
 * Equal elements stay in their order; NaN stands last. `count`: only the first so many are given; 0: all. */
#define liana_op_argsort(x, axis, descending, count) liana_op_argsort_at(LIANA_HERE, x, axis, descending, count)
LIANA_API liana_tensor liana_op_argsort_at(liana_location here, liana_tensor x, int64_t axis, bool descending,
                                           int64_t count);

/* The discrete Fourier transform of complex numbers, which are pairs of a real and an imaginary part: [.., n, 2] along
 * the axis of n, sum_j x_j e^(-2 pi i j k / n). `inverse`: e^(2 pi i j k / n), without a factor. */
#define liana_op_fft(x, inverse) liana_op_fft_at(LIANA_HERE, x, inverse)
LIANA_API liana_tensor liana_op_fft_at(liana_location here, liana_tensor x, bool inverse);

/* The sum of the elements up to each along an axis; `reverse`: from the last on; `exclusive`: without its own. Any
 * numbers. */
#define liana_op_cumsum(x, axis, reverse, exclusive) liana_op_cumsum_at(LIANA_HERE, x, axis, reverse, exclusive)
LIANA_API liana_tensor liana_op_cumsum_at(liana_location here, liana_tensor x, int64_t axis, bool reverse,
                                          bool exclusive);

/* The same with products. The gradient divides by the elements, as TensorFlow's: correct only if none is 0. */
#define liana_op_cumprod(x, axis, reverse, exclusive) liana_op_cumprod_at(LIANA_HERE, x, axis, reverse, exclusive)
LIANA_API liana_tensor liana_op_cumprod_at(liana_location here, liana_tensor x, int64_t axis, bool reverse,
                                           bool exclusive);

/* bool [batch]: whether predictions[i, targets[i]] is among the k largest. predictions [batch, classes], targets s32
 * [batch]. As TensorFlow's in_top_k: ties count in favour; false for a target out of range or a non-finite
 * prediction. */
#define liana_op_in_top_k(predictions, targets, k) liana_op_in_top_k_at(LIANA_HERE, predictions, targets, k)
LIANA_API liana_tensor liana_op_in_top_k_at(liana_location here, liana_tensor predictions, liana_tensor targets,
                                            int64_t k);

/* ---- linear algebra and convolution ---- */

/* Matrix product of the last two axes; leading axes (if any) must be equal. [.., m, k] x [.., k, n] -> [.., m, n],
 * after the transpositions. For floats. */
#define liana_op_matmul(a, b, transpose_a, transpose_b) liana_op_matmul_at(LIANA_HERE, a, b, transpose_a, transpose_b)
LIANA_API liana_tensor liana_op_matmul_at(liana_location here, liana_tensor a, liana_tensor b, bool transpose_a,
                                          bool transpose_b);

typedef enum liana_padding {
    LIANA_PADDING_VALID,
    LIANA_PADDING_SAME,   /* TensorFlow's: output = ceil(input / stride); an odd cell of padding is at the bottom and
                         * right */
    LIANA_PADDING_CAUSAL, /* all of it before the first element, so that no output sees a later input */
    LIANA_PADDING_EXPLICIT,
} liana_padding;

/* Options of convolutions. Zeros are the defaults: stride 1, dilation 1, one group. The ops take them as written here:
 * liana_op_conv2d(x, kernel, (liana_conv_options){.strides = {2, 2}, .padding = LIANA_PADDING_SAME}). */
typedef struct liana_conv_options {
    int64_t strides[2]; /* vertical, horizontal */
    liana_padding padding;
    int64_t explicit_padding[4]; /* top, bottom, left, right; for LIANA_PADDING_EXPLICIT */
    int64_t dilations[2];
    int64_t groups;
} liana_conv_options;

/* Convolution (mathematically a cross-correlation). x [batch, height, width, channels], kernel [height, width, channels
 * / groups, filters] -> [batch, height', width', filters]. For floats. */
#define liana_op_conv2d(x, kernel, ...) liana_op_conv2d_at(LIANA_HERE, x, kernel, __VA_ARGS__)
LIANA_API liana_tensor liana_op_conv2d_at(liana_location here, liana_tensor x, liana_tensor kernel,
                                          liana_conv_options options);

/* The transposed convolution: x [batch, height', width', filters] is taken for the result of liana_op_conv2d of images
 * [batch, size[0], size[1], channels] with these options, and the result has their shape. It is the gradient of that
 * convolution with respect to its images. Kernel [height, width, channels / groups, filters]. Errors: INVALID_ARGUMENT
 * if the convolution of such images gives another shape. */
#define liana_op_conv2d_transpose(x, kernel, size, ...) \
    liana_op_conv2d_transpose_at(LIANA_HERE, x, kernel, size, __VA_ARGS__)
LIANA_API liana_tensor liana_op_conv2d_transpose_at(liana_location here, liana_tensor x, liana_tensor kernel,
                                                    const int64_t size[2], liana_conv_options options);

/* Options of convolutions of sequences; zeros are the defaults, as above. */
typedef struct liana_conv_options_1d {
    int64_t stride;
    liana_padding padding;
    int64_t explicit_padding[2]; /* before, after; for LIANA_PADDING_EXPLICIT */
    int64_t dilation;
    int64_t groups;
} liana_conv_options_1d;

/* x [batch, steps, channels], kernel [steps, channels / groups, filters] -> [batch, steps', filters]. */
#define liana_op_conv1d(x, kernel, ...) liana_op_conv1d_at(LIANA_HERE, x, kernel, __VA_ARGS__)
LIANA_API liana_tensor liana_op_conv1d_at(liana_location here, liana_tensor x, liana_tensor kernel,
                                          liana_conv_options_1d options);

/* Options of convolutions of volumes; zeros are the defaults, as above. Numbers are for depth, height, width. */
typedef struct liana_conv_options_3d {
    int64_t strides[3];
    liana_padding padding;
    int64_t explicit_padding[6]; /* front, back, top, bottom, left, right; for LIANA_PADDING_EXPLICIT */
    int64_t dilations[3];
    int64_t groups;
} liana_conv_options_3d;

/* x [batch, depth, height, width, channels], kernel [depth, height, width, channels / groups, filters] -> [batch,
 * depth', height', width', filters]. */
#define liana_op_conv3d(x, kernel, ...) liana_op_conv3d_at(LIANA_HERE, x, kernel, __VA_ARGS__)
LIANA_API liana_tensor liana_op_conv3d_at(liana_location here, liana_tensor x, liana_tensor kernel,
                                          liana_conv_options_3d options);

/* The transposed convolution of volumes, as liana_op_conv2d_transpose. */
#define liana_op_conv3d_transpose(x, kernel, size, ...) \
    liana_op_conv3d_transpose_at(LIANA_HERE, x, kernel, size, __VA_ARGS__)
LIANA_API liana_tensor liana_op_conv3d_transpose_at(liana_location here, liana_tensor x, liana_tensor kernel,
                                                    const int64_t size[3], liana_conv_options_3d options);

/* One convolution for each channel: x [batch, height, width, channels], kernel [height, width, channels, multiplier] ->
 * [batch, height', width', channels * multiplier]. The results of channel c begin at c * multiplier. `groups` must be 0
 * or 1. */
#define liana_op_depthwise_conv2d(x, kernel, ...) liana_op_depthwise_conv2d_at(LIANA_HERE, x, kernel, __VA_ARGS__)
LIANA_API liana_tensor liana_op_depthwise_conv2d_at(liana_location here, liana_tensor x, liana_tensor kernel,
                                                    liana_conv_options options);

/* Options of pooling. Strides of 0 are the defaults: equal to the window. */
typedef struct liana_pool_options {
    int64_t window[2]; /* height, width */
    int64_t strides[2];
    liana_padding padding;
    int64_t explicit_padding[4];
} liana_pool_options;

/* The maximum of each window of x [batch, height, width, channels], without the padding. The gradient goes to the first
 * maximum in row-major order. */
#define liana_op_max_pool2d(x, ...) liana_op_max_pool2d_at(LIANA_HERE, x, __VA_ARGS__)
LIANA_API liana_tensor liana_op_max_pool2d_at(liana_location here, liana_tensor x, liana_pool_options options);

/* The mean of each window, without the padding (as in TensorFlow). */
#define liana_op_average_pool2d(x, ...) liana_op_average_pool2d_at(LIANA_HERE, x, __VA_ARGS__)
LIANA_API liana_tensor liana_op_average_pool2d_at(liana_location here, liana_tensor x, liana_pool_options options);

/* Options of pooling of volumes: numbers for depth, height, width. Strides of 0 are the window. */
typedef struct liana_pool_options_3d {
    int64_t window[3];
    int64_t strides[3];
    liana_padding padding; /* LIANA_PADDING_VALID or LIANA_PADDING_SAME */
} liana_pool_options_3d;

/* The maximum or the mean of each window of x [batch, depth, height, width, channels], without the padding. The
 * maximum's gradient goes to the first one in row-major order. */
#define liana_op_max_pool3d(x, ...) liana_op_max_pool3d_at(LIANA_HERE, x, __VA_ARGS__)
LIANA_API liana_tensor liana_op_max_pool3d_at(liana_location here, liana_tensor x, liana_pool_options_3d options);
#define liana_op_average_pool3d(x, ...) liana_op_average_pool3d_at(LIANA_HERE, x, __VA_ARGS__)
LIANA_API liana_tensor liana_op_average_pool3d_at(liana_location here, liana_tensor x, liana_pool_options_3d options);

/* ---- normalisation and regularisation ---- */

/* [2, channels], f32 or f64: mean and (population) variance of each channel (last axis) over all other axes. They stay
 * accurate when the mean is far larger than the deviation. */
#define liana_op_batch_norm_statistics(x) liana_op_batch_norm_statistics_at(LIANA_HERE, x)
LIANA_API liana_tensor liana_op_batch_norm_statistics_at(liana_location here, liana_tensor x);

/* gamma * (x - mean) / sqrt(variance + epsilon) + beta, for each channel (last axis); gamma and beta [channels] (Ioffe
 * and Szegedy 2015). `statistics` must be liana_op_batch_norm_statistics(x) of the same x. The gradient of x includes
 * the path through the statistics; no gradient flows into `statistics` itself. */
#define liana_op_batch_norm_training(x, gamma, beta, statistics, epsilon) \
    liana_op_batch_norm_training_at(LIANA_HERE, x, gamma, beta, statistics, epsilon)
LIANA_API liana_tensor liana_op_batch_norm_training_at(liana_location here, liana_tensor x, liana_tensor gamma,
                                                       liana_tensor beta, liana_tensor statistics, double epsilon);

/* The same with given mean and variance [channels]. Gradients flow to them too. */
#define liana_op_batch_norm_inference(x, gamma, beta, mean, variance, epsilon) \
    liana_op_batch_norm_inference_at(LIANA_HERE, x, gamma, beta, mean, variance, epsilon)
LIANA_API liana_tensor liana_op_batch_norm_inference_at(liana_location here, liana_tensor x, liana_tensor gamma,
                                                        liana_tensor beta, liana_tensor mean, liana_tensor variance,
                                                        double epsilon);

/* gamma * (x - mean) / sqrt(variance + epsilon) + beta, with mean and (population) variance over the last axis of x
 * [.., n] (Ba et al. 2016). gamma and beta [n], f32 or f64; beta may be (liana_tensor){0}: none. */
#define liana_op_layer_norm(x, gamma, beta, epsilon) liana_op_layer_norm_at(LIANA_HERE, x, gamma, beta, epsilon)
LIANA_API liana_tensor liana_op_layer_norm_at(liana_location here, liana_tensor x, liana_tensor gamma,
                                              liana_tensor beta, double epsilon);

/* gamma * x / sqrt(mean(x^2) + epsilon), with the mean over the last axis (Zhang and Sennrich 2019). */
#define liana_op_rms_norm(x, gamma, epsilon) liana_op_rms_norm_at(LIANA_HERE, x, gamma, epsilon)
LIANA_API liana_tensor liana_op_rms_norm_at(liana_location here, liana_tensor x, liana_tensor gamma, double epsilon);

/* x / (1 - rate) with probability 1 - rate, else 0, drawn for each element (Srivastava et al. 2014, inverted). 0 <=
 * rate < 1. A draw depends on `seed`, `salt` (which layer), `positions` (u64 [batch], the example's place in the run)
 * and the element's index within its example. It never depends on the batch or the shard. */
#define liana_op_dropout(x, positions, rate, seed, salt) liana_op_dropout_at(LIANA_HERE, x, positions, rate, seed, salt)
LIANA_API liana_tensor liana_op_dropout_at(liana_location here, liana_tensor x, liana_tensor positions, double rate,
                                           uint64_t seed, uint32_t salt);

/* ---- random numbers: [batch, example's axes], drawn as those of dropout ----
 *
 * A draw depends on `seed`, `salt` (which draw of the program), `positions` (u64 [batch], the example's place in the
 * run) and the element's index within its example, and never on the batch or the shard. Each is made of one 32-bit word
 * of Philox, the same on every device. `dtype` is a float; `example` is the shape of one example, [] for a number. */

/* Multiples of (high - low) / 2^24, from `low` on; `high` itself only where rounding gives it (Keras's
 * random.uniform). */
#define liana_op_random_uniform(positions, dtype, example, low, high, seed, salt) \
    liana_op_random_uniform_at(LIANA_HERE, positions, dtype, example, low, high, seed, salt)
LIANA_API liana_tensor liana_op_random_uniform_at(liana_location here, liana_tensor positions, liana_dtype dtype,
                                                  liana_shape example, double low, double high, uint64_t seed,
                                                  uint32_t salt);

/* Normally distributed numbers with this mean and standard deviation; none is further than 5.5 deviations from the
 * mean (Keras's random.normal). */
#define liana_op_random_normal(positions, dtype, example, mean, deviation, seed, salt) \
    liana_op_random_normal_at(LIANA_HERE, positions, dtype, example, mean, deviation, seed, salt)
LIANA_API liana_tensor liana_op_random_normal_at(liana_location here, liana_tensor positions, liana_dtype dtype,
                                                 liana_shape example, double mean, double deviation, uint64_t seed,
                                                 uint32_t salt);

/* s32 [batch, samples]: classes, drawn with the probabilities softmax(logits); logits [batch, classes] (Keras's
 * random.categorical). */
#define liana_op_random_categorical(logits, positions, samples, seed, salt) \
    liana_op_random_categorical_at(LIANA_HERE, logits, positions, samples, seed, salt)
LIANA_API liana_tensor liana_op_random_categorical_at(liana_location here, liana_tensor logits, liana_tensor positions,
                                                      int64_t samples, uint64_t seed, uint32_t salt);

/* ---- classification ---- */

/* Softmax over the last axis. */
#define liana_op_softmax(x) liana_op_softmax_at(LIANA_HERE, x)
LIANA_API liana_tensor liana_op_softmax_at(liana_location here, liana_tensor x);

/* log(softmax(x)), accurate for large differences. */
#define liana_op_log_softmax(x) liana_op_log_softmax_at(LIANA_HERE, x)
LIANA_API liana_tensor liana_op_log_softmax_at(liana_location here, liana_tensor x);

/* [batch]: -log softmax(logits)[label], for logits [batch, classes] and labels s32 [batch]. A label outside [0,
 * classes) gives NaN; liana's input pipeline refuses such labels earlier. */
#define liana_op_sparse_softmax_cross_entropy(logits, labels) \
    liana_op_sparse_softmax_cross_entropy_at(LIANA_HERE, logits, labels)
LIANA_API liana_tensor liana_op_sparse_softmax_cross_entropy_at(liana_location here, liana_tensor logits,
                                                                liana_tensor labels);

/* ---- shape and order ---- */

/* The same elements in row-major order; one dimension may be -1. */
#define liana_op_reshape(x, shape) liana_op_reshape_at(LIANA_HERE, x, shape)
LIANA_API liana_tensor liana_op_reshape_at(liana_location here, liana_tensor x, liana_shape shape);

/* Result axis i is x's axis permutation[i]. */
#define liana_op_transpose(x, permutation) liana_op_transpose_at(LIANA_HERE, x, permutation)
LIANA_API liana_tensor liana_op_transpose_at(liana_location here, liana_tensor x, liana_axes permutation);

/* Repeats x to a larger shape, by numpy's rule. */
#define liana_op_broadcast_to(x, shape) liana_op_broadcast_to_at(LIANA_HERE, x, shape)
LIANA_API liana_tensor liana_op_broadcast_to_at(liana_location here, liana_tensor x, liana_shape shape);

/* Adds low[i] cells of `value` before axis i, and high[i] after it. Both are >= 0; there is one number for each
 * axis. */
#define liana_op_pad(x, low, high, value) liana_op_pad_at(LIANA_HERE, x, low, high, value)
LIANA_API liana_tensor liana_op_pad_at(liana_location here, liana_tensor x, const int64_t *low, const int64_t *high,
                                       double value);

/* The elements start[i], start[i] + strides[i], ... below limit[i] of each axis i. `strides` may be NULL: all 1. */
#define liana_op_slice(x, start, limit, strides) liana_op_slice_at(LIANA_HERE, x, start, limit, strides)
LIANA_API liana_tensor liana_op_slice_at(liana_location here, liana_tensor x, const int64_t *start,
                                         const int64_t *limit, const int64_t *strides);

/* Tensors one after the other along `axis`. All other dimensions must be equal. */
#define liana_op_concat(tensors, count, axis) liana_op_concat_at(LIANA_HERE, tensors, count, axis)
LIANA_API liana_tensor liana_op_concat_at(liana_location here, const liana_tensor *tensors, size_t count, int64_t axis);

/* The slices of x along `axis` at indices (s32, any shape). The axes of `indices` take the place of that axis. Indices
 * are clamped to the range (as in StableHLO). */
#define liana_op_gather(x, indices, axis) liana_op_gather_at(LIANA_HERE, x, indices, axis)
LIANA_API liana_tensor liana_op_gather_at(liana_location here, liana_tensor x, liana_tensor indices, int64_t axis);

/* [.., depth]: 1 where the last index equals indices (s32, [..]), else 0. An index out of range gives all 0. */
#define liana_op_one_hot(indices, depth, dtype) liana_op_one_hot_at(LIANA_HERE, indices, depth, dtype)
LIANA_API liana_tensor liana_op_one_hot_at(liana_location here, liana_tensor indices, int64_t depth, liana_dtype dtype);

/* Each element is its index along `axis`. */
#define liana_op_iota(graph, dtype, shape, axis) liana_op_iota_at(LIANA_HERE, graph, dtype, shape, axis)
LIANA_API liana_tensor liana_op_iota_at(liana_location here, liana_graph *graph, liana_dtype dtype, liana_shape shape,
                                        int64_t axis);

/* ---- parts of tensors, written as numpy writes them ---- */

/* numpy's x[text]: liana_index(x, "1:-1, ::2, None"). Between commas stand, one for each axis from the first:
 *
 *     3, -1         one element, from the end if negative; the axis is removed
 *     begin:end:step  a range; each part may be left out, negative ones count from the end, a negative step goes
 *                     backwards. As in numpy, a range is cut to the axis
 *     None, newaxis  a new axis of size 1
 *     ...            as many whole axes as are left over; once
 *
 * Axes behind the last one that is named are whole. Gradients flow to x. Errors: INVALID_ARGUMENT with the text, the
 * place in it and the axis: text that cannot be read, too many axes, an element beyond the axis, a step of 0, and a
 * range without elements (liana has no empty tensors). */
#define liana_index(x, text) liana_index_at(LIANA_HERE, x, text)
LIANA_API liana_tensor liana_index_at(liana_location here, liana_tensor x, const char *text);

/* The slices of x at positions. `indices` is s32 [.., n], with n from 1 to the rank of x: each row of it is a position
 * in the first n axes of x. The result is [.., the other axes of x]: TensorFlow's gather_nd. Positions are clamped to
 * the axes, as in liana_op_gather. Gradients flow to x. Errors: INVALID_ARGUMENT (dtype, rank, n; more than 2^31 - 1
 * positions). */
#define liana_gather_nd(x, indices) liana_gather_nd_at(LIANA_HERE, x, indices)
LIANA_API liana_tensor liana_gather_nd_at(liana_location here, liana_tensor x, liana_tensor indices);

/* x[.., indices[.., i, ..], ..] for each element i along `axis`: numpy's take_along_axis. `indices` is s32 and has x's
 * shape but for the axis; they are clamped to the axis. Gradients flow to x. */
#define liana_take_along_axis(x, indices, axis) liana_take_along_axis_at(LIANA_HERE, x, indices, axis)
LIANA_API liana_tensor liana_take_along_axis_at(liana_location here, liana_tensor x, liana_tensor indices,
                                                int64_t axis);

/* The Fourier transform of real numbers along the last axis, of which `length` are taken (more are zeros; 0: all): bins
 * 0 to length / 2 as pairs [.., length / 2 + 1, 2]. */
#define liana_rfft(x, length) liana_rfft_at(LIANA_HERE, x, length)
LIANA_API liana_tensor liana_rfft_at(liana_location here, liana_tensor x, int64_t length);
/* Back: [.., length / 2 + 1, 2] to [.., length]. `length` 0: the even one. */
#define liana_irfft(x, length) liana_irfft_at(LIANA_HERE, x, length)
LIANA_API liana_tensor liana_irfft_at(liana_location here, liana_tensor x, int64_t length);

/* The elements in the order of liana_op_argsort. Gradients flow to x. */
#define liana_sort(x, axis, descending) liana_sort_at(LIANA_HERE, x, axis, descending)
LIANA_API liana_tensor liana_sort_at(liana_location here, liana_tensor x, int64_t axis, bool descending);

/* The k greatest along the last axis, the greatest first; *indices (or NULL) are their places, s32. Gradients flow to
 * x. */
#define liana_top_k(x, k, indices) liana_top_k_at(LIANA_HERE, x, k, indices)
LIANA_API liana_tensor liana_top_k_at(liana_location here, liana_tensor x, int64_t k, liana_tensor *indices);

/* numpy's einsum: liana_einsum("bqhd,bkhd->bhqk", (liana_tensor[]){queries, keys}, 2). Letters name axes; axes of one
 * letter have one size; axes that the result does not have are summed. "..." stands for all axes that have no letter,
 * which are broadcast. A letter that an operand has twice takes the diagonal. Without "->" the result has the axes of
 * "...", then the letters that occur once, in the order of ASCII. Products of more than two operands are made from the
 * left. Orders of axes are chosen so that little is moved: products of matrices read transposed operands as they are.
 * Gradients flow to all operands. Errors: INVALID_ARGUMENT with the equation: text that cannot be read, other numbers
 * of operands or axes, different sizes, a letter of the result that no operand has. */
#define liana_einsum(equation, tensors, count) liana_einsum_at(LIANA_HERE, equation, tensors, count)
LIANA_API liana_tensor liana_einsum_at(liana_location here, const char *equation, const liana_tensor *tensors,
                                       size_t count);

#ifdef __cplusplus
}
#endif
#endif
