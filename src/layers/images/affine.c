/* RandomTranslation, RandomRotation, RandomZoom and RandomShear: mappings of the plane that keep parallels, drawn for
 * each image while a model is trained. Formulas are in Keras's order of operations (sample.c). */
#include "layers/images/sample.h"

#include <math.h>

/* ---- what they share ---- */

typedef const liana_layer_call *builder;

static liana_tensor subtract(builder c, liana_tensor a, liana_tensor b)
{
    return liana_op_subtract_at(c->here, a, b);
}

static liana_tensor times(builder c, liana_tensor a, double b)
{
    return liana_op_multiply_at(c->here, a, liana__image_number(c, a, b));
}

static liana_tensor negate(builder c, liana_tensor x)
{
    return liana_op_negate_at(c->here, x);
}

static double extent(builder c, int axis)
{
    return (double)liana_tensor_shape(c->inputs[0]).dims[axis];
}

/* By the members of the options that have Keras's names. */
#define SAMPLING_OF(chosen) (&(liana__sampling){(chosen)->interpolation, (chosen)->fill_mode, (chosen)->fill_value})

/* ---- RandomTranslation ---- */

static const liana_option translation_rows[] = {
    LIANA__FACTOR_ROW(liana_random_translation_options, height_factor, .required = true,
                      .doc = "range of shifts down, as a part of the height: two numbers, or f for -f to f"),
    LIANA__FACTOR_ROW(liana_random_translation_options, width_factor, .required = true,
                      .doc = "range of shifts to the right, as a part of the width"),
    LIANA__FILL_MODE_ROW(liana_random_translation_options),
    LIANA__SAMPLING_INTERPOLATION_ROW(liana_random_translation_options),
    LIANA__SEED_ROW(liana_random_translation_options),
    LIANA__FILL_VALUE_ROW(liana_random_translation_options),
};

static liana_status check_translation(liana_check *check)
{
    const liana_random_translation_options *chosen = check->options;
    LIANA_TRY(liana__check_factor(check, "height_factor", &chosen->height_factor, -1, 1));
    return liana__check_factor(check, "width_factor", &chosen->width_factor, -1, 1);
}

static liana_tensor call_translation(liana_layer_call *call)
{
    const liana_random_translation_options *chosen = call->options;
    if (!call->training) return call->inputs[0];
    liana_tensor draws = liana__image_draws(call, chosen->seed, 2);
    liana_tensor down = liana__image_draw(call, draws, 0, liana__factor_range(&chosen->height_factor, 0, -1));
    liana_tensor right = liana__image_draw(call, draws, 1, liana__factor_range(&chosen->width_factor, 0, -1));
    const liana__image_transform transform = {
        .a = {[2] = negate(call, times(call, right, extent(call, 2)))},
        .b = {[2] = negate(call, times(call, down, extent(call, 1)))},
    };
    return liana__transform_images(call, call->inputs[0], &transform, SAMPLING_OF(chosen));
}

static void translation_to_keras(liana__arena *arena, const void *given, liana__value *config)
{
    const liana_random_translation_options *chosen = given;
    liana__seed_to_keras(arena, chosen->seed, config);
    liana__factor_to_keras(arena, config, "height_factor", &chosen->height_factor, 0);
    liana__factor_to_keras(arena, config, "width_factor", &chosen->width_factor, 0);
}

/* ---- RandomRotation ---- */

static const liana_option rotation_rows[] = {
    LIANA__FACTOR_ROW(liana_random_rotation_options, factor, .required = true,
                      .doc = "range of angles, as a part of 360 degrees: two numbers, or f for -f to f"),
    LIANA__FILL_MODE_ROW(liana_random_rotation_options),
    LIANA__SAMPLING_INTERPOLATION_ROW(liana_random_rotation_options),
    LIANA__SEED_ROW(liana_random_rotation_options),
    LIANA__FILL_VALUE_ROW(liana_random_rotation_options),
};

static liana_status check_rotation(liana_check *check)
{
    return liana__check_factor(check, "factor", &((const liana_random_rotation_options *)check->options)->factor, -1,
                               1);
}

/* The centre (x, y) stays where it is: c - x a - y b for the row (a, b) of the matrix, with c its coordinate. */
static liana_tensor shift_of(builder c, double centre, liana_tensor a, double x, liana_tensor b, double y)
{
    liana_tensor shift = subtract(c, liana__image_number(c, a, centre), times(c, a, x));
    return subtract(c, shift, times(c, b, y));
}

