/* What layers of colours share: their options, numbers that are drawn for each image, and simple changes. */
#include "layers/colors/colors.h"

#include "ir/graph.h"

#include <math.h>

static const liana__range unit = {0, 1};

/* ---- options ---- */

liana_status liana__check_color_factor(liana_check *check, const char *option, const liana_floats *factor,
                                       liana__range bounds, bool required)
{
    const double *items = factor->items;
    const char *expected = "expected a number, or a list of two, from";
    if (factor->count == 0) {
        if (!required) return LIANA_OK;
        return liana_option_refuse(check, option, "it is missing, %s %g to %g", expected, bounds.low, bounds.high);
    }
    if (factor->count > 2) {
        return liana_option_refuse(check, option, "found %zu numbers, %s %g to %g", factor->count, expected, bounds.low,
                                   bounds.high);
    }
    const double last = items[factor->count - 1];
    const bool fits = items[0] <= bounds.high && last >= bounds.low;
    if (fits) return LIANA_OK;
    return liana_option_refuse(check, option, "found %g, %s %g to %g", items[0] > bounds.high ? items[0] : last,
                               expected, bounds.low, bounds.high);
}

liana_status liana__check_value_range(liana_check *check, const liana_floats *range)
{
    if (range->count == 0 || (range->count == 2 && range->items[0] != range->items[1])) return LIANA_OK;
    return liana_option_refuse(check, "value_range", "found %zu numbers%s, expected two that differ, such as [0, 255]",
                               range->count, range->count == 2 ? " that are equal" : "");
}

liana_status liana__build_color_images(liana_layer_build *build)
{
    LIANA_TRY(liana__build_images(build));
    const int64_t channels = build->inputs[0].dims[3];
    if (channels == 1 || channels == 3) return LIANA_OK;
    return liana_layer_refuse(build, 0, "images of 3 channels, or 1");
}

liana_status liana__build_three_channels(liana_layer_build *build)
{
    LIANA_TRY(liana__build_images(build));
    if (build->inputs[0].dims[3] == 3) return LIANA_OK;
    return liana_layer_refuse(build, 0, "images of 3 channels: red, green and blue");
}

liana__range liana__range_or(const liana_floats *factor, double least, liana__range preset)
{
    return factor->count ? liana__factor_range(factor, 0, least) : preset;
}

liana__range liana__value_range(const liana_floats *range)
{
    return liana__range_or(range, 0, (liana__range){0, 255});
}

void liana__range_to_keras(liana__arena *arena, liana__value *config, const char *option, liana__range range)
{
    const double ends[] = {range.low, range.high};
    liana__value *list = liana__value_list(arena);
    for (size_t i = 0; list && i < 2; i++) {
        const bool is_whole = ends[i] == floor(ends[i]) && fabs(ends[i]) < 0x1p53;
        liana__value_add(arena, list,
                         is_whole ? liana__value_int(arena, (int64_t)ends[i]) : liana__value_float(arena, ends[i]));
    }
    if (list) liana__value_set(arena, config, option, list);
}

/* ---- numbers ---- */

liana_tensor liana__color_draw(const liana_layer_call *call, liana_tensor draws, int64_t index, liana__range range)
{
    const liana_dtype dtype = liana_tensor_dtype(call->inputs[0]);
    if (range.low == range.high) return liana_graph_scalar_at(call->here, call->inputs[0].graph, dtype, range.low);
    const liana_tensor drawn = liana__image_draw(call, draws, index, range);
    return dtype == LIANA_F32 ? drawn : liana_op_cast_at(call->here, drawn, dtype);
}

liana_tensor liana__color_add(const liana_layer_call *call, liana_tensor x, double number)
{
    return number == 0 ? x : liana_op_add_at(call->here, x, liana__image_number(call, x, number));
}

liana_tensor liana__color_multiply(const liana_layer_call *call, liana_tensor x, double number)
{
    return number == 1 ? x : liana_op_multiply_at(call->here, x, liana__image_number(call, x, number));
}

