/* Dropout, SpatialDropout, StochasticDepth and AlphaDropout: set elements to zero or SELU's least value while a model
 * is trained. */
#include "layers/regularization/draws.h"

#include <liana/layers/regularization.h>
#include <stdio.h>

static const liana_option rows[] = {
    LIANA_OPTION_ROW(liana_dropout_options, rate, FLOAT, .required = true, .minimum = 0, .maximum = 0.999999,
                     .doc = "share of the elements that training sets to zero, below 1"),
    LIANA_OPTION_ROW(liana_dropout_options, noise_shape, INTS, .minimum = -1, .maximum = INT32_MAX,
                     .doc = "one number for each axis, the batch first: -1 (or the axis's size), or 1 if all elements "
                            "along the axis share one draw; default: all -1; [-1, 1, 1, 1] drops whole examples"),
    LIANA__SEED_ROW(liana_dropout_options),
};

static const liana_option spatial_rows[] = {
    LIANA_OPTION_ROW(liana_spatial_dropout_options, rate, FLOAT, .required = true, .minimum = 0, .maximum = 0.999999,
                     .doc = "share of the channels that training sets to zero, below 1"),
    LIANA__SEED_ROW(liana_spatial_dropout_options),
};

static const liana_option depth_rows[] = {
    LIANA_OPTION_ROW(liana_stochastic_depth_options, drop_path_rate, FLOAT, .required = true, .minimum = 0,
                     .maximum = 0.999999, .doc = "share of the examples that training sets to zero, below 1"),
};

static liana_status check_options(liana_check *check)
{
    const liana_dropout_options *chosen = check->options;
    const liana_ints *shape = &chosen->noise_shape;
    if (shape->count > 0 && shape->values[0] != -1) {
        return liana_option_refuse(check, "noise_shape",
                                   "found %lld first, expected -1: each example has its own draws",
                                   (long long)shape->values[0]);
    }
    for (int64_t i = 0; i < shape->count; i++) {
        if (shape->values[i] == 0) return liana_option_refuse(check, "noise_shape", "found 0, expected -1 or 1");
    }
    return LIANA_OK;
}

static liana_status check_input(liana_layer_build *build)
{
    const liana_dropout_options *chosen = build->options;
    const liana_ints *noise = &chosen->noise_shape;
    char expected[96];
    if (noise->count && noise->count != build->inputs[0].rank) {
        snprintf(expected, sizeof expected, "%lld dimensions, as noise_shape has", (long long)noise->count);
        return liana_layer_refuse(build, 0, expected);
    }
    for (int64_t i = 1; i < noise->count; i++) {
        const int64_t size = noise->values[i];
        if (size == -1 || size == 1 || size == build->inputs[0].dims[i]) continue;
        snprintf(expected, sizeof expected, "the size %lld along axis %lld, as noise_shape has", (long long)size,
                 (long long)i);
        return liana_layer_refuse(build, 0, expected);
    }
    return LIANA_OK;
}

/* The shape of the draws: 1 along an axis whose elements share them. */
static liana_shape noise_shape(const liana_layer_call *call)
{
    const liana_ints *noise = &((const liana_dropout_options *)call->options)->noise_shape;
    liana_shape shape = liana_tensor_shape(call->inputs[0]);
    for (int i = 0; i < shape.rank && i < noise->count; i++) {
        if (noise->values[i] == 1) shape.dims[i] = 1;
    }
    return shape;
}

/* Draws for as many elements as the shape has, and each of them for all that share it. */
static liana_tensor drop(liana_layer_call *call, double rate, int64_t seed, liana_shape shape)
{
    liana_tensor x = call->inputs[0];
    const liana_shape own = liana_tensor_shape(x);
    const liana__layer_key draws = liana__layer_draws(call, seed);
    if (!call->training || rate == 0) return x;
    if (liana_shape_equal(&own, &shape)) {
        return liana_op_dropout_at(call->here, x, call->positions, rate, draws.seed, draws.salt);
    }
    liana_tensor one = liana_graph_scalar_at(call->here, x.graph, liana_tensor_dtype(x), 1);
    liana_tensor noise = liana_op_broadcast_to_at(call->here, one, shape);
    noise = liana_op_dropout_at(call->here, noise, call->positions, rate, draws.seed, draws.salt);
    return liana_op_multiply_at(call->here, x, noise);
}

static liana_tensor call_layer(liana_layer_call *call)
{
    const liana_dropout_options *chosen = call->options;
    return drop(call, chosen->rate, chosen->seed, noise_shape(call));
}

static liana_tensor call_spatial(liana_layer_call *call)
{
    const liana_spatial_dropout_options *chosen = call->options;
    liana_shape shape = liana_tensor_shape(call->inputs[0]);
    for (int i = 1; i < shape.rank - 1; i++) shape.dims[i] = 1;
    return drop(call, chosen->rate, chosen->seed, shape);
}

/* One draw for each example. */
static liana_tensor call_depth(liana_layer_call *call)
{
    const liana_stochastic_depth_options *chosen = call->options;
    liana_shape shape = liana_tensor_shape(call->inputs[0]);
    for (int i = 1; i < shape.rank; i++) shape.dims[i] = 1;
    return drop(call, chosen->drop_path_rate, -1, shape);
}

/* With alpha the least value of SELU: a x + b for kept elements, a alpha + b for others, with the a and b that keep
 * mean 0 and variance 1. */
