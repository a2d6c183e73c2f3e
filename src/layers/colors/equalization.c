/* Equalization: each channel's values are replaced by how many of all values are below them. */
#include "layers/colors/colors.h"

#include "ir/graph.h"
#include "ops/gradients.h"

static const liana_option rows[] = {
    LIANA__VALUE_RANGE_ROW(liana_equalization_options),
    LIANA_OPTION_ROW(liana_equalization_options, bins, INT, .default_text = "256", .minimum = 1, .maximum = 65536,
                     .doc = "bins of the histogram"),
};

typedef struct histogram {
    const liana_layer_call *call;
    int64_t bins;
    int64_t count; /* of histograms, one after the other: one for each channel, or for each channel of each image */
    bool of_each;
    liana_tensor first; /* s32, [channels] or [batch, 1, 1, channels]: where the histogram of a value begins */
} histogram;

static liana_tensor whole(const liana_layer_call *call, liana_tensor x, int64_t bins)
{
    return liana_op_cast_at(call->here, liana_op_clip_at(call->here, x, 0, (double)bins - 1), LIANA_S32);
}

static histogram plan(const liana_layer_call *call, liana_tensor x, int64_t bins, bool of_each)
{
    const liana_shape shape = liana_tensor_shape(x);
    const int64_t batch = shape.dims[0], channels = shape.dims[3];
    const liana_shape all = of_each ? liana_shape_of(batch * channels) : liana_shape_of(channels);
    liana_tensor first = liana_op_iota_at(call->here, x.graph, LIANA_S32, all, 0);
    first = liana_op_multiply_at(call->here, first, liana__image_number(call, first, (double)bins));
    if (of_each) first = liana_op_reshape_at(call->here, first, liana_shape_of(batch, 1, 1, channels));
    return (histogram){call, bins, of_each ? batch * channels : channels, of_each, first};
}

/* f32 [histograms, bins] of values 0 to 255; rows that count as missing are left out. */
static liana_tensor count_values(const histogram *made, liana_tensor x)
{
    const liana_layer_call *call = made->call;
    const liana_shape shape = liana_tensor_shape(x), flat = liana_shape_of(-1);
    x = liana__color_multiply(call, x, (double)made->bins - 1);
    x = liana_op_divide_at(call->here, x, liana__image_number(call, x, 255));
    const liana_tensor bin = liana_op_add_at(call->here, whole(call, x, made->bins), made->first);
    liana_tensor one = liana_graph_scalar_at(call->here, x.graph, LIANA_F32, 1);
    if (call->present.id) {
        const liana_shape rows_shape = liana_shape_of(shape.dims[0], 1, 1, 1);
        one = liana_op_reshape_at(call->here, call->present, rows_shape);
    }
    one = liana_op_broadcast_to_at(call->here, one, shape);
    const liana_tensor counts =
        liana__op_scatter_add_at(call->here, liana_op_reshape_at(call->here, one, flat),
                                 liana_op_reshape_at(call->here, bin, flat), 0, made->count * made->bins);
    return liana_op_reshape_at(call->here, counts, liana_shape_of(made->count, made->bins));
}

/* round((sum - first) / (last - first) * 255), where `first` is the first sum that is not 0. */
static liana_tensor make_table(const liana_layer_call *call, liana_tensor counts)
{
    const liana_tensor zero = liana__image_number(call, counts, 0), one = liana__image_number(call, counts, 1);
    const liana_tensor sums = liana_op_cumsum_at(call->here, counts, 1, false, false);
    const liana_tensor last = liana_op_reduce_max_at(call->here, sums, LIANA_AXES(1), true);
    const liana_tensor is_counted = liana_op_greater_at(call->here, sums, zero);
    liana_tensor first = liana_op_select_at(call->here, is_counted, sums, last);
    first = liana_op_reduce_min_at(call->here, first, LIANA_AXES(1), true);
    liana_tensor width = liana_op_subtract_at(call->here, last, first);
    width = liana_op_select_at(call->here, liana_op_equal_at(call->here, width, zero), one, width);
    liana_tensor table = liana__color_multiply(call, liana_op_subtract_at(call->here, sums, first), 255);
    table = liana_op_round_at(call->here, liana_op_divide_at(call->here, table, width));
    return liana_op_clip_at(call->here, table, 0, 255);
}