liana_tensor liana__color_chosen(const liana_layer_call *call, liana_tensor draws, int64_t index, liana__range range)
{
    const liana_tensor limit = liana__image_draw(call, draws, index, range);
    const liana_tensor drawn = liana__image_draw(call, draws, index + 1, unit);
    return liana_op_less_at(call->here, drawn, limit);
}

liana_tensor liana__color_rescale(const liana_layer_call *call, liana_tensor x, liana__range from, liana__range to)
{
    if (from.low == to.low && from.high == to.high) return x;
    x = liana__color_add(call, x, -from.low);
    const double width = from.high - from.low;
    if (width != 1) x = liana_op_divide_at(call->here, x, liana__image_number(call, x, width));
    return liana__color_add(call, liana__color_multiply(call, x, to.high - to.low), to.low);
}

/* ---- drawn factors ---- */

liana_tensor liana__draw_contrast(const liana_layer_call *call, liana_tensor draws, int64_t index, liana__range range)
{
    return liana__color_draw(call, draws, index, (liana__range){1 - range.low, 1 + range.high});
}

/* In either direction. */
liana_tensor liana__draw_hue(const liana_layer_call *call, liana_tensor draws, int64_t index, liana__range range)
{
    const liana_tensor half = liana__color_multiply(call, liana__color_draw(call, draws, index, range), 0.5);
    if (range.low == 0 && range.high == 0) return half;
    const liana_tensor side = liana__color_draw(call, draws, index + 1, unit);
    const liana_tensor back = liana_op_greater_at(call->here, side, liana__image_number(call, side, 0.5));
    return liana_op_select_at(call->here, back, liana_op_negate_at(call->here, half), half);
}

/* f / (1 - f), with Keras's summand that keeps 1 from being a division by 0. */
liana_tensor liana__draw_saturation(const liana_layer_call *call, liana_tensor draws, int64_t index, liana__range range)
{
    const liana_tensor factor = liana__color_draw(call, draws, index, range);
    const liana_tensor rest = liana_op_subtract_at(call->here, liana__image_number(call, factor, 1), factor);
    return liana_op_divide_at(call->here, factor, liana__color_add(call, rest, 1e-7));
}

/* A whole number below the upper end, or the only one. */
liana_tensor liana__draw_bits(const liana_layer_call *call, liana_tensor draws, int64_t index, liana__range range)
{
    if (range.low == range.high) return liana__color_draw(call, draws, index, range);
    const liana_tensor drawn = liana_op_floor_at(call->here, liana__image_draw(call, draws, index, range));
    return liana_op_minimum_at(call->here, drawn, liana__image_number(call, drawn, range.high - 1));
}

/* As in Keras, only the upper end is a part of 255. */
liana_tensor liana__draw_level(const liana_layer_call *call, liana_tensor draws, int64_t index, liana__range range)
{
    return liana__color_draw(call, draws, index, (liana__range){range.low, range.high * 255});
}

liana__layer_key liana__color_second_key(const liana_layer_call *call, int64_t seed)
{
    liana__layer_key key = liana__layer_draws(call, seed);
    key.seed = liana__held_seed(key.seed, 1);
    return key;
}

/* [start, start + length) along an axis, as bool [batch, .., size, ..]. */
static liana_tensor interval(const liana_layer_call *call, liana_tensor place, liana_tensor part, int axis)
{
    const int64_t size = liana_tensor_shape(call->inputs[0]).dims[axis];
    liana_shape line = liana_shape_of(1, 1, 1, 1);
    line.dims[axis] = size;
    const liana_tensor cells = liana_op_iota_at(call->here, place.graph, liana_tensor_dtype(place), line, axis);
    const liana_tensor length = liana__color_multiply(call, part, (double)size);
    const liana_tensor rest = liana_op_subtract_at(call->here, liana__image_number(call, place, (double)size), length);
    const liana_tensor start = liana_op_multiply_at(call->here, place, rest);
    const liana_tensor end = liana_op_add_at(call->here, start, length);
    return liana_op_logical_and_at(call->here, liana_op_greater_equal_at(call->here, cells, start),
                                   liana_op_less_at(call->here, cells, end));
}

