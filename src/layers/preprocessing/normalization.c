/* Normalization: subtracts a given mean and divides by a given deviation. */
#include "ir/graph.h"
#include "layers/normalization/axes.h"

#include <liana/layers/preprocessing.h>
#include <liana/ops.h>
#include <stdio.h>

static const liana_option rows[] = {
    LIANA_OPTION_ROW(liana_normalization_options, axis, AXES, .default_text = "-1", .minimum = -LIANA_MAX_RANK,
                     .maximum = LIANA_MAX_RANK,
                     .doc = "along which each position has its own mean and variance; null or []: there are one of "
                            "each"),
    LIANA_OPTION_ROW(liana_normalization_options, mean, FLOATS,
                     .doc = "given ones: a number, or one for each position; default: those of data"),
    LIANA_OPTION_ROW(liana_normalization_options, variance, FLOATS, .doc = "with mean: the same for the variance"),
    LIANA_OPTION_ROW(liana_normalization_options, mean_shape, INTS, .minimum = 1, .maximum = INT32_MAX,
                     .doc = "the shape of mean and variance, if they have several axes; read from nested lists"),
    LIANA_OPTION_ROW(liana_normalization_options, invert, BOOL, .default_text = "false",
                     .doc = "whether the inputs are normalised ones, which become values of the data"),
};

/* ---- options ---- */

/* The sizes of nested lists, from the outermost on. */
static liana_ints shape_of(const liana__value *value)
{
    liana_ints shape = {0};
    while (value && value->kind == LIANA__VALUE_LIST && value->count && shape.count < LIANA_MAX_RANK) {
        shape.values[shape.count++] = (int64_t)value->count;
        value = value->items[0];
    }
    return shape;
}

static int64_t size_of(const liana_ints *shape)
{
    int64_t size = 1;
    for (int64_t i = 0; i < shape->count; i++) size *= shape->values[i];
    return size;
}

static liana_status check_numbers(liana_check *check, liana_normalization_options *chosen)
{
    const size_t means = chosen->mean.count, variances = chosen->variance.count;
    if (means != variances) {
        const char *option = means < variances ? "mean" : "variance";
        return liana_option_refuse(check, option,
                                   "found %zu numbers of mean and %zu of variance, expected as many of each", means,
                                   variances);
    }
    for (size_t i = 0; i < variances; i++) {
        if (chosen->variance.items[i] >= 0) continue;
        return liana_option_refuse(check, "variance", "found %g, expected numbers of at least 0",
                                   chosen->variance.items[i]);
    }
    const liana_ints shape = shape_of(liana__value_get(check->map, "mean"));
    if (shape.count > 1) chosen->mean_shape = shape;
    const int64_t axes = liana__given_axes(chosen->axis).count;
    if (chosen->mean_shape.count > axes ||
        (chosen->mean_shape.count && size_of(&chosen->mean_shape) != (int64_t)means)) {
        return liana_option_refuse(check, "mean", "found %zu numbers along %lld axes, expected them along at most %lld",
                                   means, (long long)chosen->mean_shape.count, (long long)axes);
    }
    return LIANA_OK;
}

static liana_status check_options(liana_check *check)
{
    liana_normalization_options *chosen = check->options;
    LIANA_TRY(liana__check_axes(check, chosen->axis, true));
    return check_numbers(check, chosen);
}

/* ---- shapes ---- */

/* The positions along the axes, in their order in x. */
static liana_shape kept_shape(const liana_ints *axis, const liana_shape *x)
{
    const liana_axes axes = liana__axes_of(axis, x->rank);
    liana_shape shape = {.rank = (int)axes.count};
    for (int i = 0; i < shape.rank; i++) shape.dims[i] = x->dims[axes.values[i]];
    return shape;
}

/* The numbers' own shape: of several axes the given one, else a row or one number. */
static liana_shape given_shape(const liana_normalization_options *chosen)
{
    liana_shape shape = {.rank = (int)chosen->mean_shape.count};
    for (int i = 0; i < shape.rank; i++) shape.dims[i] = chosen->mean_shape.values[i];
    if (shape.rank == 0 && chosen->mean.count > 1) shape = liana_shape_of((int64_t)chosen->mean.count);
    return shape;
}

/* A row of as many numbers as there are positions along all axes is read row by row. */
static bool numbers_fit(const liana_normalization_options *chosen, const liana_shape *kept, liana_shape *shape)
{
    *shape = given_shape(chosen);
    if (shape->rank == 1 && shape->dims[0] == liana_shape_size(kept)) *shape = *kept;
    if (shape->rank > kept->rank) return false;
    for (int i = 1; i <= shape->rank; i++) {
        const int64_t size = shape->dims[shape->rank - i];
        if (size != 1 && size != kept->dims[kept->rank - i]) return false;
    }
    return true;
}

/* `count`, the number of examples that Keras found mean and variance from, is in its files but not in the formula. */
static liana_status declare_weights(liana_layer_build *build)
{
    const liana_normalization_options *chosen = build->options;
    const liana_shape *x = &build->inputs[0];
    if (x->rank < 2) return liana_layer_refuse(build, 0, "[batch, ..., channels]");
    const liana_ints axis = liana__given_axes(chosen->axis);
    LIANA_TRY(liana__build_axes(build, axis.values, axis.count));
    const liana_shape shape = kept_shape(&axis, x);
    if (chosen->mean.count) {
        liana_shape own;
        char expected[120];
        snprintf(expected, sizeof expected, "one whose positions along axis are as many as the %zu numbers of mean",
                 chosen->mean.count);
        return numbers_fit(chosen, &shape, &own) ? LIANA_OK : liana_layer_refuse(build, 0, expected);
    }
    liana_layer_add_weight(build, "mean", shape, "zeros", false);
    liana_layer_add_weight(build, "variance", shape, "ones", false);
    liana_layer_add_weight(build, "count", LIANA_SCALAR, "zeros", false);
    return build->status;
}