/* A channel whose values are in one bin stays as it is. Gradients flow there alone. */
liana_tensor liana__color_equalize(const liana_layer_call *call, liana_tensor x, liana__range values, int64_t bins,
                                   bool of_each)
{
    const liana_dtype dtype = liana_tensor_dtype(x);
    const liana_shape shape = liana_tensor_shape(x);
    x = liana__color_multiply(call, x, 255 / (values.high - values.low));
    x = liana__color_add(call, x, -values.low * (255 / (values.high - values.low)));
    liana_tensor fixed = liana_op_stop_gradient_at(call->here, x);
    if (dtype != LIANA_F32) fixed = liana_op_cast_at(call->here, fixed, LIANA_F32);
    const histogram made = plan(call, x, bins, of_each);
    const liana_tensor counts = count_values(&made, fixed);
    const liana_tensor table = liana_op_reshape_at(call->here, make_table(call, counts), liana_shape_of(-1));
    liana_tensor place = liana_op_divide_at(call->here, fixed, liana__image_number(call, fixed, 255));
    place = whole(call, liana__color_multiply(call, place, (double)bins - 1), bins);
    place = liana_op_add_at(call->here, place, made.first);
    liana_tensor looked_up = liana_op_gather_at(call->here, table, place, 0);
    if (dtype != LIANA_F32) looked_up = liana_op_cast_at(call->here, looked_up, dtype);
    const liana_tensor used = liana_op_greater_at(call->here, counts, liana__image_number(call, counts, 0));
    liana_tensor stays = liana_op_cast_at(call->here, used, LIANA_F32);
    stays = liana_op_reduce_sum_at(call->here, stays, LIANA_AXES(1), false);
    stays = liana_op_less_equal_at(call->here, stays, liana__image_number(call, stays, 1));
    const int64_t images = of_each ? shape.dims[0] : 1;
    stays = liana_op_reshape_at(call->here, stays, liana_shape_of(images, 1, 1, shape.dims[3]));
    x = liana_op_select_at(call->here, stays, x, looked_up);
    x = liana__color_multiply(call, x, (values.high - values.low) / 255);
    return liana__color_add(call, x, values.low);
}

static liana_status check_options(liana_check *check)
{
    return liana__check_value_range(check, &((const liana_equalization_options *)check->options)->value_range);
}

static liana_tensor call_layer(liana_layer_call *call)
{
    const liana_equalization_options *chosen = call->options;
    if (!call->training) return call->inputs[0];
    const liana__range values = liana__color_values(&chosen->value_range);
    return liana__color_equalize(call, call->inputs[0], values, chosen->bins, false);
}

static void to_keras(liana__arena *arena, const void *options, liana__value *config)
{
    const liana_equalization_options *chosen = options;
    liana__range_to_keras(arena, config, "value_range", liana__color_values(&chosen->value_range));
}

static const char *find_whole_batch(const void *options, bool trainable)
{
    (void)options;
    (void)trainable;
    return "histograms";
}

const liana_layer_type liana__layer_equalization = {
    LIANA_PART(LAYER, liana_layer_type, "Equalization", "in training, makes histograms of values flat",
               LIANA_PART_OPTIONS(liana_equalization_options, rows), .check = check_options),
    LIANA__INPUTS(1, 1),
    .has_data_format = true,
    .reads_training = true,
    .whole_batch = find_whole_batch,
    .masking = LIANA_MASKING_KEPT,
    .weights = liana__build_images,
    .call = call_layer,
    .to_keras = to_keras,
};