static liana_tensor call_alpha(liana_layer_call *call)
{
    const liana_dropout_options *chosen = call->options;
    const double rate = chosen->rate, alpha = -1.6732632423543772 * 1.0507009873554805;
    const double a = 1 / sqrt((1 - rate) * (1 + rate * alpha * alpha)), b = -a * alpha * rate;
    liana_tensor x = call->inputs[0];
    if (!call->training || rate == 0) return x;
    const liana_dtype dtype = liana_tensor_dtype(x);
    const liana__layer_key draws = liana__layer_draws(call, chosen->seed);
    liana_shape example = noise_shape(call);
    example.rank--;
    for (int i = 0; i < example.rank; i++) example.dims[i] = example.dims[i + 1];
    liana_tensor numbers =
        liana_op_random_uniform_at(call->here, call->positions, LIANA_F32, example, 0, 1, draws.seed, draws.salt);
    liana_tensor limit = liana_graph_scalar_at(call->here, x.graph, LIANA_F32, rate);
    liana_tensor kept = liana_op_greater_equal_at(call->here, numbers, limit);
    x = liana_op_multiply_at(call->here, x, liana_graph_scalar_at(call->here, x.graph, dtype, a));
    x = liana_op_add_at(call->here, x, liana_graph_scalar_at(call->here, x.graph, dtype, b));
    return liana_op_select_at(call->here, kept, x, liana_graph_scalar_at(call->here, x.graph, dtype, a * alpha + b));
}

/* Keras writes null for -1. */
static void from_keras(liana__arena *arena, const liana__value *config, liana__value *options_map)
{
    const liana__value *shape = liana__value_get(config, "noise_shape");
    if (!shape || shape->kind == LIANA__VALUE_NULL) return;
    liana__value *copy = liana__value_copy(arena, shape);
    if (!copy) return;
    copy->place = shape->place;
    for (size_t i = 0; copy->kind == LIANA__VALUE_LIST && i < copy->count; i++) {
        if (copy->items[i]->kind == LIANA__VALUE_NULL) copy->items[i] = liana__value_int(arena, -1);
    }
    if (!arena->failed) liana__value_set(arena, options_map, "noise_shape", copy);
}

static void to_keras(liana__arena *arena, const void *chosen, liana__value *config)
{
    const liana_ints *shape = &((const liana_dropout_options *)chosen)->noise_shape;
    liana__seed_to_keras(arena, ((const liana_dropout_options *)chosen)->seed, config);
    liana__value *list = shape->count ? liana__value_list(arena) : liana__value_null(arena);
    if (!list) return;
    for (int64_t i = 0; i < shape->count; i++) {
        bool own = shape->values[i] == -1;
        liana__value_add(arena, list, own ? liana__value_null(arena) : liana__value_int(arena, shape->values[i]));
    }
    liana__value_set(arena, config, "noise_shape", list);
}

/* Keras 3's SpatialDropout takes no `trainable`. */
static void spatial_to_keras(liana__arena *arena, const void *chosen, liana__value *config)
{
    liana__seed_to_keras(arena, ((const liana_spatial_dropout_options *)chosen)->seed, config);
    liana__value_remove(config, "trainable");
}

static liana_status check_sequence(liana_layer_build *build)
{
    return build->inputs[0].rank == 3 ? LIANA_OK : liana_layer_refuse(build, 0, "sequences: [batch, steps, channels]");
}

static liana_status check_volume(liana_layer_build *build)
{
    if (build->inputs[0].rank == 5) return LIANA_OK;
    return liana_layer_refuse(build, 0, "volumes: [batch, depth, height, width, channels]");
}

#define DROPOUT(symbol, class_name, function, doc)                                                            \
    const liana_layer_type liana__layer_##symbol = {                                                          \
        LIANA_PART(LAYER, liana_layer_type, class_name, doc, LIANA_PART_OPTIONS(liana_dropout_options, rows), \
                   .check = check_options),                                                                   \
        LIANA__INPUTS(1, 1),                                                                                  \
        .reads_training = true,                                                                               \
        .masking = LIANA_MASKING_KEPT,                                                                        \
        .weights = check_input,                                                                               \
        .call = function,                                                                                     \
        .from_keras = from_keras,                                                                             \
        .to_keras = to_keras,                                                                                 \
    };
DROPOUT(dropout, "Dropout", call_layer, "in training, sets random elements to zero and scales up the others")
DROPOUT(alpha_dropout, "AlphaDropout", call_alpha,
        "in training, sets random elements to SELU's least value, and keeps mean and variance")

#define SPATIAL_DROPOUT(symbol, class_name, has_format, check, doc)                  \
    const liana_layer_type liana__layer_##symbol = {                                 \
        LIANA_PART(LAYER, liana_layer_type, class_name, doc,                         \
                   LIANA_PART_OPTIONS(liana_spatial_dropout_options, spatial_rows)), \
        LIANA__INPUTS(1, 1),                                                         \
        .has_data_format = has_format,                                               \
        .reads_training = true,                                                      \
        .masking = LIANA_MASKING_KEPT,                                               \
        .weights = check,                                                            \
        .call = call_spatial,                                                        \
        .to_keras = spatial_to_keras,                                                \
    };
SPATIAL_DROPOUT(spatial_dropout1d, "SpatialDropout1D", false, check_sequence,
                "in training, sets whole channels of sequences to zero")
SPATIAL_DROPOUT(spatial_dropout2d, "SpatialDropout2D", true, liana__build_images,
                "in training, sets whole channels of images to zero")
SPATIAL_DROPOUT(spatial_dropout3d, "SpatialDropout3D", true, check_volume,
                "in training, sets whole channels of volumes to zero")

/* As in Keras it drops a mask. */
const liana_layer_type liana__layer_stochastic_depth = {
    LIANA_PART(LAYER, liana_layer_type, "StochasticDepth",
               "in training, sets random examples of a residual branch to zero and scales up the others",
               LIANA_PART_OPTIONS(liana_stochastic_depth_options, depth_rows)),
    LIANA__INPUTS(1, 1),
    .reads_training = true,
    .call = call_depth,
};
