/* RandomColorJitter: changes brightness, contrast, saturation and hue, one after the other. */
#include "layers/colors/colors.h"

static const liana_option rows[] = {
    LIANA__VALUE_RANGE_ROW(liana_random_color_jitter_options),
    LIANA__FACTOR_ROW(liana_random_color_jitter_options, brightness_factor,
                      .doc = "as of RandomBrightness; default: it stays"),
    LIANA__FACTOR_ROW(liana_random_color_jitter_options, contrast_factor,
                      .doc = "as of RandomContrast; default: it stays"),
    LIANA__FACTOR_ROW(liana_random_color_jitter_options, saturation_factor,
                      .doc = "as of RandomSaturation; default: it stays"),
    LIANA__FACTOR_ROW(liana_random_color_jitter_options, hue_factor, .doc = "as of RandomHue; default: it stays"),
    LIANA__SEED_ROW(liana_random_color_jitter_options),
};

/* One of the changes, in their order. */
typedef struct step {
    const char *option;
    size_t offset;
    liana__range bounds;
    liana__draw_factor *draw;
    liana__color_change *change;
} step;

#define STEP(member) #member, offsetof(liana_random_color_jitter_options, member)
static const step steps[] = {
    {STEP(brightness_factor), {-1, 1}, liana__color_draw, liana__color_brightness},
    {STEP(contrast_factor), {0, 1}, liana__draw_contrast, liana__color_contrast},
    {STEP(saturation_factor), {-1, 1}, liana__draw_saturation, liana__color_saturation},
    {STEP(hue_factor), {0, 1}, liana__draw_hue, liana__color_hue},
};
enum { STEPS = sizeof steps / sizeof *steps, FIRST_OF_THREE = 2 };

static const liana_floats *factor_of(const void *options, size_t index)
{
    return (const liana_floats *)((const char *)options + steps[index].offset);
}

static liana_status check_options(liana_check *check)
{
    for (size_t i = 0; i < STEPS; i++) {
        const liana_floats *factor = factor_of(check->options, i);
        LIANA_TRY(liana__check_color_factor(check, steps[i].option, factor, steps[i].bounds, false));
    }
    const liana_random_color_jitter_options *chosen = check->options;
    return liana__check_value_range(check, &chosen->value_range);
}

static liana_status check_input(liana_layer_build *build)
{
    bool needs_colors = false;
    for (size_t i = FIRST_OF_THREE; i < STEPS; i++) needs_colors |= factor_of(build->options, i)->count > 0;
    return needs_colors ? liana__build_three_channels(build) : liana__build_images(build);
}

static liana_tensor call_layer(liana_layer_call *call)
{
    const liana_random_color_jitter_options *chosen = call->options;
    const liana__range values = liana__value_range(&chosen->value_range);
    liana_tensor x = call->inputs[0];
    if (!call->training) return x;
    const liana_tensor draws = liana__image_draws(call, chosen->seed, (int64_t)(2 * STEPS));
    for (size_t i = 0; i < STEPS; i++) {
        const liana_floats *factor = factor_of(chosen, i);
        if (!factor->count) continue;
        const liana__range range = liana__factor_range(factor, 0, steps[i].bounds.low);
        x = steps[i].change(call, x, values, steps[i].draw(call, draws, (int64_t)(2 * i), range));
    }
    return x;
}

static void to_keras(liana__arena *arena, const void *options, liana__value *config)
{
    const liana_random_color_jitter_options *chosen = options;
    for (size_t i = 0; i < STEPS; i++) {
        const liana_floats *factor = factor_of(options, i);
        if (factor->count) {
            liana__range_to_keras(arena, config, steps[i].option, liana__factor_range(factor, 0, steps[i].bounds.low));
        } else {
            liana__value_set(arena, config, steps[i].option, liana__value_null(arena));
        }
    }
    liana__range_to_keras(arena, config, "value_range", liana__value_range(&chosen->value_range));
    liana__seed_to_keras(arena, chosen->seed, config);
}

const liana_layer_type liana__layer_random_color_jitter = {
    LIANA_PART(LAYER, liana_layer_type, "RandomColorJitter",
               "in training, changes brightness, contrast, saturation and hue",
               LIANA_PART_OPTIONS(liana_random_color_jitter_options, rows), .check = check_options),
    LIANA__INPUTS(1, 1),
    .has_data_format = true,
    .reads_training = true,
    .masking = LIANA_MASKING_KEPT,
    .weights = check_input,
    .call = call_layer,
    .to_keras = to_keras,
};
