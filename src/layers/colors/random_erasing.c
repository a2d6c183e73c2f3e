/* RandomErasing: fills a rectangle of some images (Zhong and others 2017). */
#include "layers/colors/colors.h"

#include "ir/graph.h"

static const liana_option rows[] = {
    LIANA__FACTOR_ROW(liana_random_erasing_options, factor,
                      .doc = "the probability, or the two ends of its range; default: 1, which is from 0 to 1"),
    LIANA__FACTOR_ROW(liana_random_erasing_options, scale,
                      .doc = "the square of the rectangle's part of each side, or the two ends of its range; default: "
                             "[0.02, 0.33]"),
    LIANA_OPTION_ROW(liana_random_erasing_options, fill_value, FLOATS,
                     .doc = "one number, or one for each of 3 channels; default: normal numbers times the greatest "
                            "value"),
    LIANA__VALUE_RANGE_ROW(liana_random_erasing_options),
    LIANA__SEED_ROW(liana_random_erasing_options),
};

static const liana__range unit = {0, 1}, usual_scale = {0.02, 0.33};

static liana_status check_options(liana_check *check)
{
    const liana_random_erasing_options *chosen = check->options;
    LIANA_TRY(liana__check_color_factor(check, "factor", &chosen->factor, unit, false));
    LIANA_TRY(liana__check_factor(check, "scale", &chosen->scale, unit.low, unit.high));
    const size_t count = chosen->fill_value.count;
    if (count > 1 && count != 3) {
        return liana_option_refuse(check, "fill_value",
                                   "found %zu numbers, expected one, or one for each of 3 channels", count);
    }
    return liana__check_value_range(check, &chosen->value_range);
}

static liana_status check_input(liana_layer_build *build)
{
    const liana_random_erasing_options *chosen = build->options;
    return chosen->fill_value.count == 3 ? liana__build_three_channels(build) : liana__build_images(build);
}

static liana_tensor fill_of(const liana_layer_call *call, liana__range values)
{
    const liana_random_erasing_options *chosen = call->options;
    const liana_tensor x = call->inputs[0];
    const liana_dtype dtype = liana_tensor_dtype(x);
    const liana_floats *given = &chosen->fill_value;
    liana_tensor fill;
    if (given->count) {
        float numbers[3];
        for (size_t i = 0; i < given->count; i++) numbers[i] = (float)given->items[i];
        fill = liana_graph_constant_at(call->here, x.graph, LIANA_F32, liana_shape_of((int64_t)given->count), numbers);
        if (dtype != LIANA_F32) fill = liana_op_cast_at(call->here, fill, dtype);
    } else {
        const liana_shape shape = liana_tensor_shape(x);
        const liana_shape image = liana_shape_of(shape.dims[1], shape.dims[2], shape.dims[3]);
        const liana__layer_key key = liana__color_second_key(call, chosen->seed);
        fill = liana_op_random_normal_at(call->here, call->positions, dtype, image, 0, 1, key.seed, key.salt);
        fill = liana__color_multiply(call, fill, values.high);
    }
    return liana_op_clip_at(call->here, fill, values.low, values.high);
}

static liana_tensor call_layer(liana_layer_call *call)
{
    const liana_random_erasing_options *chosen = call->options;
    const liana__range scale = liana__range_or(&chosen->scale, 0, usual_scale);
    const liana_tensor x = call->inputs[0];
    if (!call->training) return x;
    const liana_tensor draws = liana__image_draws(call, chosen->seed, 6);
    liana_tensor sides[2];
    for (int i = 0; i < 2; i++) sides[i] = liana_op_sqrt_at(call->here, liana__image_draw(call, draws, 2 + i, scale));
    const liana__rectangle at = liana__color_rectangle(call, draws, 4, sides[0], sides[1]);
    const liana_tensor is_chosen = liana__color_chosen(call, draws, 0, liana__range_or(&chosen->factor, 0, unit));
    const liana_tensor filled = liana_op_logical_and_at(call->here, at.is_within, is_chosen);
    return liana_op_select_at(call->here, filled, fill_of(call, liana__value_range(&chosen->value_range)), x);
}

static void to_keras(liana__arena *arena, const void *options, liana__value *config)
{
    const liana_random_erasing_options *chosen = options;
    const liana_floats *fill = &chosen->fill_value;
    liana__range_to_keras(arena, config, "factor", liana__range_or(&chosen->factor, 0, unit));
    liana__range_to_keras(arena, config, "scale", liana__range_or(&chosen->scale, 0, usual_scale));
    if (!fill->count) liana__value_set(arena, config, "fill_value", liana__value_null(arena));
    if (fill->count == 1) liana__value_set(arena, config, "fill_value", liana__value_float(arena, fill->items[0]));
    liana__range_to_keras(arena, config, "value_range", liana__value_range(&chosen->value_range));
    liana__seed_to_keras(arena, chosen->seed, config);
}

const liana_layer_type liana__layer_random_erasing = {
    LIANA_PART(LAYER, liana_layer_type, "RandomErasing", "in training, fills a rectangle of some images",
               LIANA_PART_OPTIONS(liana_random_erasing_options, rows), .check = check_options),
    LIANA__INPUTS(1, 1),
    .has_data_format = true,
    .reads_training = true,
    .masking = LIANA_MASKING_KEPT,
    .weights = check_input,
    .call = call_layer,
    .to_keras = to_keras,
};
