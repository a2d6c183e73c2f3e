/* For the ops, which write themselves: sums over axes and windows, products, convolutions. */
#include "stablehlo/lowering.h"

#include "stablehlo/lowering_internal.h"

#include <math.h>
#include <string.h>

/* ---- folds ---- */

static const char *const fold_names[] = {
    [LIANA__HLO_ADD] = "add",
    [LIANA__HLO_MULTIPLY] = "multiply",
    [LIANA__HLO_MAXIMUM] = "maximum",
    [LIANA__HLO_MINIMUM] = "minimum",
};

/* The value that changes nothing: for integers the least or greatest one, to which liana__store clamps. */
static liana__hlo neutral(liana__lowering *l, liana__hlo_fold fold, liana_dtype dtype)
{
    static const double values[] = {
        [LIANA__HLO_ADD] = 0,
        [LIANA__HLO_MULTIPLY] = 1,
        [LIANA__HLO_MAXIMUM] = -INFINITY,
        [LIANA__HLO_MINIMUM] = INFINITY,
    };
    bool is_wide = dtype == LIANA_S64 || dtype == LIANA_U64;
    if (is_wide && fold == LIANA__HLO_MINIMUM) {
        return liana__hlo_fill_integer(l, dtype, LIANA_SCALAR, dtype == LIANA_S64 ? (uint64_t)INT64_MAX : UINT64_MAX);
    }
    if (dtype == LIANA_BOOL) return liana__hlo_fill(l, dtype, LIANA_SCALAR, fold == LIANA__HLO_MINIMUM);
    return liana__hlo_fill(l, dtype, LIANA_SCALAR, values[fold]);
}

static liana__hlo reduce_axes(liana__lowering *l, liana__hlo_fold fold, liana__hlo x, const int64_t *axes, int count)
{
    liana__hlo operands[] = {x, neutral(l, fold, x.dtype)};
    liana__hlo_op op = liana__hlo_begin(l, "reduce", operands, 2);
    liana__hlo_fold_region(l, &op, x.dtype, fold_names[fold]);
    liana__text attributes = {0};
    liana__hlo_add_array(&attributes, "dimensions", axes, count);
    bool reduced[LIANA_MAX_RANK] = {false};
    for (int i = 0; i < count; i++) reduced[axes[i]] = true;
    liana_shape shape = LIANA_SCALAR;
    for (int i = 0; i < x.shape.rank; i++) {
        if (!reduced[i]) shape.dims[shape.rank++] = x.shape.dims[i];
    }
    return liana__hlo_end(l, &op, x.dtype, shape, &attributes);
}

/* XLA's compiler for CPUs turns a fold over an axis of more elements than this into a tree of windows, which it fuses
 * with nothing, where it is not told otherwise (compile_options.h). Each is a step more to compile, and to put in order
 * when a program is loaded. */
enum { UNDIVIDED = 32 };
/* The most elements that are added one after the other where axes are split, for the sake of the sum's last digits. */
enum { ONE_BY_ONE = 8192 };

/* Appends an axis as several that are short enough. Returns false if there are none. */
static bool split_axis(int64_t size, liana_shape *shape)
{
    while (size > UNDIVIDED) {
        int64_t factor = UNDIVIDED;
        while (size % factor != 0) factor--;
        if (factor == 1 || shape->rank == LIANA_MAX_RANK) return false;
        shape->dims[shape->rank++] = factor;
        size /= factor;
    }
    if (shape->rank == LIANA_MAX_RANK) return false;
    shape->dims[shape->rank++] = size;
    return true;
}

/* Splits long axes of those that are folded, which `folded` marks before and after. Returns false if one of them is too
 * long and cannot be split, or if all are short. */
static bool split_axes(const liana_shape *x, bool folded[LIANA_MAX_RANK], liana_shape *shape)
{
    bool after[LIANA_MAX_RANK] = {false}, is_long = false;
    *shape = LIANA_SCALAR;
    for (int i = 0; i < x->rank; i++) {
        const int first = shape->rank;
        if (first == LIANA_MAX_RANK) return false;
        if (folded[i]) {
            is_long = is_long || x->dims[i] > UNDIVIDED;
            if (!split_axis(x->dims[i], shape)) return false;
        } else {
            shape->dims[shape->rank++] = x->dims[i];
        }
        for (int k = first; k < shape->rank; k++) after[k] = folded[i];
    }
    memcpy(folded, after, sizeof after);
    return is_long;
}

