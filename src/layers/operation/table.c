/* The functions of keras.ops that liana has as operations. */
#include "layers/operation/operation.h"

#include "base/scoped.h"
#include "layers/activations.h"
#include "layers/operation/numbers.h"

#include <liana/functions.h>
#include <string.h>

/* ---- over axes ---- */

static liana_tensor build_norm(liana__operation_call *call)
{
    liana_axes axes;
    double order;
    if (!liana__operation_axes(call, "axis", 0, &axes) || !liana__operation_number(call, "ord", 2, &order)) {
        return call->operands[0];
    }
    return liana_op_norm_at(call->here, call->operands[0], order, axes, liana__operation_flag(call, "keepdims"));
}

static liana_tensor along_last(liana__operation_call *call, liana_tensor (*function)(liana_location, liana_tensor))
{
    int64_t axis, last = -1;
    if (!liana__operation_axis(call, "axis", 0, &last, &axis)) return call->operands[0];
    const bool is_last = axis == liana_tensor_shape(call->operands[0]).rank - 1;
    if (is_last) return function(call->here, call->operands[0]);
    liana_tensor x = liana_op_swap_axes_at(call->here, call->operands[0], axis, -1);
    return liana_op_swap_axes_at(call->here, function(call->here, x), axis, -1);
}

static liana_tensor build_softmax(liana__operation_call *call)
{
    return along_last(call, liana_op_softmax_at);
}

static liana_tensor build_log_softmax(liana__operation_call *call)
{
    return along_last(call, liana_op_log_softmax_at);
}

/* ---- element-wise with settings ---- */

static liana_tensor build_clip(liana__operation_call *call)
{
    double low, high;
    const bool is_known = liana__operation_number(call, "x_min", -INFINITY, &low) &&
                          liana__operation_number(call, "x_max", INFINITY, &high);
    if (!is_known || !(low <= high)) return liana__operation_fail(call, "x_min and x_max are no range");
    return liana_op_clip_at(call->here, call->operands[0], low, high);
}

/* A narrower dtype that rounds the values, or clamps them to its range; `dtype` if there is none. */
static liana_dtype narrow_dtype(const char *name, liana_dtype dtype)
{
    static const struct {
        const char *name;
        liana_dtype dtype;
    } narrow[] = {{"float16", LIANA_F16}, {"bfloat16", LIANA_BF16}, {"int8", LIANA_S8},
                  {"uint8", LIANA_U8},    {"int16", LIANA_S16},     {"uint16", LIANA_U16}};
    for (size_t i = 0; i < sizeof narrow / sizeof *narrow; i++) {
        if (strcmp(narrow[i].name, name) == 0) return narrow[i].dtype;
    }
    return dtype;
}

/* The lowest bits of whole numbers, as Keras casts to integers of fewer. Floats become the nearest of the range. */
static liana_tensor wrapped(liana_location here, liana_tensor x, liana_dtype narrow)
{
    const bool is_signed = narrow == LIANA_S8 || narrow == LIANA_S16;
    const double count = liana_dtype_size(narrow) == 1 ? 256 : 65536, offset = is_signed ? count / 2 : 0;
    liana_graph *graph = x.graph;
    liana_tensor by = liana_graph_scalar_at(here, graph, LIANA_S32, offset);
    liana_tensor moved = liana_op_add_at(here, x, by);
    moved = liana_op_mod_at(here, moved, liana_graph_scalar_at(here, graph, LIANA_S32, count));
    return liana_op_subtract_at(here, moved, by);
}

/* cast, and saturate_cast, which gives the nearest of the range. */
static liana_tensor build_cast(liana__operation_call *call)
{
    const char *name = liana__operation_word(call, "dtype");
    if (!name) return liana__operation_fail(call, "found no dtype");
    const bool is_float = liana__starts_with(name, "float") || liana__starts_with(name, "bfloat");
    const bool is_integer = liana__starts_with(name, "int") || liana__starts_with(name, "uint");
    if (!is_float && !is_integer && strcmp(name, "bool") != 0) {
        return liana__operation_fail(call, "found the dtype '%.40s', expected a float, an integer or bool", name);
    }
    const liana_dtype dtype = is_float ? call->layer->dtype : is_integer ? LIANA_S32 : LIANA_BOOL;
    const liana_dtype narrow = narrow_dtype(name, dtype);
    liana_tensor x = call->operands[0];
    const bool wraps = !is_float && narrow != dtype && strcmp(call->row->name, "cast") == 0;
    if (wraps && liana_tensor_dtype(x) == LIANA_S32) x = wrapped(call->here, x, narrow);
    if (narrow == LIANA_F16 && strcmp(call->row->name, "cast") != 0) x = liana_op_clip_at(call->here, x, -65504, 65504);
    return liana_op_cast_at(call->here, liana_op_cast_at(call->here, x, narrow), dtype);
}

