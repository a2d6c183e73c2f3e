/* RandomPerspective: images as from another point of view, while a model is trained.
 *
 * The upper left corner stays. The upper right one moves to (p, 0), the lower left one to (0, q), the lower right one
 * to (r, s). With w and h the last column and row, the mapping of those back to the corners is
 *
 *     x' = w (g + 1 / p) x / k,   y' = h (e + 1 / q) y / k,   k = g x + e y + 1,
 *     g = (s / q - 1) / r,        e = (r / p - 1) / s:
 *
 * (p, 0) gives x' = w, since k = g p + 1; (0, q) gives y' = h; and (r, s), where k = g r + e s + 1 = s / q + e s
 * = (g + 1 / p) r = (e + 1 / q) s, gives both. */
#include "layers/images/sample.h"

static const liana_option rows[] = {
    LIANA__FACTOR_ROW(liana_random_perspective_options, factor,
                      .doc = "range of the probability that an image is changed: two numbers, or f for 0 to f; "
                             "default: 1"),
    LIANA_OPTION_ROW(liana_random_perspective_options, scale, FLOAT, .default_text = "1.0", .minimum = 0, .maximum = 1,
                     .doc = "twice the largest shift of a corner, as a part of the side"),
    LIANA__SAMPLING_INTERPOLATION_ROW(liana_random_perspective_options),
    LIANA__FILL_VALUE_ROW(liana_random_perspective_options),
    LIANA__SEED_ROW(liana_random_perspective_options),
};

static liana_status check_options(liana_check *check)
{
    return liana__check_factor(check, "factor", &((const liana_random_perspective_options *)check->options)->factor, 0,
                               1);
}

static liana_status check_images(liana_layer_build *build)
{
    LIANA_TRY(liana__build_images(build));
    const liana_shape *x = &build->inputs[0];
    if (x->dims[1] > 1 && x->dims[2] > 1) return LIANA_OK;
    return liana_layer_refuse(build, 0, "images of at least 2 x 2 pixels, whose corners are different ones");
}

typedef const liana_layer_call *builder;

static liana_tensor plus(builder c, liana_tensor a, double b)
{
    return liana_op_add_at(c->here, a, liana__image_number(c, a, b));
}

static liana_tensor times(builder c, liana_tensor a, double b)
{
    return liana_op_multiply_at(c->here, a, liana__image_number(c, a, b));
}

static liana_tensor quotient(builder c, liana_tensor a, liana_tensor b)
{
    return liana_op_divide_at(c->here, a, b);
}

/* (a / b - 1) / c. */
static liana_tensor slope(builder call, liana_tensor a, liana_tensor b, liana_tensor c)
{
    return quotient(call, plus(call, quotient(call, a, b), -1), c);
}

/* side * (slope + 1 / end). */
static liana_tensor scale_of(builder c, double side, liana_tensor slope, liana_tensor end)
{
    return liana_op_add_at(c->here, times(c, slope, side), quotient(c, liana__image_number(c, end, side), end));
}

static liana_tensor call_layer(liana_layer_call *call)
{
    enum { PROBABILITY, THRESHOLD, FIRST_CORNER, NUM_DRAWS = FIRST_CORNER + 4 };
    const liana_random_perspective_options *chosen = call->options;
    liana_tensor x = call->inputs[0], ends[4];
    if (!call->training) return x;
    const liana_shape shape = liana_tensor_shape(x);
    const double last[] = {(double)(shape.dims[2] - 1), (double)(shape.dims[1] - 1)};
    liana_tensor draws = liana__image_draws(call, chosen->seed, NUM_DRAWS);
    liana_tensor share = liana__image_draw(call, draws, PROBABILITY, liana__factor_range(&chosen->factor, 1, 0));
    liana_tensor threshold = liana__image_draw(call, draws, THRESHOLD, (liana__range){0, 1});
    for (int i = 0; i < 4; i++) { /* p, q, r, s */
        const liana__range range = {-0.5 * chosen->scale, 0.5 * chosen->scale};
        ends[i] = times(call, plus(call, liana__image_draw(call, draws, FIRST_CORNER + i, range), 1), last[i % 2]);
    }
    liana_tensor g = slope(call, ends[3], ends[1], ends[2]), e = slope(call, ends[2], ends[0], ends[3]);
    const liana__image_transform transform = {
        .a = {scale_of(call, last[0], g, ends[0])},
        .b = {{0}, scale_of(call, last[1], e, ends[1])},
        .c = {g, e},
    };
    const liana__sampling sampling = {chosen->interpolation, LIANA_FILL_CONSTANT, chosen->fill_value};
    liana_tensor moved = liana__transform_images(call, x, &transform, &sampling);
    return liana_op_select_at(call->here, liana_op_less_at(call->here, threshold, share), moved, x);
}

static void to_keras(liana__arena *arena, const void *given, liana__value *config)
{
    const liana_random_perspective_options *chosen = given;
    liana__seed_to_keras(arena, chosen->seed, config);
    liana__factor_to_keras(arena, config, "factor", &chosen->factor, 1);
}

const liana_layer_type liana__layer_random_perspective = {
    LIANA_PART(LAYER, liana_layer_type, "RandomPerspective", "in training, images as from another point of view",
               LIANA_PART_OPTIONS(liana_random_perspective_options, rows), .check = check_options),
    LIANA__INPUTS(1, 1),
    .has_data_format = true,
    .reads_training = true,
    .weights = check_images,
    .call = call_layer,
    .to_keras = to_keras,
};