/* Folds the last of the axes that are marked, as many as may be folded at once, and removes their marks. */
static liana__hlo fold_last(liana__lowering *l, liana__hlo_fold fold, liana__hlo x, bool folded[LIANA_MAX_RANK])
{
    int64_t axes[LIANA_MAX_RANK], elements = 1;
    int count = 0, rank = 0;
    bool taken[LIANA_MAX_RANK] = {false};
    for (int i = x.shape.rank - 1; i >= 0; i--) {
        taken[i] = folded[i] && (elements *= x.shape.dims[i]) <= ONE_BY_ONE;
    }
    for (int i = 0; i < x.shape.rank; i++) {
        if (taken[i]) axes[count++] = i;
        if (!taken[i]) folded[rank++] = folded[i];
    }
    return reduce_axes(l, fold, x, axes, count);
}

liana__hlo liana__hlo_reduce(liana__lowering *l, liana__hlo_fold fold, liana__hlo x, const int64_t *axes, int count)
{
    bool folded[LIANA_MAX_RANK] = {false};
    liana_shape shape;
    for (int i = 0; i < count; i++) folded[axes[i]] = true;
    if (!l->for_cpus || !split_axes(&x.shape, folded, &shape)) return reduce_axes(l, fold, x, axes, count);
    x = liana__hlo_reshape(l, x, shape);
    while (memchr(folded, true, (size_t)x.shape.rank * sizeof *folded)) x = fold_last(l, fold, x, folded);
    return x;
}

liana__hlo liana__hlo_reduce_kept(liana__lowering *l, liana__hlo_fold fold, liana__hlo x, const int64_t *axes,
                                  int count)
{
    liana_shape kept = x.shape;
    for (int i = 0; i < count; i++) kept.dims[axes[i]] = 1;
    return liana__hlo_reshape(l, liana__hlo_reduce(l, fold, x, axes, count), kept);
}

/* ---- windows ---- */

static liana_shape windowed_shape(const liana_shape *x, const int64_t *window, const int64_t *strides)
{
    liana_shape shape = *x;
    for (int i = 0; i < shape.rank; i++) shape.dims[i] = (shape.dims[i] - window[i]) / strides[i] + 1;
    return shape;
}

liana__hlo liana__hlo_reduce_window(liana__lowering *l, liana__hlo_fold fold, liana__hlo x, const int64_t *window,
                                    const int64_t *strides)
{
    liana__hlo operands[] = {x, neutral(l, fold, x.dtype)};
    liana__hlo_op op = liana__hlo_begin(l, "reduce_window", operands, 2);
    liana__hlo_fold_region(l, &op, x.dtype, fold_names[fold]);
    liana__text attributes = {0};
    liana__hlo_add_array(&attributes, "window_dimensions", window, x.shape.rank);
    liana__hlo_add_array(&attributes, "window_strides", strides, x.shape.rank);
    return liana__hlo_end(l, &op, x.dtype, windowed_shape(&x.shape, window, strides), &attributes);
}

liana__hlo liana__hlo_select_and_scatter(liana__lowering *l, liana__hlo x, liana__hlo source, const int64_t *window,
                                         const int64_t *strides)
{
    liana__hlo operands[] = {x, source, liana__hlo_fill(l, x.dtype, LIANA_SCALAR, 0)}, parameters[2];
    liana__hlo_op op = liana__hlo_begin(l, "select_and_scatter", operands, 3);
    /* Whether the element that was selected so far stays. */
    liana__hlo_begin_region(l, &op, x.dtype, parameters);
    liana__hlo greater = liana__hlo_compare(l, "GE", parameters[0], parameters[1]);
    liana__hlo is_nan = liana__hlo_compare(l, "NE", parameters[0], parameters[0]);
    liana__hlo_end_region(l, liana__hlo_binary(l, "or", greater, is_nan));
    liana__hlo_fold_region(l, &op, x.dtype, "add");
    liana__text attributes = {0};
    liana__hlo_add_array(&attributes, "window_dimensions", window, x.shape.rank);
    liana__hlo_add_array(&attributes, "window_strides", strides, x.shape.rank);
    return liana__hlo_end(l, &op, x.dtype, x.shape, &attributes);
}

