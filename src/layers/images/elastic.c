/* RandomElasticTransform: moves the pixels of images by smooth random distances, while a model is trained (Simard,
 * Steinkraus and Platt, "Best practices for convolutional neural networks", 2003).
 *
 * With a factor f that is drawn from the range of `scale`, alpha = 0.1 f max(height, width) and sigma = 0.05 f
 * min(height, width). Distances are normal numbers of deviation sigma, blurred by a Gaussian of sigma that ends at 3
 * floor(sigma) pixels, times alpha. */
#include "layers/images/sample.h"

static const liana_option rows[] = {
    LIANA__FACTOR_ROW(liana_random_elastic_transform_options, factor,
                      .doc = "range of the probability that an image is changed: two numbers, or f for 0 to f; "
                             "default: 1"),
    LIANA__FACTOR_ROW(liana_random_elastic_transform_options, scale,
                      .doc = "range of the size of the distances: two numbers, or f for 0 to f; default: 1"),
    LIANA__SAMPLING_INTERPOLATION_ROW(liana_random_elastic_transform_options),
    LIANA_OPTION_ROW(liana_random_elastic_transform_options, fill_mode, ENUM, .default_text = "reflect",
                     .names = liana__elastic_fill_modes, .doc = "how pixels beyond the edges are found"),
    LIANA__FILL_VALUE_ROW(liana_random_elastic_transform_options),
    LIANA__FACTOR_ROW(liana_random_elastic_transform_options, value_range,
                      .doc = "the least and the greatest value of the result; default: 0 and 255"),
    LIANA__SEED_ROW(liana_random_elastic_transform_options),
};

static liana_status check_options(liana_check *check)
{
    const liana_random_elastic_transform_options *chosen = check->options;
    const liana_floats *range = &chosen->value_range;
    LIANA_TRY(liana__check_factor(check, "factor", &chosen->factor, 0, 1));
    LIANA_TRY(liana__check_factor(check, "scale", &chosen->scale, 0, 1));
    if (range->count == 0 || (range->count == 2 && range->items[0] < range->items[1])) return LIANA_OK;
    return liana_option_refuse(check, "value_range",
                               "expected a list of two numbers, the least and the greatest value, such as [0, 255]");
}

typedef const liana_layer_call *builder;

/* The first draws of an example; the normal numbers are made of the words behind them. */
enum { PROBABILITY, THRESHOLD, SIZE, NUM_DRAWS };

static liana_tensor times(builder c, liana_tensor a, double b)
{
    return liana_op_multiply_at(c->here, a, liana__image_number(c, a, b));
}

/* What each distance counts; sigma is f32 [batch, 1, 1]. */
static liana_tensor gaussian(builder c, liana_tensor distance, liana_tensor sigma)
{
    const liana_location here = c->here;
    liana_tensor reach = times(c, liana_op_floor_at(here, sigma), 3);
    liana_tensor is_near = liana_op_less_equal_at(here, liana_op_abs_at(here, distance), reach);
    liana_tensor power = liana_op_square_at(here, liana_op_divide_at(here, distance, sigma));
    power = liana_op_exp_at(here, times(c, power, -0.5));
    return liana_op_select_at(here, is_near, power, liana__image_number(c, power, 0));
}

static liana_tensor places(builder c, int64_t size, int axis)
{
    liana_shape shape = liana_shape_of(1, 1, 1);
    shape.dims[axis] = size;
    return liana_op_iota_at(c->here, c->inputs[0].graph, LIANA_F32, shape, axis);
}

/* [batch, size, size]: how much each cell of an axis counts for each other one. There is nothing beyond the edges. */
static liana_tensor blur(builder c, liana_tensor sigma, int64_t size)
{
    return gaussian(c, liana_op_subtract_at(c->here, places(c, size, 1), places(c, size, 2)), sigma);
}

/* [batch, 1, 1]: the sum of all that a Gaussian counts; no sigma is above `most`. */
static liana_tensor total(builder c, liana_tensor sigma, double most)
{
    const int64_t reach = 3 * (int64_t)most;
    liana_tensor distance = places(c, 2 * reach + 1, 2);
    distance = liana_op_subtract_at(c->here, distance, liana__image_number(c, distance, (double)reach));
    return liana_op_reduce_sum_at(c->here, gaussian(c, distance, sigma), LIANA_AXES(2), true);
}