static liana_tensor call_rotation(liana_layer_call *call)
{
    const liana_random_rotation_options *chosen = call->options;
    if (!call->training) return call->inputs[0];
    liana__range range = liana__factor_range(&chosen->factor, 0, -1);
    range = (liana__range){range.low * 360, range.high * 360};
    liana_tensor angle = liana__image_draw(call, liana__image_draws(call, chosen->seed, 1), 0, range);
    angle = times(call, angle, M_PI / 180);
    liana_tensor cosine = liana_op_cos_at(call->here, angle), sine = liana_op_sin_at(call->here, angle);
    liana_tensor back = negate(call, sine);
    const double x = 0.5 * (extent(call, 2) - 1), y = 0.5 * (extent(call, 1) - 1);
    const liana__image_transform transform = {
        .a = {cosine, back, shift_of(call, x, cosine, x, back, y)},
        .b = {sine, cosine, shift_of(call, y, sine, x, cosine, y)},
    };
    return liana__transform_images(call, call->inputs[0], &transform, SAMPLING_OF(chosen));
}

static void rotation_to_keras(liana__arena *arena, const void *given, liana__value *config)
{
    const liana_random_rotation_options *chosen = given;
    liana__seed_to_keras(arena, chosen->seed, config);
    liana__factor_to_keras(arena, config, "factor", &chosen->factor, 0);
}

/* ---- RandomZoom ---- */

static const liana_option zoom_rows[] = {
    LIANA__FACTOR_ROW(liana_random_zoom_options, height_factor, .required = true,
                      .doc = "by how much more of the height is seen: two numbers, or f for -f to f; above -1"),
    LIANA__FACTOR_ROW(liana_random_zoom_options, width_factor,
                      .doc = "the same for the width; default: as the height, which keeps the proportions"),
    LIANA__FILL_MODE_ROW(liana_random_zoom_options),
    LIANA__SAMPLING_INTERPOLATION_ROW(liana_random_zoom_options),
    LIANA__SEED_ROW(liana_random_zoom_options),
    LIANA__FILL_VALUE_ROW(liana_random_zoom_options),
};

/* -1 would see nothing. */
static liana_status check_zoom_factor(liana_check *check, const char *option, const liana_floats *factor)
{
    LIANA_TRY(liana__check_factor(check, option, factor, -1, 1));
    for (size_t i = 0; i < factor->count; i++) {
        if (factor->items[i] == -1) return liana_option_refuse(check, option, "found -1, expected numbers above -1");
    }
    return LIANA_OK;
}

static liana_status check_zoom(liana_check *check)
{
    const liana_random_zoom_options *chosen = check->options;
    LIANA_TRY(check_zoom_factor(check, "height_factor", &chosen->height_factor));
    return check_zoom_factor(check, "width_factor", &chosen->width_factor);
}

static liana_tensor draw_zoom(builder c, liana_tensor draws, int64_t index, const liana_floats *factor)
{
    const liana__range range = liana__factor_range(factor, 0, -1);
    return liana__image_draw(c, draws, index, (liana__range){1 + range.low, 1 + range.high});
}

/* (size - 1) / 2 (1 - zoom). */
static liana_tensor zoom_shift(builder c, double size, liana_tensor zoom)
{
    return times(c, subtract(c, liana__image_number(c, zoom, 1), zoom), (size - 1) / 2);
}

static liana_tensor call_zoom(liana_layer_call *call)
{
    const liana_random_zoom_options *chosen = call->options;
    if (!call->training) return call->inputs[0];
    liana_tensor draws = liana__image_draws(call, chosen->seed, 2);
    liana_tensor lines = draw_zoom(call, draws, 0, &chosen->height_factor), columns = lines;
    if (chosen->width_factor.count) columns = draw_zoom(call, draws, 1, &chosen->width_factor);
    const liana__image_transform transform = {
        .a = {columns, {0}, zoom_shift(call, extent(call, 2), columns)},
        .b = {{0}, lines, zoom_shift(call, extent(call, 1), lines)},
    };
    return liana__transform_images(call, call->inputs[0], &transform, SAMPLING_OF(chosen));
}

static void zoom_to_keras(liana__arena *arena, const void *given, liana__value *config)
{
    const liana_random_zoom_options *chosen = given;
    liana__seed_to_keras(arena, chosen->seed, config);
    liana__factor_to_keras(arena, config, "height_factor", &chosen->height_factor, 0);
    liana__factor_to_keras(arena, config, "width_factor", &chosen->width_factor, 0);
    if (!chosen->width_factor.count) liana__value_set(arena, config, "width_factor", liana__value_null(arena));
}

