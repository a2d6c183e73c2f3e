/* The changes among which RandAugment and AugMix choose: layers with options of one strength. */
#include "layers/colors/changes.h"

#include "layers/model.h"

#include <liana/layers/image_geometry.h>

const char *const liana__change_interpolations[] = {"nearest", "bilinear", NULL};

/* A change is a layer that is called on other images, with its own draws. */
typedef liana_tensor change(liana_layer_call *own, const liana__strength *strength);

static liana_tensor run(liana_layer_call *own, const liana_layer_type *type, const void *options)
{
    own->options = options;
    return type->call(own);
}

static liana_tensor shear(liana_layer_call *own, const liana__strength *strength)
{
    const double ends[] = {strength->factor.low, strength->factor.high};
    liana_random_shear_options options = {LIANA_RANDOM_SHEAR_DEFAULTS};
    options.x_factor = options.y_factor = (liana_floats){2, ends};
    options.interpolation = strength->interpolation;
    return run(own, &liana__layer_random_shear, &options);
}

static liana_tensor translate(liana_layer_call *own, const liana__strength *strength)
{
    const double ends[] = {strength->factor.low, strength->factor.high};
    liana_random_translation_options options = {LIANA_RANDOM_TRANSLATION_DEFAULTS};
    options.height_factor = options.width_factor = (liana_floats){2, ends};
    options.interpolation = strength->interpolation;
    return run(own, &liana__layer_random_translation, &options);
}

static liana_tensor rotate(liana_layer_call *own, const liana__strength *strength)
{
    const double ends[] = {strength->factor.low, strength->factor.high};
    liana_random_rotation_options options = {LIANA_RANDOM_ROTATION_DEFAULTS};
    options.factor = (liana_floats){2, ends};
    options.interpolation = strength->interpolation;
    return run(own, &liana__layer_random_rotation, &options);
}

/* A layer of one factor. */
static liana_tensor color(liana_layer_call *own, const liana__strength *strength, const liana_layer_type *type,
                          liana_floats factor)
{
    const double values[] = {strength->values.low, strength->values.high};
    liana_random_color_options options = {LIANA_RANDOM_COLOR_DEFAULTS};
    options.factor = factor;
    options.value_range = (liana_floats){2, values};
    return run(own, type, &options);
}

static liana_tensor color_in_range(liana_layer_call *own, const liana__strength *strength, const liana_layer_type *type)
{
    const double ends[] = {strength->factor.low, strength->factor.high};
    return color(own, strength, type, (liana_floats){2, ends});
}

static liana_tensor posterize(liana_layer_call *own, const liana__strength *strength)
{
    const double bits = fmax(1, floor(8 * strength->factor.high));
    return color(own, strength, &liana__layer_random_posterization, (liana_floats){1, &bits});
}

static liana_tensor brighten(liana_layer_call *own, const liana__strength *strength)
{
    return color_in_range(own, strength, &liana__layer_random_brightness);
}

static liana_tensor degenerate(liana_layer_call *own, const liana__strength *strength)
{
    return color_in_range(own, strength, &liana__layer_random_color_degeneration);
}

static liana_tensor contrast(liana_layer_call *own, const liana__strength *strength)
{
    return color_in_range(own, strength, &liana__layer_random_contrast);
}

static liana_tensor sharpen(liana_layer_call *own, const liana__strength *strength)
{
    return color_in_range(own, strength, &liana__layer_random_sharpness);
}

static liana_tensor solarize(liana_layer_call *own, const liana__strength *strength)
{
    const double ends[] = {strength->factor.low, strength->factor.high};
    const double values[] = {strength->values.low, strength->values.high};
    liana_solarization_options options = {LIANA_SOLARIZATION_DEFAULTS};
    options.addition_factor = options.threshold_factor = (liana_floats){2, ends};
    options.value_range = (liana_floats){2, values};
    return run(own, &liana__layer_solarization, &options);
}

static liana_tensor stretch(liana_layer_call *own, const liana__strength *strength)
{
    return liana__color_auto_contrast(own, own->inputs[0], strength->values);
}

/* Each image by its own histogram: those of a batch get different changes. */
static liana_tensor equalize(liana_layer_call *own, const liana__strength *strength)
{
    return liana__color_equalize(own, own->inputs[0], strength->values, 256, true);
}

static change *const changes[LIANA__MOST_CHANGES] = {shear,    translate, rotate,     posterize, solarize, stretch,
                                                     equalize, brighten,  degenerate, contrast,  sharpen};

liana_tensor liana__change_images(const liana_layer_call *call, const liana__strength *strength, liana_tensor x,
                                  liana_tensor draws, int64_t index, size_t count, bool may_stay)
{
    const liana__layer_key key = liana__layer_draws(call, strength->seed);
    const liana__range all = {0, (double)(count + may_stay)};
    const liana_tensor chosen = liana_op_floor_at(call->here, liana__image_draw(call, draws, index, all));
    liana_tensor result = x;
    for (size_t i = 0; i < count; i++) {
        liana_layer_call own = *call;
        own.inputs = &x;
        own.num_inputs = 1;
        own.seed = liana__held_seed(key.seed, 1 + (size_t)index * LIANA__MOST_CHANGES + i);
        own.salt = key.salt;
        const liana_tensor changed = changes[i](&own, strength);
        liana_tensor is_this = liana__image_number(call, chosen, (double)i);
        is_this = liana_op_equal_at(call->here, chosen, is_this);
        result = liana_op_select_at(call->here, is_this, changed, result);
    }
    return result;
}