/* ---- the graph ---- */

/* Given numbers as a tensor that is broadcast to x. */
static liana_tensor constant_of(liana_layer_call *call, const liana_floats *numbers)
{
    const liana_normalization_options *chosen = call->options;
    const liana_tensor x = call->inputs[0];
    const liana_ints axis = liana__given_axes(chosen->axis);
    const liana_shape all = liana_tensor_shape(x), kept = kept_shape(&axis, &all);
    const liana_axes axes = liana__axes_of(&axis, all.rank);
    liana_shape own, shape = {.rank = all.rank};
    float *values = liana__arena_allocate(&x.graph->arena, (numbers->count + 1) * sizeof *values);
    if (!values || !numbers_fit(chosen, &kept, &own)) return (liana_tensor){x.graph, 0};
    for (size_t i = 0; i < numbers->count; i++) values[i] = (float)numbers->items[i];
    for (int i = 0; i < shape.rank; i++) shape.dims[i] = 1;
    for (int i = 1; i <= own.rank; i++) shape.dims[axes.values[axes.count - i]] = own.dims[own.rank - i];
    liana_tensor made = liana_graph_constant_at(call->here, x.graph, LIANA_F32, shape, values);
    const liana_dtype dtype = liana_tensor_dtype(x);
    return dtype == LIANA_F32 ? made : liana_op_cast_at(call->here, made, dtype);
}

/* The least deviation is Keras's backend.epsilon(). */
static liana_tensor call_layer(liana_layer_call *call)
{
    const liana_normalization_options *chosen = call->options;
    const liana_location here = call->here;
    const liana_tensor x = call->inputs[0];
    if (!x.graph || x.graph->status != LIANA_OK) return (liana_tensor){x.graph, 0};
    const liana_ints axis = liana__given_axes(chosen->axis);
    const liana_axes axes = liana__axes_of(&axis, liana_tensor_shape(x).rank);
    liana_tensor mean, variance;
    if (chosen->mean.count) {
        mean = constant_of(call, &chosen->mean);
        variance = constant_of(call, &chosen->variance);
    } else {
        mean = liana__along_axes(here, call->weights[0], x, &axes);
        variance = liana__along_axes(here, call->weights[1], x, &axes);
    }
    liana_tensor least = liana_graph_scalar_at(here, x.graph, liana_tensor_dtype(x), 1e-7);
    liana_tensor deviation = liana_op_maximum_at(here, liana_op_sqrt_at(here, variance), least);
    if (chosen->invert) return liana_op_add_at(here, mean, liana_op_multiply_at(here, x, deviation));
    return liana_op_divide_at(here, liana_op_subtract_at(here, x, mean), deviation);
}

/* ---- Keras's files ---- */

/* There null is no axis; in liana's tables it is []. */
static void from_keras(liana__arena *arena, const liana__value *config, liana__value *options)
{
    const liana__value *axis = liana__value_get(config, "axis");
    if (axis && axis->kind == LIANA__VALUE_NULL) liana__value_set(arena, options, "axis", liana__value_list(arena));
}

/* Numbers from *next on as lists in lists. */
static liana__value *nest(liana__arena *arena, const liana_floats *numbers, const liana_ints *shape, int64_t depth,
                          size_t *next)
{
    if (depth == shape->count) return liana__value_float(arena, numbers->items[(*next)++]);
    liana__value *list = liana__value_list(arena);
    for (int64_t i = 0; list && i < shape->values[depth]; i++) {
        liana__value_add(arena, list, nest(arena, numbers, shape, depth + 1, next));
    }
    return list;
}

static void write_numbers(liana__arena *arena, liana__value *config, const char *key,
                          const liana_normalization_options *chosen, const liana_floats *numbers)
{
    liana_ints shape = chosen->mean_shape;
    size_t next = 0;
    if (shape.count == 0 && numbers->count > 1) shape = LIANA_INTS((int64_t)numbers->count);
    liana__value_set(arena, config, key,
                     numbers->count ? nest(arena, numbers, &shape, 0, &next) : liana__value_null(arena));
}

static void to_keras(liana__arena *arena, const void *given, liana__value *config)
{
    const liana_normalization_options *chosen = given;
    if (!chosen->axis[0]) liana__value_set(arena, config, "axis", liana__value_null(arena));
    liana__value_remove(config, "mean_shape");
    write_numbers(arena, config, "mean", chosen, &chosen->mean);
    write_numbers(arena, config, "variance", chosen, &chosen->variance);
}

const liana_layer_type liana__layer_normalization = {
    LIANA_PART(
        LAYER, liana_layer_type, "Normalization",
        "(x - mean) / deviation for each channel, with those of data (liana_layer_adapt), of a weight file or of "
        "the options",
        LIANA_PART_OPTIONS(liana_normalization_options, rows), .check = check_options),
    LIANA__INPUTS(1, 1),
    .masking = LIANA_MASKING_KEPT,
    .weights = declare_weights,
    .call = call_layer,
    .from_keras = from_keras,
    .to_keras = to_keras,
};
