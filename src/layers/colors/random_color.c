/* RandomBrightness, RandomContrast, RandomHue, RandomSaturation, RandomSharpness, RandomPosterization,
 * RandomColorDegeneration and RandomInvert: one drawn factor for each image. */
#include "layers/colors/colors.h"

#include "ir/graph.h"

static const liana__range from_zero = {0, 1}, from_minus_one = {-1, 1}, bits = {1, 8};

static const liana_option rows[] = {
    LIANA__FACTOR_ROW(liana_random_color_options, factor, .required = true,
                      .doc = "how much changes: one number, or the two ends of a range"),
    LIANA__VALUE_RANGE_ROW(liana_random_color_options),
    LIANA__SEED_ROW(liana_random_color_options),
};

static const liana_option invert_rows[] = {
    LIANA__FACTOR_ROW(liana_random_color_options, factor,
                      .doc = "the probability, or the two ends of its range; default: 1, which is from 0 to 1"),
    LIANA__VALUE_RANGE_ROW(liana_random_color_options),
    LIANA__SEED_ROW(liana_random_color_options),
};

static liana_status check_bounds(liana_check *check, liana__range bounds, bool required)
{
    const liana_random_color_options *chosen = check->options;
    LIANA_TRY(liana__check_color_factor(check, "factor", &chosen->factor, bounds, required));
    return liana__check_value_range(check, &chosen->value_range);
}

static liana_status check_signed(liana_check *check)
{
    return check_bounds(check, from_minus_one, true);
}

static liana_status check_share(liana_check *check)
{
    return check_bounds(check, from_zero, true);
}

static liana_status check_invert(liana_check *check)
{
    return check_bounds(check, from_zero, false);
}

/* Beyond the bounds there are no bits. */
static liana_status check_bits(liana_check *check)
{
    const liana_random_color_options *chosen = check->options;
    LIANA_TRY(check_bounds(check, bits, true));
    for (size_t i = 0; i < chosen->factor.count; i++) {
        const double found = chosen->factor.items[i];
        if (found >= bits.low && found <= bits.high && found == floor(found)) continue;
        return liana_option_refuse(check, "factor", "found %g, expected whole numbers of bits from 1 to 8", found);
    }
    return LIANA_OK;
}

/* ---- layers ---- */

static liana_tensor change(const liana_layer_call *call, double least, liana__draw_factor *draw_one,
                           liana__color_change *change_one)
{
    const liana_random_color_options *chosen = call->options;
    if (!call->training) return call->inputs[0];
    const liana__range range = liana__range_or(&chosen->factor, least, from_zero);
    const liana_tensor draws = liana__image_draws(call, chosen->seed, 2);
    const liana_tensor factor = draw_one(call, draws, 0, range);
    return change_one(call, call->inputs[0], liana__value_range(&chosen->value_range), factor);
}

static liana_tensor call_brightness(liana_layer_call *call)
{
    return change(call, -1, liana__color_draw, liana__color_brightness);
}

static liana_tensor call_contrast(liana_layer_call *call)
{
    return change(call, 0, liana__draw_contrast, liana__color_contrast);
}

static liana_tensor call_hue(liana_layer_call *call)
{
    return change(call, 0, liana__draw_hue, liana__color_hue);
}

static liana_tensor call_saturation(liana_layer_call *call)
{
    return change(call, -1, liana__draw_saturation, liana__color_saturation);
}

static liana_tensor call_sharpness(liana_layer_call *call)
{
    return change(call, 0, liana__color_draw, liana__color_sharpness);
}

static liana_tensor call_posterization(liana_layer_call *call)
{
    return change(call, 1, liana__draw_bits, liana__color_posterize);
}

static liana_tensor call_degeneration(liana_layer_call *call)
{
    return change(call, -1, liana__color_draw, liana__color_degenerate);
}

static liana_tensor call_invert(liana_layer_call *call)
{
    const liana_random_color_options *chosen = call->options;
    if (!call->training) return call->inputs[0];
    const liana_tensor x = call->inputs[0];
    const liana_tensor draws = liana__image_draws(call, chosen->seed, 2);
    const liana_tensor is_chosen = liana__color_chosen(call, draws, 0, liana__range_or(&chosen->factor, 0, from_zero));
    const liana_tensor high = liana__image_number(call, x, liana__value_range(&chosen->value_range).high);
    return liana_op_select_at(call->here, is_chosen, liana_op_subtract_at(call->here, high, x), x);
}

/* ---- files ---- */

static void write(liana__arena *arena, const void *options, liana__value *config, double least)
{
    const liana_random_color_options *chosen = options;
    liana__range_to_keras(arena, config, "factor", liana__range_or(&chosen->factor, least, from_zero));
    liana__range_to_keras(arena, config, "value_range", liana__value_range(&chosen->value_range));
    liana__seed_to_keras(arena, chosen->seed, config);
}

static void to_keras_signed(liana__arena *arena, const void *options, liana__value *config)
{
    write(arena, options, config, -1);
}

static void to_keras_share(liana__arena *arena, const void *options, liana__value *config)
{
    write(arena, options, config, 0);
}

static void to_keras_bits(liana__arena *arena, const void *options, liana__value *config)
{
    write(arena, options, config, 1);
}

#define COLOR(symbol, class_name, its_rows, checks, shape, calls, writes, doc)                                         \
    const liana_layer_type liana__layer_##symbol = {                                                                   \
        LIANA_PART(LAYER, liana_layer_type, class_name, doc, LIANA_PART_OPTIONS(liana_random_color_options, its_rows), \
                   .check = (checks)),                                                                                 \
        LIANA__INPUTS(1, 1),                                                                                           \
        .has_data_format = true,                                                                                       \
        .reads_training = true,                                                                                        \
        .masking = LIANA_MASKING_KEPT,                                                                                 \
        .weights = (shape),                                                                                            \
        .call = (calls),                                                                                               \
        .to_keras = (writes),                                                                                          \
    };
COLOR(random_brightness, "RandomBrightness", rows, check_signed, liana__build_images, call_brightness, to_keras_signed,
      "in training, makes images brighter or darker")
COLOR(random_contrast, "RandomContrast", rows, check_share, liana__build_images, call_contrast, to_keras_share,
      "in training, changes the contrast of images")
COLOR(random_hue, "RandomHue", rows, check_share, liana__build_three_channels, call_hue, to_keras_share,
      "in training, turns the hues of images")
COLOR(random_saturation, "RandomSaturation", rows, check_signed, liana__build_three_channels, call_saturation,
      to_keras_signed, "in training, changes the saturation of images")
COLOR(random_sharpness, "RandomSharpness", rows, check_share, liana__build_images, call_sharpness, to_keras_share,
      "in training, blurs or sharpens images")
COLOR(random_posterization, "RandomPosterization", rows, check_bits, liana__build_images, call_posterization,
      to_keras_bits, "in training, keeps the upper bits of values")
COLOR(random_color_degeneration, "RandomColorDegeneration", rows, check_signed, liana__build_three_channels,
      call_degeneration, to_keras_signed, "in training, takes colours away from images, or makes them stronger")
COLOR(random_invert, "RandomInvert", invert_rows, check_invert, liana__build_images, call_invert, to_keras_share,
      "in training, inverts the values of some images")