liana__rectangle liana__color_rectangle(const liana_layer_call *call, liana_tensor draws, int64_t index,
                                        liana_tensor across, liana_tensor down)
{
    const liana_tensor columns = interval(call, liana__image_draw(call, draws, index, unit), across, 2);
    const liana_tensor lines = interval(call, liana__image_draw(call, draws, index + 1, unit), down, 1);
    return (liana__rectangle){liana_op_logical_and_at(call->here, columns, lines),
                              liana_op_multiply_at(call->here, across, down)};
}

/* ---- changes ---- */

static liana_tensor limited(const liana_layer_call *call, liana_tensor x, liana__range values)
{
    return liana_op_clip_at(call->here, x, values.low, values.high);
}

/* a + share * (b - a). */
static liana_tensor blend(const liana_layer_call *call, liana_tensor a, liana_tensor b, liana_tensor share)
{
    const liana_tensor change = liana_op_subtract_at(call->here, b, a);
    return liana_op_add_at(call->here, a, liana_op_multiply_at(call->here, share, change));
}

liana_tensor liana__color_brightness(const liana_layer_call *call, liana_tensor x, liana__range values,
                                     liana_tensor factor)
{
    const liana_tensor delta = liana__color_multiply(call, factor, values.high - values.low);
    return limited(call, liana_op_add_at(call->here, x, delta), values);
}

/* `factor` is the number with which the distance from the mean is multiplied. */
liana_tensor liana__color_contrast(const liana_layer_call *call, liana_tensor x, liana__range values,
                                   liana_tensor factor)
{
    const liana_tensor mean = liana_op_reduce_mean_at(call->here, x, LIANA_AXES(1, 2), true);
    x = liana_op_multiply_at(call->here, liana_op_subtract_at(call->here, x, mean), factor);
    return limited(call, liana_op_add_at(call->here, x, mean), values);
}

/* The weights of ITU-R BT.601, in the digits that Keras has. */
liana_tensor liana__color_gray(const liana_layer_call *call, liana_tensor x)
{
    static const float weights[] = {0.2989F, 0.587F, 0.114F};
    if (liana_tensor_shape(x).dims[3] == 1) return x;
    liana_tensor row = liana_graph_constant_at(call->here, x.graph, LIANA_F32, liana_shape_of(3), weights);
    if (liana_tensor_dtype(x) != LIANA_F32) row = liana_op_cast_at(call->here, row, liana_tensor_dtype(x));
    return liana_op_reduce_sum_at(call->here, liana_op_multiply_at(call->here, x, row), LIANA_AXES(3), true);
}

liana_tensor liana__color_degenerate(const liana_layer_call *call, liana_tensor x, liana__range values,
                                     liana_tensor factor)
{
    return limited(call, blend(call, x, liana__color_gray(call, x), factor), values);
}

