/* Rescaling: multiplies by a scale and adds an offset, the same for all channels or one for each. */
#include "ir/graph.h"
#include "layers/option_rows.h"

#include <liana/layers/preprocessing.h>
#include <math.h>
#include <string.h>

static const liana_option rows[] = {
    LIANA_OPTION_ROW(liana_rescaling_options, scale, FLOAT, .required = true,
                     .doc = "factor, such as 0.00392156862745098"),
    LIANA_OPTION_ROW(liana_rescaling_options, offset, FLOAT, .doc = "added after scaling"),
    LIANA_OPTION_ROW(liana_rescaling_options, scales, VALUE, .doc = "a list of further factors, one for each channel"),
    LIANA_OPTION_ROW(liana_rescaling_options, offsets, VALUE,
                     .doc = "a list of numbers that are added too, one for each channel"),
};

static size_t count_of(const liana__value *list)
{
    return list && list->kind == LIANA__VALUE_LIST ? list->count : 0;
}

static liana_status check_list(liana_check *check, const char *option, const liana__value *list)
{
    bool is_list = !list || list->kind == LIANA__VALUE_NULL || list->kind == LIANA__VALUE_LIST;
    for (size_t i = 0; is_list && i < count_of(list); i++) {
        const liana__value *item = list->items[i];
        is_list = (item->kind == LIANA__VALUE_INT || item->kind == LIANA__VALUE_FLOAT) && isfinite(item->number);
    }
    if (is_list) return LIANA_OK;
    return liana_option_refuse(check, option, "expected a list of numbers, one for each channel");
}

static liana_status check_options(liana_check *check)
{
    const liana_rescaling_options *chosen = check->options;
    LIANA_TRY(check_list(check, "scales", chosen->scales));
    return check_list(check, "offsets", chosen->offsets);
}

static liana_status check_channels(liana_layer_build *build)
{
    const liana_rescaling_options *chosen = build->options;
    const liana_shape *x = &build->inputs[0];
    size_t channels = x->rank ? (size_t)x->dims[x->rank - 1] : 0;
    size_t scales = count_of(chosen->scales), offsets = count_of(chosen->offsets);
    bool fits = (!scales || scales == channels) && (!offsets || offsets == channels);
    return fits ? LIANA_OK : liana_layer_refuse(build, 0, "as many channels as there are scales and offsets");
}

/* A number for each channel, or one for all: scale * scales[i], or offset + offsets[i]. */
static liana_tensor numbers(liana_layer_call *call, const liana__value *each, double first, bool multiplied)
{
    liana_graph *graph = call->inputs[0].graph;
    liana_dtype dtype = liana_tensor_dtype(call->inputs[0]);
    const size_t count = count_of(each);
    if (!count) return liana_graph_scalar_at(call->here, graph, dtype, first);
    float *row = liana__arena_allocate(&graph->arena, count * sizeof *row);
    for (size_t i = 0; row && i < count; i++) {
        double number = each->items[i]->number;
        row[i] = (float)(multiplied ? first * number : first + number);
    }
    if (!row) return (liana_tensor){graph, 0};
    liana_tensor made = liana_graph_constant_at(call->here, graph, LIANA_F32, liana_shape_of((int64_t)count), row);
    return dtype == LIANA_F32 ? made : liana_op_cast_at(call->here, made, dtype);
}

static liana_tensor call_layer(liana_layer_call *call)
{
    const liana_rescaling_options *chosen = call->options;
    liana_tensor x = call->inputs[0];
    x = liana_op_multiply_at(call->here, x, numbers(call, chosen->scales, chosen->scale, true));
    if (chosen->offset == 0 && !count_of(chosen->offsets)) return x;
    return liana_op_add_at(call->here, x, numbers(call, chosen->offsets, chosen->offset, false));
}

/* Keras has a number or a list under one name. */
static void split_key(liana__arena *arena, liana__value *map, const char *key, const char *list_key, double neutral)
{
    const liana__value *value = liana__value_get(map, key);
    if (!value || value->kind != LIANA__VALUE_LIST) return;
    liana__value_set(arena, map, list_key, (liana__value *)(uintptr_t)value);
    liana__value_set(arena, map, key, liana__value_float(arena, neutral));
}

static void from_keras(liana__arena *arena, const liana__value *config, liana__value *map)
{
    (void)config;
    split_key(arena, map, "scale", "scales", 1);
    split_key(arena, map, "offset", "offsets", 0);
}

static void join_key(liana__arena *arena, liana__value *config, const char *key, const char *list_key,
                     const liana__value *each, double first, bool multiplied)
{
    liana__value_remove(config, list_key);
    liana__value *list = count_of(each) ? liana__value_list(arena) : NULL;
    for (size_t i = 0; list && i < each->count; i++) {
        double number = each->items[i]->number;
        liana__value_add(arena, list, liana__value_float(arena, multiplied ? first * number : first + number));
    }
    if (list) liana__value_set(arena, config, key, list);
}

static void to_keras(liana__arena *arena, const void *given, liana__value *config)
{
    const liana_rescaling_options *chosen = given;
    join_key(arena, config, "scale", "scales", chosen->scales, chosen->scale, true);
    join_key(arena, config, "offset", "offsets", chosen->offsets, chosen->offset, false);
}

const liana_layer_type liana__layer_rescaling = {
    LIANA_PART(LAYER, liana_layer_type, "Rescaling", "x * scale + offset",
               LIANA_PART_OPTIONS(liana_rescaling_options, rows), .check = check_options),
    LIANA__INPUTS(1, 1),
    .masking = LIANA_MASKING_KEPT,
    .weights = check_channels,
    .call = call_layer,
    .from_keras = from_keras,
    .to_keras = to_keras,
};
