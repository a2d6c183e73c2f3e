/* RandomGaussianBlur: blurs some images, each by a deviation of its own. */
#include "layers/colors/colors.h"

#include "ir/graph.h"

static const liana_option rows[] = {
    LIANA__FACTOR_ROW(liana_random_gaussian_blur_options, factor,
                      .doc = "the probability, or the two ends of its range; default: 1, which is from 0 to 1"),
    LIANA__PAIR_ROW(liana_random_gaussian_blur_options, kernel_size, .default_text = "3",
                    .doc = "pixels along each axis from which a pixel is made; odd"),
    LIANA__FACTOR_ROW(liana_random_gaussian_blur_options, sigma,
                      .doc = "standard deviation in pixels, or the two ends of its range; default: 1, which is from 0 "
                             "to 1"),
    LIANA__VALUE_RANGE_ROW(liana_random_gaussian_blur_options),
    LIANA__SEED_ROW(liana_random_gaussian_blur_options),
};

enum { MOST_PIXELS = 255 };
static const liana__range unit = {0, 1};

static liana_status check_options(liana_check *check)
{
    const liana_random_gaussian_blur_options *chosen = check->options;
    LIANA_TRY(liana__check_color_factor(check, "factor", &chosen->factor, unit, false));
    LIANA_TRY(liana__check_color_factor(check, "sigma", &chosen->sigma, unit, false));
    for (int i = 0; i < 2; i++) {
        const int64_t size = chosen->kernel_size[i];
        if (size % 2 && size <= MOST_PIXELS) continue;
        return liana_option_refuse(check, "kernel_size", "found %lld, expected an odd number up to %d", (long long)size,
                                   MOST_PIXELS);
    }
    return liana__check_value_range(check, &chosen->value_range);
}

/* [batch, 1, 1, size] with sum 1: exp(-(i - middle)^2 / (2 deviation^2)), for a deviation [batch, 1, 1, 1] or one. */
static liana_tensor make_kernel(const liana_layer_call *call, liana_tensor deviation, int64_t size)
{
    const liana_shape shape = liana_shape_of(1, 1, 1, size);
    liana_tensor places = liana_op_iota_at(call->here, call->inputs[0].graph, liana_tensor_dtype(deviation), shape, 3);
    places = liana__color_add(call, places, -(double)(size - 1) / 2);
    deviation = liana__color_add(call, deviation, 1e-6);
    liana_tensor kernel = liana_op_square_at(call->here, liana_op_divide_at(call->here, places, deviation));
    kernel = liana_op_exp_at(call->here, liana__color_multiply(call, kernel, -0.5));
    const liana_tensor sum = liana_op_reduce_sum_at(call->here, kernel, LIANA_AXES(3), true);
    return liana_op_divide_at(call->here, kernel, sum);
}

/* Number `index` of a kernel, for each image: [batch, 1, 1, 1]. */
static liana_tensor weight_at(const liana_layer_call *call, liana_tensor kernel, int64_t index)
{
    const int64_t start[] = {0, 0, 0, index};
    const int64_t limit[] = {liana_tensor_shape(kernel).dims[0], 1, 1, index + 1};
    return liana_op_slice_at(call->here, kernel, start, limit, NULL);
}

/* The images as they stand `down` rows below and `right` columns beside the first of the padded ones. */
static liana_tensor shifted(const liana_layer_call *call, liana_tensor padded, int64_t down, int64_t right)
{
    const liana_shape shape = liana_tensor_shape(call->inputs[0]);
    const int64_t start[] = {0, down, right, 0};
    const int64_t limit[] = {shape.dims[0], down + shape.dims[1], right + shape.dims[2], shape.dims[3]};
    return liana_op_slice_at(call->here, padded, start, limit, NULL);
}

static liana_tensor pad(const liana_layer_call *call, liana_tensor x, int64_t rows_around, int64_t columns_around)
{
    const int64_t around[] = {0, rows_around, columns_around, 0};
    return liana_op_pad_at(call->here, x, around, around, 0);
}

static liana_tensor add_up(const liana_layer_call *call, liana_tensor sum, liana_tensor pixels, liana_tensor weight)
{
    const liana_tensor term = liana_op_multiply_at(call->here, pixels, weight);
    return sum.id ? liana_op_add_at(call->here, sum, term) : term;
}

/* A square kernel is one along the rows, then one along the columns. Of another one, Keras takes the numbers of the
 * transposed kernel in the order in which they stand in memory. */
static liana_tensor blur(const liana_layer_call *call, liana_tensor x, const int64_t size[2], liana_tensor across,
                         liana_tensor down)
{
    liana_tensor sum = {0};
    if (size[0] != size[1]) {
        const liana_tensor padded = pad(call, x, size[0] / 2, size[1] / 2);
        for (int64_t i = 0; i < size[0] * size[1]; i++) {
            const liana_tensor weight = liana_op_multiply_at(call->here, weight_at(call, down, i / size[0]),
                                                             weight_at(call, across, i % size[0]));
            sum = add_up(call, sum, shifted(call, padded, i / size[1], i % size[1]), weight);
        }
        return sum;
    }
    liana_tensor padded = pad(call, x, 0, size[1] / 2);
    for (int64_t i = 0; i < size[1]; i++) {
        sum = add_up(call, sum, shifted(call, padded, 0, i), weight_at(call, across, i));
    }
    padded = pad(call, sum, size[0] / 2, 0);
    sum = (liana_tensor){0};
    for (int64_t i = 0; i < size[0]; i++) {
        sum = add_up(call, sum, shifted(call, padded, i, 0), weight_at(call, down, i));
    }
    return sum;
}

static liana_tensor call_layer(liana_layer_call *call)
{
    const liana_random_gaussian_blur_options *chosen = call->options;
    const int64_t *size = chosen->kernel_size;
    const liana__range sigma = liana__range_or(&chosen->sigma, 0, unit);
    const liana__range values = liana__value_range(&chosen->value_range);
    liana_tensor x = call->inputs[0];
    if (!call->training) return x;
    const liana_tensor draws = liana__image_draws(call, chosen->seed, 4);
    const liana_tensor across = make_kernel(call, liana__color_draw(call, draws, 2, sigma), size[0]);
    const liana_tensor down = make_kernel(call, liana__color_draw(call, draws, 3, sigma), size[1]);
    const liana_tensor is_chosen = liana__color_chosen(call, draws, 0, liana__range_or(&chosen->factor, 0, unit));
    x = liana_op_select_at(call->here, is_chosen, blur(call, x, size, across, down), x);
    return liana_op_clip_at(call->here, x, values.low, values.high);
}

static void to_keras(liana__arena *arena, const void *options, liana__value *config)
{
    const liana_random_gaussian_blur_options *chosen = options;
    liana__range_to_keras(arena, config, "factor", liana__range_or(&chosen->factor, 0, unit));
    liana__range_to_keras(arena, config, "sigma", liana__range_or(&chosen->sigma, 0, unit));
    liana__range_to_keras(arena, config, "value_range", liana__value_range(&chosen->value_range));
    liana__seed_to_keras(arena, chosen->seed, config);
}

const liana_layer_type liana__layer_random_gaussian_blur = {
    LIANA_PART(LAYER, liana_layer_type, "RandomGaussianBlur", "in training, blurs some images",
               LIANA_PART_OPTIONS(liana_random_gaussian_blur_options, rows), .check = check_options),
    LIANA__INPUTS(1, 1),
    .has_data_format = true,
    .reads_training = true,
    .masking = LIANA_MASKING_KEPT,
    .weights = liana__build_images,
    .call = call_layer,
    .to_keras = to_keras,
};
