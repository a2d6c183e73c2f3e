/* lowering.h - the words of an op in StableHLO: one function for each kind of StableHLO op.
 *
 * An op's `lower` (ir/op.h) reads the values of its inputs, makes values of them, and gives the last one to its node:
 *
 *     liana__hlo x = liana__hlo_input(lowering, node, 0);
 *     return liana__hlo_give(lowering, node, liana__hlo_binary(lowering, "multiply", x, x));
 *
 * Each function appends one StableHLO op (or a few) in the generic form, which changes least between versions, and
 * returns its result. Shapes are those of the arguments, unless a parameter names the result's. Ops are named as in the
 * StableHLO specification. Shapes must fit: the callers' are checked already when a graph is built. This room knows no
 * op of liana. */
#ifndef LIANA_STABLEHLO_LOWERING_H
#define LIANA_STABLEHLO_LOWERING_H

#include "ir/op.h"

typedef struct liana__lowering liana__lowering;

/* A value of the program: the result of one StableHLO op, or an argument of the function. */
typedef struct liana__hlo {
    uint32_t id;
    liana_dtype dtype;
    liana_shape shape;
} liana__hlo;

/* The value of input `index`. */
liana__hlo liana__hlo_input(const liana__lowering *lowering, const liana__node *node, uint32_t index);
/* The value of the node itself, which must have its dtype and shape. Errors: INTERNAL if it has not. */
liana_status liana__hlo_give(liana__lowering *lowering, const liana__node *node, liana__hlo value) LIANA_MUST_USE;

/* Fails with OUT_OF_MEMORY. */
liana_status liana__hlo_fail_memory(liana__lowering *lowering);

/* The `lower` of ops that only passes of the CPU device make. A graph is written before those passes run, so no such
 * node is ever met. Errors: always UNIMPLEMENTED. */
liana_status liana__lower_cpu_only(liana__lowering *lowering, const liana__node *node);

/* ---- constants ---- */

/* One value everywhere; rounded as liana__store does. */
liana__hlo liana__hlo_fill(liana__lowering *lowering, liana_dtype dtype, liana_shape shape, double value);
/* The same for integers, which may not fit a double: the bits of a 64-bit integer. */
liana__hlo liana__hlo_fill_integer(liana__lowering *lowering, liana_dtype dtype, liana_shape shape, uint64_t value);
/* The elements at `data` in row-major order. */
liana__hlo liana__hlo_constant(liana__lowering *lowering, liana_dtype dtype, liana_shape shape, const void *data);

/* ---- element-wise ---- */

/* "exponential", "negate", ...: the result has the type of x. */
liana__hlo liana__hlo_unary(liana__lowering *lowering, const char *op, liana__hlo x);
/* bool: neither infinite nor NaN. */
liana__hlo liana__hlo_is_finite(liana__lowering *lowering, liana__hlo x);
/* "add", "maximum", ...: a and b have one dtype; shapes are broadcast as in numpy. */
liana__hlo liana__hlo_binary(liana__lowering *lowering, const char *op, liana__hlo a, liana__hlo b);
/* The same where b is one number. */
liana__hlo liana__hlo_binary_with(liana__lowering *lowering, const char *op, liana__hlo a, double b);
/* "EQ", "NE", "LT", "LE", "GT" or "GE"; shapes are broadcast. The result is bool. */
liana__hlo liana__hlo_compare(liana__lowering *lowering, const char *direction, liana__hlo a, liana__hlo b);
liana__hlo liana__hlo_compare_with(liana__lowering *lowering, const char *direction, liana__hlo a, double b);
/* a where the condition is true, else b; shapes are broadcast. */
liana__hlo liana__hlo_select(liana__lowering *lowering, liana__hlo condition, liana__hlo a, liana__hlo b);
/* min(max(x, low), high), where a NaN stays. */
liana__hlo liana__hlo_clamp(liana__lowering *lowering, liana__hlo x, double low, double high);
/* StableHLO's convert: a value that does not fit the new dtype is undefined. x itself if it has that dtype. */
liana__hlo liana__hlo_convert(liana__lowering *lowering, liana__hlo x, liana_dtype dtype);
/* bf16 as f32, in which several steps are computed before they are rounded once; anything else as it is. */
liana__hlo liana__hlo_widen(liana__lowering *lowering, liana__hlo x);

/* x with about two thirds of its digits. Its readers do not compute from the unrounded number, as a compiler would do
 * that computes a x b + c in one. */
liana__hlo liana__hlo_coarse(liana__lowering *lowering, liana__hlo x);
/* Integers of 8 and 32 bits as s64 (`is_signed`) or u64, in which a step cannot overflow; and back, clamped to the
 * range. 64 bits stay as they are, and wrap. So the results are those of liana's own loops. */
liana__hlo liana__hlo_widen_integer(liana__lowering *lowering, liana__hlo x, bool is_signed);
liana__hlo liana__hlo_narrow_integer(liana__lowering *lowering, liana__hlo x, liana_dtype dtype);

/* ---- shapes ---- */