/* ---- products ---- */

static void add_precision(const liana__lowering *l, liana__text *attributes)
{
    if (!l->highest_precision) return;
    liana__hlo_add(attributes, "precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]");
}

/* Of two operands. */
static liana__hlo write_product(liana__lowering *l, const char *name, const liana__hlo *operands, liana_dtype dtype,
                                liana_shape shape, liana__text *attributes)
{
    if (!l->wide_products) return liana__hlo_write(l, name, operands, 2, dtype, shape, attributes);
    liana__hlo wide[] = {liana__hlo_widen(l, operands[0]), liana__hlo_widen(l, operands[1])};
    return liana__hlo_convert(l, liana__hlo_write(l, name, wide, 2, wide[0].dtype, shape, attributes), dtype);
}

liana__hlo liana__hlo_matrix_product(liana__lowering *l, liana__hlo a, liana__hlo b, bool transpose_a, bool transpose_b,
                                     liana_dtype dtype)
{
    liana__hlo operands[] = {a, b};
    const int last = a.shape.rank - 1;
    liana_shape shape = a.shape;
    shape.dims[last - 1] = a.shape.dims[transpose_a ? last : last - 1];
    shape.dims[last] = b.shape.dims[transpose_b ? last - 1 : last];
    liana__text attributes = {0}, batch = {0};
    for (int i = 0; i < last - 1; i++) liana__text_add(&batch, "%s%d", i ? ", " : "", i);
    const char *axes = batch.data ? batch.data : "";
    liana__hlo_add(&attributes,
                   "dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [%s], rhs_batching_dimensions = "
                   "[%s], lhs_contracting_dimensions = [%d], rhs_contracting_dimensions = [%d]>",
                   axes, axes, transpose_a ? last - 1 : last, transpose_b ? last : last - 1);
    attributes.failed = attributes.failed || batch.failed;
    liana__text_free(&batch);
    add_precision(l, &attributes);
    return write_product(l, "dot_general", operands, dtype, shape, &attributes);
}

bool liana__hlo_is_for_cpus(const liana__lowering *l)
{
    return l->for_cpus;
}

/* "[b, 0, 1, f]" for "b01f". */
static void add_roles(liana__text *attributes, const char *roles)
{
    for (int i = 0; roles[i]; i++) liana__text_add(attributes, "%s%c", i ? ", " : "[", roles[i]);
    liana__text_add(attributes, "]");
}

/* The permutation that turns axes with the roles `from` into `to`. */
static void permute_roles(const char *from, const char *to, int64_t permutation[LIANA_MAX_RANK])
{
    for (int i = 0; to[i]; i++) permutation[i] = (int64_t)(strchr(from, to[i]) - from);
}

static liana__hlo with_roles(liana__lowering *l, liana__hlo x, const char *from, const char *to)
{
    int64_t permutation[LIANA_MAX_RANK];
    if (strcmp(from, to) == 0) return x;
    permute_roles(from, to, permutation);
    return liana__hlo_transpose(l, x, permutation);
}

static int count_spatial(const liana__hlo_convolution *c)
{
    return (int)strlen(c->x_axes) - 2;
}

static const char *usual_images(const liana__hlo_convolution *c)
{
    return count_spatial(c) == 3 ? "b012f" : "b01f";
}

static const char *usual_kernels(const liana__hlo_convolution *c)
{
    return count_spatial(c) == 3 ? "012io" : "01io";
}

static liana__hlo convolve_with_usual_axes(liana__lowering *l, liana__hlo x, liana__hlo kernel,
                                           const liana__hlo_convolution *given)
{
    const char *images = usual_images(given), *kernels = usual_kernels(given);
    liana__hlo_convolution usual = *given;
    int64_t permutation[LIANA_MAX_RANK];
    permute_roles(given->result_axes, images, permutation);
    for (int i = 0; i < given->shape.rank; i++) usual.shape.dims[i] = given->shape.dims[permutation[i]];
    usual.x_axes = usual.result_axes = images;
    usual.kernel_axes = kernels;
    x = with_roles(l, x, given->x_axes, images);
    kernel = with_roles(l, kernel, given->kernel_axes, kernels);
    return with_roles(l, liana__hlo_convolve(l, x, kernel, &usual), images, given->result_axes);
}