static liana_tensor build_where(liana__operation_call *call)
{
    if (call->count != 3 || !call->operands[1].id || !call->operands[2].id) {
        return liana__operation_fail(call, "found %zu operands, expected condition, x1 and x2", call->count);
    }
    const int rank = liana_tensor_shape(call->operands[0]).rank;
    for (size_t i = 1; i < 3; i++) {
        const int own = liana_tensor_shape(call->operands[i]).rank;
        if (own == rank || own == 0) continue;
        return liana__operation_fail(call, "found operands of %d and %d axes, expected one number of axes", rank, own);
    }
    return liana_op_where_at(call->here, call->operands[0], call->operands[1], call->operands[2]);
}

/* An activation of that name, with the settings as its options. */
static liana_tensor build_activation(liana__operation_call *call)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__activation activation;
    liana__error reason = {0};
    const liana__function_call own = {call->row, call->arguments};
    const char *text = liana__operation_text(&arena, &own);
    if (!text) return liana__operation_fail(call, "out of memory");
    if (liana__activation_read(NULL, text, &arena, &activation, &reason) != LIANA_OK) {
        return liana__operation_fail(call, "%s", reason.message);
    }
    return liana__activate(call->layer, text, call->operands[0]);
}

static liana_tensor identity(liana_location here, liana_tensor x)
{
    (void)here;
    return x;
}

static liana_tensor one_like(liana_location here, liana_tensor x, double value)
{
    liana_graph *graph = x.graph;
    return liana_op_broadcast_to_at(here, liana_graph_scalar_at(here, graph, liana_tensor_dtype(x), value),
                                    liana_tensor_shape(x));
}

static liana_tensor zeros_like(liana_location here, liana_tensor x)
{
    return one_like(here, x, 0);
}

static liana_tensor ones_like(liana_location here, liana_tensor x)
{
    return one_like(here, x, 1);
}

/* a / b, and 0 where b is 0. */
static liana_tensor divide_no_nan(liana_location here, liana_tensor a, liana_tensor b)
{
    liana_tensor zero = liana_graph_scalar_at(here, b.graph, liana_tensor_dtype(b), 0);
    liana_tensor one = liana_graph_scalar_at(here, b.graph, liana_tensor_dtype(b), 1);
    liana_tensor is_zero = liana_op_equal_at(here, b, zero);
    liana_tensor quotient = liana_op_divide_at(here, a, liana_op_select_at(here, is_zero, one, b));
    return liana_op_select_at(here, is_zero, zero, quotient);
}

#define OVER_AXES(name, function)                                                                      \
    static liana_tensor build_##name(liana__operation_call *call)                                      \
    {                                                                                                  \
        liana_axes axes;                                                                               \
        if (!liana__operation_axes(call, "axis", 0, &axes)) return call->operands[0];                  \
        return function(call->here, call->operands[0], axes, liana__operation_flag(call, "keepdims")); \
    }
OVER_AXES(sum, liana_op_reduce_sum_at)
OVER_AXES(mean, liana_op_reduce_mean_at)
OVER_AXES(max, liana_op_reduce_max_at)
OVER_AXES(min, liana_op_reduce_min_at)
OVER_AXES(prod, liana_op_reduce_prod_at)
OVER_AXES(var, liana_op_variance_at)
OVER_AXES(std, liana_op_standard_deviation_at)
OVER_AXES(any, liana_op_any_at)
OVER_AXES(all, liana_op_all_at)
OVER_AXES(count_nonzero, liana_op_count_nonzero_at)
OVER_AXES(logsumexp, liana_op_logsumexp_at)

#define OVER_AXIS(name, function)                                                                          \
    static liana_tensor build_##name(liana__operation_call *call)                                          \
    {                                                                                                      \
        int64_t axis;                                                                                      \
        if (!liana__operation_axis(call, "axis", 0, NULL, &axis)) return call->operands[0];                \
        liana_tensor y = function(call->here, call->operands[0], axis);                                    \
        return liana__operation_flag(call, "keepdims") ? liana_op_expand_dims_at(call->here, y, axis) : y; \
    }
