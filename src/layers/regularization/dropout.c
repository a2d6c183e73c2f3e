/* Dropout: sets elements to zero by chance while a model is trained. */
#include "layers/option_rows.h"

#include <liana/layers/regularization.h>
#include <stdio.h>

static const liana_option rows[] = {
    LIANA_OPTION_ROW(liana_dropout_options, rate, FLOAT, .required = true, .minimum = 0, .maximum = 0.999999,
                     .doc = "share of the elements that training sets to zero, below 1"),
    LIANA_OPTION_ROW(liana_dropout_options, noise_shape, INTS, .minimum = -1, .maximum = INT32_MAX,
                     .doc = "one number for each axis, the batch first: -1 (or the axis's size), or 1 if all elements "
                            "along the axis share one draw; default: all -1; [-1, 1, 1, 1] drops whole examples"),
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

/* Draws for as many elements as noise_shape leaves, and each of them for all that share it. */
static liana_tensor shared_noise(liana_layer_call *call)
{
    const liana_dropout_options *chosen = call->options;
    liana_tensor x = call->inputs[0];
    liana_shape shape = liana_tensor_shape(x);
    for (int i = 0; i < shape.rank; i++) {
        if (chosen->noise_shape.values[i] == 1) shape.dims[i] = 1;
    }
    liana_tensor one = liana_graph_scalar_at(call->here, x.graph, liana_tensor_dtype(x), 1);
    liana_tensor noise = liana_op_broadcast_to_at(call->here, one, shape);
    noise = liana_op_dropout_at(call->here, noise, call->positions, chosen->rate, call->seed, call->salt);
    return liana_op_multiply_at(call->here, x, noise);
}

static liana_tensor call_layer(liana_layer_call *call)
{
    const liana_dropout_options *chosen = call->options;
    if (!call->training || chosen->rate == 0) return call->inputs[0];
    if (chosen->noise_shape.count) return shared_noise(call);
    return liana_op_dropout_at(call->here, call->inputs[0], call->positions, chosen->rate, call->seed, call->salt);
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
    liana__value *list = shape->count ? liana__value_list(arena) : liana__value_null(arena);
    if (!list) return;
    for (int64_t i = 0; i < shape->count; i++) {
        bool own = shape->values[i] == -1;
        liana__value_add(arena, list, own ? liana__value_null(arena) : liana__value_int(arena, shape->values[i]));
    }
    liana__value_set(arena, config, "noise_shape", list);
}

const liana_layer_type liana__layer_dropout = {
    LIANA_PART(LAYER, liana_layer_type, "Dropout", "in training, sets random elements to zero and scales up the others",
               LIANA_PART_OPTIONS(liana_dropout_options, rows), .check = check_options),
    LIANA__INPUTS(1, 1),
    .reads_training = true,
    .masking = LIANA_MASKING_KEPT,
    .weights = check_input,
    .call = call_layer,
    .from_keras = from_keras,
    .to_keras = to_keras,
};