static bool has_usual_axes(const liana__hlo_convolution *c)
{
    return strcmp(c->x_axes, usual_images(c)) == 0 && strcmp(c->kernel_axes, usual_kernels(c)) == 0 &&
           strcmp(c->result_axes, usual_images(c)) == 0;
}

static void add_padding(liana__text *attributes, const liana__hlo_convolution *c)
{
    const int count = count_spatial(c);
    liana__text text = {0};
    for (int i = 0; i < count; i++) {
        liana__text_add(&text, "%s[%lld, %lld]", i ? ", " : "", (long long)c->padding[i][0],
                        (long long)c->padding[i][1]);
    }
    liana__hlo_add(attributes, "padding = dense<[%s]> : tensor<%dx2xi64>", text.data ? text.data : "", count);
    attributes->failed = attributes->failed || text.failed;
    liana__text_free(&text);
}

liana__hlo liana__hlo_convolve(liana__lowering *l, liana__hlo x, liana__hlo kernel, const liana__hlo_convolution *c)
{
    if (l->for_cpus && !has_usual_axes(c)) return convolve_with_usual_axes(l, x, kernel, c);
    liana__hlo operands[] = {x, kernel};
    liana__text attributes = {0};
    liana__text_add(&attributes, "dimension_numbers = #stablehlo.conv<");
    add_roles(&attributes, c->x_axes);
    liana__text_add(&attributes, "x");
    add_roles(&attributes, c->kernel_axes);
    liana__text_add(&attributes, "->");
    add_roles(&attributes, c->result_axes);
    liana__text_add(&attributes, ">");
    const int spatial = count_spatial(c);
    liana__hlo_add_array(&attributes, "window_strides", c->strides, spatial);
    add_padding(&attributes, c);
    liana__hlo_add_array(&attributes, "lhs_dilation", c->x_dilations, spatial);
    liana__hlo_add_array(&attributes, "rhs_dilation", c->kernel_dilations, spatial);
    liana__hlo_add(&attributes, "feature_group_count = %lld : i64, batch_group_count = %lld : i64",
                   (long long)c->feature_groups, (long long)c->batch_groups);
    add_precision(l, &attributes);
    return write_product(l, "convolution", operands, c->dtype, c->shape, &attributes);
}

/* ---- Fourier transforms ---- */

liana__hlo liana__hlo_fft(liana__lowering *l, liana__hlo x, bool inverse)
{
    const int last = x.shape.rank - 1;
    int64_t start[LIANA_MAX_RANK] = {0}, limit[LIANA_MAX_RANK], strides[LIANA_MAX_RANK];
    liana__hlo parts[2];
    liana_shape shape = x.shape;
    shape.rank--;
    for (int i = 0; i <= last; i++) {
        limit[i] = x.shape.dims[i];
        strides[i] = 1;
    }
    for (int i = 0; i < 2; i++) {
        start[last] = i;
        limit[last] = i + 1;
        parts[i] = liana__hlo_reshape(l, liana__hlo_slice(l, x, start, limit, strides), shape);
    }
    const liana_dtype dtype = (liana_dtype)(LIANA__HLO_COMPLEX + (int)x.dtype);
    const int64_t length = shape.dims[shape.rank - 1];
    liana__hlo made = liana__hlo_write(l, "complex", parts, 2, dtype, shape, NULL);
    liana__text attributes = {0};
    liana__hlo_add(&attributes, "fft_type = #stablehlo<fft_type %s>", inverse ? "IFFT" : "FFT");
    liana__hlo_add_array(&attributes, "fft_length", &length, 1);
    made = liana__hlo_write(l, "fft", &made, 1, dtype, shape, &attributes);
    shape.dims[shape.rank++] = 1;
    for (int i = 0; i < 2; i++) {
        liana_shape own = shape;
        own.rank--;
        parts[i] = liana__hlo_write(l, i ? "imag" : "real", &made, 1, x.dtype, own, NULL);
        parts[i] = liana__hlo_reshape(l, parts[i], shape);
    }
    liana__hlo pairs = liana__hlo_concatenate(l, parts, 2, last);
    return inverse ? liana__hlo_binary_with(l, "multiply", pairs, (double)length) : pairs;
}