OVER_AXIS(argmax, liana_op_argmax_at)
OVER_AXIS(argmin, liana_op_argmin_at)

/* ---- the table ---- */

#define ONE(name, class_name, function)                         \
    {                                                           \
#name, class_name, "numpy", "x", "", .of_one = function \
    }
#define ONE_OF_ANY(name, class_name, function)                                          \
    {                                                                                   \
#name, class_name, "numpy", "x", "", .of_one = function, .takes_integers = true \
    }
#define TWO(name, class_name, function)                                                     \
    {                                                                                       \
#name, class_name, "numpy", "x1 x2", "", .of_two = function, .takes_integers = true \
    }
#define TWO_FLOATS(name, class_name, function)                      \
    {                                                               \
#name, class_name, "numpy", "x1 x2", "", .of_two = function \
    }
#define AXES(name, class_name)                                                                          \
    {                                                                                                   \
#name, class_name, "numpy", "x", "axis keepdims", .build = build_##name, .takes_integers = true \
    }
#define FLOAT_AXES(name, class_name)                                            \
    {                                                                           \
#name, class_name, "numpy", "x", "axis keepdims", .build = build_##name \
    }
#define SHAPE(name, class_name, operands, settings)                                                                    \
    {                                                                                                                  \
#name, class_name, "numpy", operands, settings, .build = liana__operation_build_##name, .takes_integers = true \
    }
#define COMPOSED(name, class_name, operands, settings)                                         \
    {                                                                                          \
#name, class_name, "numpy", operands, settings, .build = liana__operation_build_##name \
    }
#define ACTIVATION(name, class_name, settings)                            \
    {                                                                     \
#name, class_name, "nn", "x", settings, .build = build_activation \
    }