liana__hlo liana__hlo_reshape(liana__lowering *lowering, liana__hlo x, liana_shape shape);
/* By numpy's rule: axes are counted from the last one. */
liana__hlo liana__hlo_broadcast(liana__lowering *lowering, liana__hlo x, liana_shape shape);
/* Axis i of x becomes axis axes[i] of the result. */
liana__hlo liana__hlo_broadcast_axes(liana__lowering *lowering, liana__hlo x, liana_shape shape, const int64_t *axes);
/* Axis i of the result is axis permutation[i] of x. */
liana__hlo liana__hlo_transpose(liana__lowering *lowering, liana__hlo x, const int64_t *permutation);
/* The axes that are named run backwards. */
liana__hlo liana__hlo_reverse(liana__lowering *lowering, liana__hlo x, const int64_t *axes, int count);
liana__hlo liana__hlo_slice(liana__lowering *lowering, liana__hlo x, const int64_t *start, const int64_t *limit,
                            const int64_t *strides);
/* Cells of `value` before, after and between the elements of each axis. Negative `low` and `high` take cells away. */
liana__hlo liana__hlo_pad(liana__lowering *lowering, liana__hlo x, double value, const int64_t *low,
                          const int64_t *high, const int64_t *interior);
liana__hlo liana__hlo_concatenate(liana__lowering *lowering, const liana__hlo *parts, size_t count, int axis);
/* Each element is its index along `axis`. */
liana__hlo liana__hlo_iota(liana__lowering *lowering, liana_dtype dtype, liana_shape shape, int axis);

/* The slices of x along `axis` at s32 indices, which are clamped to the range. `shape` is the result's: x's, with the
 * indices' axes in place of `axis`. */
liana__hlo liana__hlo_gather(liana__lowering *lowering, liana__hlo x, liana__hlo indices, int axis, liana_shape shape);
/* `base` with the updates added along `axis` at s32 indices, which are clamped to the range. The updates have the
 * indices' axes in place of `axis`. */
liana__hlo liana__hlo_scatter_add(liana__lowering *lowering, liana__hlo base, liana__hlo indices, liana__hlo updates,
                                  int axis);

/* ---- sums over axes and windows, products ---- */

/* How two elements become one. */
typedef enum liana__hlo_fold {
    LIANA__HLO_ADD,
    LIANA__HLO_MULTIPLY,
    LIANA__HLO_MAXIMUM,
    LIANA__HLO_MINIMUM,
} liana__hlo_fold;

/* The axes that are named disappear. */
liana__hlo liana__hlo_reduce(liana__lowering *lowering, liana__hlo_fold fold, liana__hlo x, const int64_t *axes,
                             int count);
/* The same with axes of size 1 in their places. */
liana__hlo liana__hlo_reduce_kept(liana__lowering *lowering, liana__hlo_fold fold, liana__hlo x, const int64_t *axes,
                                  int count);
/* Each window that lies in x as a whole; `window` and `strides` have one number for each axis. */
liana__hlo liana__hlo_reduce_window(liana__lowering *lowering, liana__hlo_fold fold, liana__hlo x,
                                    const int64_t *window, const int64_t *strides);
/* Zeros of x's type. Each element of `source` is added to the greatest element of its window in x: the first NaN, or
 * else the first of equals. */
liana__hlo liana__hlo_select_and_scatter(liana__lowering *lowering, liana__hlo x, liana__hlo source,
                                         const int64_t *window, const int64_t *strides);

/* The matrix product of the last two axes; the leading ones are of a batch. */
liana__hlo liana__hlo_matrix_product(liana__lowering *lowering, liana__hlo a, liana__hlo b, bool transpose_a,
                                     bool transpose_b, liana_dtype dtype);

/* The Fourier transform of pairs of real and imaginary parts, [.., n, 2], along the axis of n; an inverse one without a
 * factor. */
liana__hlo liana__hlo_fft(liana__lowering *lowering, liana__hlo x, bool inverse);

/* Whether the text is for XLA on CPUs, which does well with other forms than accelerators do. */
bool liana__hlo_is_for_cpus(const liana__lowering *lowering);

enum { LIANA__HLO_MOST_SPATIAL = 3 };

/* A convolution over two or three axes. */
typedef struct liana__hlo_convolution {
    /* The roles of the axes of x, kernel and result: b batch, f feature, i and o features in and out, 0, 1 and 2
     * spatial: "b01f", "01io", "b01f". */
    const char *x_axes, *kernel_axes, *result_axes;
    /* By spatial axis. */
    int64_t strides[LIANA__HLO_MOST_SPATIAL];
    int64_t x_dilations[LIANA__HLO_MOST_SPATIAL];
    int64_t kernel_dilations[LIANA__HLO_MOST_SPATIAL];
    int64_t padding[LIANA__HLO_MOST_SPATIAL][2]; /* low, high; may be negative */
    int64_t feature_groups;
    int64_t batch_groups;
    liana_dtype dtype; /* the result's */
    liana_shape shape; /* the result's */
} liana__hlo_convolution;
liana__hlo liana__hlo_convolve(liana__lowering *lowering, liana__hlo x, liana__hlo kernel,
                               const liana__hlo_convolution *convolution);

#endif