/* ---- RandomShear ---- */

static const liana_option shear_rows[] = {
    LIANA__FACTOR_ROW(liana_random_shear_options, x_factor,
                      .doc = "range of the shift of each row, in columns: two numbers from 0 to 1, or f for -f to f"),
    LIANA__FACTOR_ROW(liana_random_shear_options, y_factor, .doc = "range of the shift of each column, in rows"),
    LIANA__SAMPLING_INTERPOLATION_ROW(liana_random_shear_options),
    LIANA__FILL_MODE_ROW(liana_random_shear_options),
    LIANA__FILL_VALUE_ROW(liana_random_shear_options),
    LIANA__SEED_ROW(liana_random_shear_options),
};

/* Keras's files have -f and f for one number f. */
static bool is_two_sided(const liana_floats *factor)
{
    return factor->count == 2 && factor->items[0] == -factor->items[1];
}

static liana_status check_shear(liana_check *check)
{
    const liana_random_shear_options *chosen = check->options;
    const liana_floats *factors[] = {&chosen->x_factor, &chosen->y_factor};
    for (int i = 0; i < 2; i++) {
        const double low = is_two_sided(factors[i]) ? -1 : 0;
        LIANA_TRY(liana__check_factor(check, i ? "y_factor" : "x_factor", factors[i], low, 1));
    }
    return LIANA_OK;
}

static liana_tensor call_shear(liana_layer_call *call)
{
    const liana_random_shear_options *chosen = call->options;
    if (!call->training) return call->inputs[0];
    liana_tensor draws = liana__image_draws(call, chosen->seed, 3);
    liana_tensor side = liana__image_draw(call, draws, 0, (liana__range){0, 1});
    liana_tensor one = liana__image_number(call, side, 1), half = liana__image_number(call, side, 0.5);
    side = liana_op_select_at(call->here, liana_op_greater_at(call->here, side, half), negate(call, one), one);
    liana_tensor y = liana__image_draw(call, draws, 1, liana__factor_range(&chosen->y_factor, 0, -1));
    liana_tensor x = liana__image_draw(call, draws, 2, liana__factor_range(&chosen->x_factor, 0, -1));
    const liana__image_transform transform = {
        .a = {[1] = liana_op_multiply_at(call->here, x, side)},
        .b = {[0] = liana_op_multiply_at(call->here, y, side)},
    };
    return liana__transform_images(call, call->inputs[0], &transform, SAMPLING_OF(chosen));
}

/* Keras does not read the -f of its own files. */
static void shear_factor_to_keras(liana__arena *arena, liana__value *config, const char *option,
                                  const liana_floats *factor)
{
    liana__factor_to_keras(arena, config, option, factor, 0);
    if (!is_two_sided(factor)) return;
    liana__value_set(arena, config, option, liana__value_float(arena, fabs(factor->items[0])));
}

static void shear_to_keras(liana__arena *arena, const void *given, liana__value *config)
{
    const liana_random_shear_options *chosen = given;
    liana__seed_to_keras(arena, chosen->seed, config);
    shear_factor_to_keras(arena, config, "x_factor", &chosen->x_factor);
    shear_factor_to_keras(arena, config, "y_factor", &chosen->y_factor);
}

/* ---- the types ---- */

#define AFFINE(symbol, class_name, doc)                                                                          \
    const liana_layer_type liana__layer_random_##symbol = {                                                      \
        LIANA_PART(LAYER, liana_layer_type, class_name, doc,                                                     \
                   LIANA_PART_OPTIONS(liana_random_##symbol##_options, symbol##_rows), .check = check_##symbol), \
        LIANA__INPUTS(1, 1),                                                                                     \
        .has_data_format = true,                                                                                 \
        .reads_training = true,                                                                                  \
        .weights = liana__build_images,                                                                          \
        .call = call_##symbol,                                                                                   \
        .to_keras = symbol##_to_keras,                                                                           \
    };
AFFINE(translation, "RandomTranslation", "in training, shifts images, also by parts of a pixel")
AFFINE(rotation, "RandomRotation", "in training, turns images about their centre")
AFFINE(zoom, "RandomZoom", "in training, zooms out of images or into them")
AFFINE(shear, "RandomShear", "in training, shifts each row of images by a part of its number, and each column")