/* Distances along the two axes, each [batch, height, width, 1]; `size` [batch, 1, 1] is of the range of `scale`. */
static void make_distances(builder c, liana_tensor size, double most, liana_tensor distances[2])
{
    const liana_location here = c->here;
    const liana_shape shape = liana_tensor_shape(c->inputs[0]);
    const liana_random_elastic_transform_options *chosen = c->options;
    const int64_t batch = shape.dims[0], height = shape.dims[1], width = shape.dims[2], pixels = height * width;
    const double longer = (double)(height > width ? height : width),
                 shorter = (double)(height < width ? height : width);
    const liana__layer_key key = liana__layer_draws(c, chosen->seed);
    liana_tensor normal = liana_op_random_normal_at(here, c->positions, LIANA_F32,
                                                    liana_shape_of(NUM_DRAWS + 2 * pixels), 0, 1, key.seed, key.salt);
    liana_tensor sigma = times(c, size, 0.05 * shorter), positive = liana_op_clip_at(here, sigma, 1e-3, shorter);
    liana_tensor sum = total(c, positive, 0.05 * shorter * most);
    liana_tensor factor = liana_op_multiply_at(here, sigma, times(c, size, 0.1 * longer));
    factor = liana_op_divide_at(here, factor, liana_op_square_at(here, sum));
    liana_tensor lines = blur(c, positive, height), columns = blur(c, positive, width);
    for (int i = 0; i < 2; i++) {
        const int64_t start[] = {0, NUM_DRAWS + i * pixels}, limit[] = {batch, NUM_DRAWS + (i + 1) * pixels};
        liana_tensor x = liana_op_slice_at(here, normal, start, limit, NULL);
        x = liana_op_reshape_at(here, x, liana_shape_of(batch, height, width));
        x = liana_op_matmul_at(here, liana_op_matmul_at(here, lines, x, false, false), columns, false, false);
        x = liana_op_multiply_at(here, x, factor);
        distances[i] = liana_op_reshape_at(here, x, liana_shape_of(batch, height, width, 1));
    }
}

static liana_tensor call_layer(liana_layer_call *call)
{
    const liana_location here = call->here;
    const liana_random_elastic_transform_options *chosen = call->options;
    const liana__range share = liana__factor_range(&chosen->factor, 1, 0);
    const liana__range scale = liana__factor_range(&chosen->scale, 1, 0);
    const liana_floats *limits = &chosen->value_range;
    liana_tensor x = call->inputs[0], distances[2];
    if (!call->training || share.high == 0 || scale.high == 0) return x;
    const liana_shape shape = liana_tensor_shape(x);
    liana_tensor draws = liana__image_draws(call, chosen->seed, NUM_DRAWS);
    liana_tensor size = liana__image_draw(call, draws, SIZE, scale);
    size = liana_op_reshape_at(here, size, liana_shape_of(shape.dims[0], 1, 1));
    make_distances(call, size, scale.high, distances);
    const liana__sampling sampling = {chosen->interpolation, chosen->fill_mode, chosen->fill_value};
    liana_tensor rows_at = liana_op_add_at(here, liana__image_places(call, shape.dims[1], 1), distances[0]);
    liana_tensor columns_at = liana_op_add_at(here, liana__image_places(call, shape.dims[2], 2), distances[1]);
    liana_tensor moved = liana__map_coordinates(call, x, rows_at, columns_at, &sampling);
    liana_tensor is_moved = liana_op_less_at(here, liana__image_draw(call, draws, THRESHOLD, (liana__range){0, 1}),
                                             liana__image_draw(call, draws, PROBABILITY, share));
    x = liana_op_select_at(here, is_moved, moved, x);
    return liana_op_clip_at(here, x, limits->count ? limits->items[0] : 0, limits->count ? limits->items[1] : 255);
}

static void to_keras(liana__arena *arena, const void *given, liana__value *config)
{
    const liana_random_elastic_transform_options *chosen = given;
    const liana_floats preset = LIANA_FLOATS(0, 255);
    liana__seed_to_keras(arena, chosen->seed, config);
    liana__factor_to_keras(arena, config, "factor", &chosen->factor, 1);
    liana__factor_to_keras(arena, config, "scale", &chosen->scale, 1);
    liana__factor_to_keras(arena, config, "value_range", chosen->value_range.count ? &chosen->value_range : &preset, 0);
}

const liana_layer_type liana__layer_random_elastic_transform = {
    LIANA_PART(LAYER, liana_layer_type, "RandomElasticTransform",
               "in training, moves pixels of images by smooth random distances",
               LIANA_PART_OPTIONS(liana_random_elastic_transform_options, rows), .check = check_options),
    LIANA__INPUTS(1, 1),
    .has_data_format = true,
    .reads_training = true,
    .weights = liana__build_images,
    .call = call_layer,
    .to_keras = to_keras,
};