const liana__operation_row liana__operations[] = {
    ONE_OF_ANY(abs, "Abs", liana_op_abs_at),
    ONE_OF_ANY(absolute, "Absolute", liana_op_abs_at),
    ONE(fabs, "Fabs", liana_op_abs_at),
    ONE_OF_ANY(negative, "Negative", liana_op_negate_at),
    ONE_OF_ANY(sign, "Sign", liana_op_sign_at),
    ONE_OF_ANY(square, "Square", liana_op_square_at),
    ONE(ceil, "Ceil", liana_op_ceil_at),
    ONE(floor, "Floor", liana_op_floor_at),
    ONE(round, "Round", liana_op_round_at),
    ONE(trunc, "Trunc", liana_op_trunc_at),
    ONE(sqrt, "Sqrt", liana_op_sqrt_at),
    {"rsqrt", "Rsqrt", "math", "x", "", .of_one = liana_op_rsqrt_at},
    ONE(cbrt, "Cbrt", liana__operation_cbrt),
    ONE(deg2rad, "Deg2rad", liana__operation_deg2rad),
    ONE(rad2deg, "Rad2deg", liana__operation_rad2deg),
    ONE(sinc, "Sinc", liana__operation_sinc),
    {"erfc", "Erfc", "math", "x", "", .of_one = liana__operation_erfc},
    ONE(reciprocal, "Reciprocal", liana_op_reciprocal_at),
    ONE(exp, "Exp", liana_op_exp_at),
    ONE(exp2, "Exp2", liana_op_exp2_at),
    ONE(expm1, "Expm1", liana_op_expm1_at),
    {"erf", "Erf", "math", "x", "", .of_one = liana_op_erf_at},
    ONE(log, "Log", liana_op_log_at),
    ONE(log1p, "Log1p", liana_op_log1p_at),
    ONE(log2, "Log2", liana_op_log2_at),
    ONE(log10, "Log10", liana_op_log10_at),
    ONE(sin, "Sin", liana_op_sin_at),
    ONE(cos, "Cos", liana_op_cos_at),
    ONE(tan, "Tan", liana_op_tan_at),
    ONE(arcsin, "Arcsin", liana_op_asin_at),
    ONE(arccos, "Arccos", liana_op_acos_at),
    ONE(arctan, "Arctan", liana_op_atan_at),
    ONE(sinh, "Sinh", liana_op_sinh_at),
    ONE(cosh, "Cosh", liana_op_cosh_at),
    ONE(tanh, "Tanh", liana_op_tanh_at),
    ONE(arcsinh, "Arcsinh", liana_op_asinh_at),
    ONE(arccosh, "Arccosh", liana_op_acosh_at),
    ONE(arctanh, "Arctanh", liana_op_atanh_at),
    ONE(isfinite, "Isfinite", liana_op_is_finite_at),
    ONE(isinf, "Isinf", liana_op_is_inf_at),
    ONE(isnan, "Isnan", liana_op_is_nan_at),
    ONE(isneginf, "Isneginf", liana__operation_isneginf),
    ONE(isposinf, "Isposinf", liana__operation_isposinf),
    ONE(isreal, "Isreal", liana__operation_isreal),
    ONE_OF_ANY(logical_not, "LogicalNot", liana_op_logical_not_at),
    ONE_OF_ANY(copy, "Copy", identity),
    ONE_OF_ANY(real, "Real", identity),
    ONE_OF_ANY(conj, "Conj", identity),
    ONE_OF_ANY(conjugate, "Conjugate", identity),
    ONE_OF_ANY(empty_like, "EmptyLike", zeros_like),
    SHAPE(full_like, "FullLike", "x fill_value", ""),
    ONE_OF_ANY(zeros_like, "ZerosLike", zeros_like),
    ONE_OF_ANY(ones_like, "OnesLike", ones_like),
    {"stop_gradient", "StopGradient", "core", "variable", "", .of_one = liana_op_stop_gradient_at,
     .takes_integers = true},
    {"cast", "Cast", "core", "x", "dtype", .build = build_cast, .takes_integers = true},
    {"saturate_cast", "SaturateCast", "core", "x", "dtype", .build = build_cast, .takes_integers = true},
    TWO(add, "Add", liana_op_add_at),
    TWO(subtract, "Subtract", liana_op_subtract_at),
    TWO(multiply, "Multiply", liana_op_multiply_at),
    TWO_FLOATS(divide, "Divide", liana_op_divide_at),
    TWO_FLOATS(true_divide, "TrueDivide", liana_op_divide_at),
    TWO_FLOATS(divide_no_nan, "DivideNoNan", divide_no_nan),
    TWO(floor_divide, "FloorDivide", liana_op_floor_divide_at),
    TWO(mod, "Mod", liana_op_mod_at),
    TWO(maximum, "Maximum", liana_op_maximum_at),
    TWO(minimum, "Minimum", liana_op_minimum_at),
    TWO_FLOATS(power, "Power", liana_op_power_at),
    TWO_FLOATS(arctan2, "Arctan2", liana_op_atan2_at),
    TWO_FLOATS(logaddexp, "Logaddexp", liana_op_logaddexp_at),
    TWO_FLOATS(logaddexp2, "Logaddexp2", liana__operation_logaddexp2),
    TWO_FLOATS(hypot, "Hypot", liana__operation_hypot),
    TWO_FLOATS(heaviside, "Heaviside", liana__operation_heaviside),
    TWO_FLOATS(ldexp, "Ldexp", liana__operation_ldexp),
    TWO(fmax, "Fmax", liana__operation_fmax),
    TWO(fmin, "Fmin", liana__operation_fmin),
    TWO(fmod, "Fmod", liana__operation_fmod),
    {"isclose", "Isclose", "numpy", "x1 x2 rtol atol", "equal_nan", .build = liana__operation_build_isclose},
    SHAPE(isin, "IsIn", "x1 x2", "assume_unique invert"),
    {"digitize", "Digitize", "numpy", "x bins", "", .build = liana__operation_build_digitize},
    {"nan_to_num", "NanToNum", "numpy", "x", "nan posinf neginf", .build = liana__operation_build_nan_to_num},
    TWO(equal, "Equal", liana_op_equal_at),
    TWO(not_equal, "NotEqual", liana_op_not_equal_at),
    TWO(less, "Less", liana_op_less_at),
    TWO(less_equal, "LessEqual", liana_op_less_equal_at),
    TWO(greater, "Greater", liana_op_greater_at),
    TWO(greater_equal, "GreaterEqual", liana_op_greater_equal_at),
    TWO(logical_and, "LogicalAnd", liana_op_logical_and_at),
    TWO(logical_or, "LogicalOr", liana_op_logical_or_at),
    TWO(logical_xor, "LogicalXor", liana_op_logical_xor_at),
    {"where", "Where", "numpy", "condition x1 x2", "", .build = build_where, .takes_integers = true},
    {"clip", "Clip", "numpy", "x", "x_min x_max", .build = build_clip},
    AXES(sum, "Sum"),
    FLOAT_AXES(mean, "Mean"),
    AXES(max, "Max"),
    AXES(min, "Min"),
    AXES(prod, "Prod"),
    {"amax", "Amax", "numpy", "x", "axis keepdims", .build = build_max, .takes_integers = true},
    {"amin", "Amin", "numpy", "x", "axis keepdims", .build = build_min, .takes_integers = true},
    COMPOSED(ptp, "Ptp", "x", "axis keepdims"),
    COMPOSED(average, "Average", "x weights", "axis"),
    COMPOSED(median, "Median", "x", "axis keepdims"),
    COMPOSED(quantile, "Quantile", "x q", "axis method keepdims"),
    COMPOSED(percentile, "Percentile", "x q", "axis method keepdims"),
    COMPOSED(nansum, "Nansum", "x", "axis keepdims"),
    COMPOSED(nanprod, "Nanprod", "x", "axis keepdims"),
    COMPOSED(nanmax, "Nanmax", "x", "axis keepdims"),
    COMPOSED(nanmin, "Nanmin", "x", "axis keepdims"),
    COMPOSED(nanmean, "Nanmean", "x", "axis keepdims"),
    COMPOSED(nanvar, "Nanvar", "x", "axis keepdims"),
    COMPOSED(nanstd, "Nanstd", "x", "axis keepdims"),
    COMPOSED(nanargmax, "Nanargmax", "x", "axis keepdims"),
    COMPOSED(nanargmin, "Nanargmin", "x", "axis keepdims"),
    COMPOSED(nancumsum, "Nancumsum", "x", "axis"),
    COMPOSED(nancumprod, "Nancumprod", "x", "axis"),
    COMPOSED(trapezoid, "Trapezoid", "y", "dx axis"),
    SHAPE(diff, "Diff", "a", "n axis"),
    {"normalize", "Normalize", "nn", "x", "axis order epsilon", .build = liana__operation_build_normalize},
    FLOAT_AXES(var, "Var"),
    FLOAT_AXES(std, "Std"),
    AXES(any, "Any"),
    AXES(all, "All"),
    {"count_nonzero", "CountNonzero", "numpy", "x", "axis", .build = build_count_nonzero, .takes_integers = true},
    {"logsumexp", "Logsumexp", "math", "x", "axis keepdims", .build = build_logsumexp},
    {"norm", "Norm", "linalg", "x", "ord axis keepdims", .build = build_norm},
    AXES(argmax, "Argmax"),
    AXES(argmin, "Argmin"),
    {"softmax", "Softmax", "nn", "x", "axis", .build = build_softmax},
    {"log_softmax", "LogSoftmax", "nn", "x", "axis", .build = build_log_softmax},
    ACTIVATION(relu, "Relu", ""),
    ACTIVATION(relu6, "Relu6", ""),
    ACTIVATION(sigmoid, "Sigmoid", ""),
    ACTIVATION(silu, "Silu", ""),
    ACTIVATION(softplus, "Softplus", ""),
    ACTIVATION(softsign, "Softsign", ""),
    ACTIVATION(selu, "Selu", ""),
    ACTIVATION(elu, "Elu", "alpha"),
    ACTIVATION(gelu, "Gelu", "approximate"),
    ACTIVATION(leaky_relu, "LeakyRelu", "negative_slope"),
    ACTIVATION(hard_sigmoid, "HardSigmoid", ""),
    ACTIVATION(hard_silu, "HardSilu", ""),
    ACTIVATION(celu, "Celu", "alpha"),
    ACTIVATION(glu, "Glu", "axis"),
    ACTIVATION(hard_shrink, "HardShrink", "threshold"),
    ACTIVATION(hard_tanh, "HardTanh", ""),
    ACTIVATION(log_sigmoid, "LogSigmoid", ""),
    ACTIVATION(soft_shrink, "SoftShrink", "threshold"),
    ACTIVATION(sparse_plus, "SparsePlus", ""),
    ACTIVATION(sparse_sigmoid, "SparseSigmoid", ""),
    ACTIVATION(sparsemax, "Sparsemax", "axis"),
    ACTIVATION(squareplus, "Squareplus", "b"),
    ACTIVATION(tanh_shrink, "TanhShrink", ""),
    ACTIVATION(threshold, "Threshold", "threshold default_value"),
    SHAPE(reshape, "Reshape", "x", "newshape"),
    SHAPE(transpose, "Transpose", "x", "axes"),
    SHAPE(expand_dims, "ExpandDims", "x", "axis"),
    SHAPE(squeeze, "Squeeze", "x", "axis"),
    SHAPE(swapaxes, "Swapaxes", "x", "axis1 axis2"),
    SHAPE(moveaxis, "Moveaxis", "x", "source destination"),
    SHAPE(concatenate, "Concatenate", "xs*", "axis"),
    SHAPE(stack, "Stack", "x*", "axis"),
    SHAPE(flip, "Flip", "x", "axis"),
    SHAPE(roll, "Roll", "x", "shift axis"),
    SHAPE(repeat, "Repeat", "x", "repeats axis"),
    SHAPE(tile, "Tile", "x", "repeats"),
    SHAPE(get_item, "GetItem", "x key", ""),
    SHAPE(take, "Take", "x indices", "axis"),
    SHAPE(pad, "Pad", "x constant_values", "pad_width mode"),
    SHAPE(tril, "Tril", "x", "k"),
    SHAPE(triu, "Triu", "x", "k"),
    SHAPE(append, "Append", "x1 x2", "axis"),
    SHAPE(hstack, "Hstack", "xs*", ""),
    SHAPE(dstack, "Dstack", "xs*", ""),
    SHAPE(array_split, "ArraySplit", "x", "indices_or_sections axis"),
    SHAPE(hsplit, "Hsplit", "x", "indices_or_sections"),
    SHAPE(dsplit, "Dsplit", "x", "indices_or_sections"),
    SHAPE(diagonal, "Diagonal", "x", "offset axis1 axis2"),
    SHAPE(trace, "Trace", "x", "offset axis1 axis2"),
    SHAPE(rot90, "Rot90", "array", "k axes"),
    SHAPE(fliplr, "Fliplr", "x", ""),
    SHAPE(cross, "Cross", "x1 x2", "axisa axisb axisc axis"),
    {"depth_to_space", "DepthToSpace", "nn", "x", "block_size data_format",
     .build = liana__operation_build_depth_to_space, .takes_integers = true},
    {"space_to_depth", "SpaceToDepth", "nn", "x", "block_size data_format",
     .build = liana__operation_build_space_to_depth, .takes_integers = true},
    {"extract_sequences", "ExtractSequences", "math", "x", "sequence_length sequence_stride",
     .build = liana__operation_build_extract_sequences, .takes_integers = true},
    {"multi_hot", "MultiHot", "nn", "inputs", "num_classes axis dtype sparse",
     .build = liana__operation_build_multi_hot, .takes_integers = true},
    {"max_pool", "MaxPool", "nn", "inputs", "pool_size strides padding data_format",
     .build = liana__operation_build_max_pool},
    {"average_pool", "AveragePool", "nn", "inputs", "pool_size strides padding data_format",
     .build = liana__operation_build_average_pool},
    {"dot_product_attention", "DotProductAttention", "nn", "query key value bias mask scale",
     "is_causal flash_attention", .build = liana__operation_build_dot_product_attention},
    SHAPE(split, "Split", "x", "indices_or_sections axis"),
    {"unstack", "Unstack", "core", "x", "num axis", .build = liana__operation_build_unstack, .takes_integers = true},
    SHAPE(sort, "Sort", "x", "axis"),
    SHAPE(argsort, "Argsort", "x", "axis"),
    {"top_k", "TopK", "math", "x", "k sorted", .build = liana__operation_build_top_k},
    SHAPE(cumsum, "Cumsum", "x", "axis"),
    SHAPE(cumprod, "Cumprod", "x", "axis"),
    SHAPE(take_along_axis, "TakeAlongAxis", "x indices", "axis"),
    {"moments", "Moments", "nn", "x", "axes keepdims", .build = liana__operation_build_moments},
    {"einsum", "Einsum", "numpy", "operands+", "subscripts", .build = liana__operation_build_einsum},
    {"matmul", "Matmul", "numpy", "x1 x2", "", .build = liana__operation_build_matmul},
    {"one_hot", "OneHot", "nn", "x", "num_classes axis dtype", .build = liana__operation_build_one_hot,
     .takes_integers = true},
    {0},
};