/* The blurred image has 5/13 of a pixel and 1/13 of each of its 8 neighbours. */
liana_tensor liana__color_sharpness(const liana_layer_call *call, liana_tensor x, liana__range values,
                                    liana_tensor factor)
{
    const int64_t channels = liana_tensor_shape(x).dims[3];
    const liana_dtype dtype = liana_tensor_dtype(x);
    float *numbers = liana__arena_allocate(&x.graph->arena, (size_t)(9 * channels) * sizeof *numbers);
    if (!numbers) return liana__graph_fail(x.graph, call->here, LIANA_OUT_OF_MEMORY, "out of memory for the graph");
    for (int64_t i = 0; i < 9 * channels; i++) numbers[i] = (i / channels == 4 ? 5.0F : 1.0F) / 13.0F;
    const liana_shape shape = liana_shape_of(3, 3, channels, 1);
    liana_tensor kernel = liana_graph_constant_at(call->here, x.graph, LIANA_F32, shape, numbers);
    if (dtype != LIANA_F32) kernel = liana_op_cast_at(call->here, kernel, dtype);
    const liana_conv_options same = {.padding = LIANA_PADDING_SAME};
    const liana_tensor smooth = liana_op_depthwise_conv2d_at(call->here, x, kernel, same);
    const liana_tensor share = liana__color_add(call, liana__color_multiply(call, factor, -2), 1);
    return limited(call, blend(call, x, smooth, share), values);
}

/* `factor` is the number of upper bits, whole. They are whole multiples of 2^(8 - factor). No gradient flows. */
liana_tensor liana__color_posterize(const liana_layer_call *call, liana_tensor x, liana__range values,
                                    liana_tensor factor)
{
    static const float multiples[] = {256, 128, 64, 32, 16, 8, 4, 2, 1};
    const liana__range bytes = {0, 255};
    liana_graph *graph = x.graph;
    const liana_tensor table = liana_graph_constant_at(call->here, graph, LIANA_F32, liana_shape_of(9), multiples);
    liana_tensor multiple = liana_op_gather_at(call->here, table, liana_op_cast_at(call->here, factor, LIANA_S32), 0);
    multiple = liana_op_cast_at(call->here, multiple, liana_tensor_dtype(x));
    x = liana_op_stop_gradient_at(call->here, x);
    x = limited(call, liana__color_rescale(call, x, values, bytes), bytes);
    x = liana_op_floor_at(call->here, liana_op_divide_at(call->here, x, multiple));
    return liana__color_rescale(call, liana_op_multiply_at(call->here, x, multiple), bytes, values);
}

liana_tensor liana__color_solarize(const liana_layer_call *call, liana_tensor x, liana__range values,
                                   liana_tensor addition, liana_tensor threshold)
{
    const liana__range bytes = {0, 255};
    x = liana__color_rescale(call, x, values, bytes);
    x = limited(call, liana_op_add_at(call->here, x, addition), bytes);
    const liana_tensor other = liana_op_subtract_at(call->here, liana__image_number(call, x, 255), x);
    x = liana_op_select_at(call->here, liana_op_less_at(call->here, x, threshold), x, other);
    return liana__color_rescale(call, x, bytes, values);
}

/* A channel of one value stays as it is; so does one with a NaN. */
liana_tensor liana__color_auto_contrast(const liana_layer_call *call, liana_tensor x, liana__range values)
{
    const liana__range bytes = {0, 255};
    const liana_tensor given = x;
    x = liana__color_rescale(call, x, values, bytes);
    const liana_tensor low = liana_op_reduce_min_at(call->here, x, LIANA_AXES(1, 2), true);
    const liana_tensor high = liana_op_reduce_max_at(call->here, x, LIANA_AXES(1, 2), true);
    const liana_tensor flat = liana_op_equal_at(call->here, low, high), one = liana__image_number(call, x, 1);
    liana_tensor width = liana_op_subtract_at(call->here, high, low);
    width = liana_op_select_at(call->here, flat, one, width);
    const liana_tensor scale = liana_op_divide_at(call->here, liana__image_number(call, x, 255), width);
    const liana_tensor offset = liana_op_multiply_at(call->here, low, scale);
    x = liana_op_subtract_at(call->here, liana_op_multiply_at(call->here, x, scale), offset);
    x = liana__color_rescale(call, limited(call, x, bytes), bytes, values);
    const liana_tensor is_nan = liana_op_not_equal_at(call->here, x, x);
    const liana_tensor stays = liana_op_logical_or_at(call->here, flat, is_nan);
    return liana_op_select_at(call->here, stays, given, x);
}
