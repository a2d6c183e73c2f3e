/* ZeroPadding1D to 3D and Cropping1D to 3D: cells that are added around the input, or taken away. */
#include "layers/convolution/convolution.h"

#include <stdio.h>

/* One number for all sides, one for both sides of each axis, or two for each axis become the last form. */
static liana_status complete(liana_check *check, const char *name, liana_ints *sides, int axes)
{
    int64_t *v = sides->values, given = sides->count;
    if (given == 1) {
        for (int i = 1; i < 2 * axes; i++) v[i] = v[0];
    } else if (given == axes && axes > 1) {
        for (int i = axes - 1; i >= 0; i--) v[2 * i] = v[2 * i + 1] = v[i];
    } else if (given != 2 * axes) {
        const char *expected = axes == 1 ? "1 or 2" : axes == 2 ? "1, 2 or 4" : "1, 3 or 6";
        return liana_option_refuse(check, name, "found %lld numbers, expected %s", (long long)given, expected);
    }
    sides->count = 2 * axes;
    return LIANA_OK;
}

static liana_tensor pad(liana_layer_call *call, const liana_ints *sides)
{
    int64_t low[LIANA_MAX_RANK] = {0}, high[LIANA_MAX_RANK] = {0};
    for (int i = 0; i < sides->count / 2; i++) {
        low[1 + i] = sides->values[2 * i];
        high[1 + i] = sides->values[2 * i + 1];
    }
    return liana_op_pad_at(call->here, call->inputs[0], low, high, 0);
}

static liana_tensor crop(liana_layer_call *call, const liana_ints *sides)
{
    const liana_shape shape = liana_tensor_shape(call->inputs[0]);
    int64_t start[LIANA_MAX_RANK] = {0}, limit[LIANA_MAX_RANK];
    for (int i = 0; i < shape.rank; i++) limit[i] = shape.dims[i];
    for (int i = 0; i < sides->count / 2; i++) {
        start[1 + i] = sides->values[2 * i];
        limit[1 + i] -= sides->values[2 * i + 1];
    }
    return liana_op_slice_at(call->here, call->inputs[0], start, limit, NULL);
}

static liana_status check_padded(liana_layer_build *build, const liana_ints *sides)
{
    return liana__build_spatial(build, (int)sides->count / 2);
}

/* Something must be left. */
static liana_status check_cropped(liana_layer_build *build, const liana_ints *sides)
{
    LIANA_TRY(check_padded(build, sides));
    for (int i = 0; i < sides->count / 2; i++) {
        const int64_t first = sides->values[2 * i], last = sides->values[2 * i + 1];
        if (build->inputs[0].dims[1 + i] > first + last) continue;
        char expected[160];
        snprintf(expected, sizeof expected, "more than %lld along axis %d: cropping [%lld, %lld] takes that many away",
                 (long long)(first + last), 1 + i, (long long)first, (long long)last);
        return liana_layer_refuse(build, 0, expected);
    }
    return LIANA_OK;
}

/* Keras nests: [[top, bottom], [left, right]]. */
static void flatten(liana__arena *arena, const liana__value *config, liana__value *options, const char *name)
{
    const liana__value *nested = liana__value_get(config, name);
    liana__value *flat = nested && nested->kind == LIANA__VALUE_LIST ? liana__value_list(arena) : NULL;
    if (!flat) return;
    flat->place = nested->place;
    for (size_t i = 0; i < nested->count; i++) {
        const liana__value *axis = nested->items[i];
        if (axis->kind != LIANA__VALUE_LIST || axis->count != 2) return;
        for (size_t k = 0; k < 2; k++) liana__value_add(arena, flat, axis->items[k]);
    }
    liana__value_set(arena, options, name, flat);
}

static void nest(liana__arena *arena, const liana_ints *sides, liana__value *config, const char *name)
{
    liana__value *nested = liana__value_list(arena);
    if (!nested || sides->count == 2) return;
    for (int i = 0; i < sides->count; i += 2) {
        liana__value *axis = liana__value_list(arena);
        if (!axis) return;
        liana__value_add(arena, axis, liana__value_int(arena, sides->values[i]));
        liana__value_add(arena, axis, liana__value_int(arena, sides->values[i + 1]));
        liana__value_add(arena, nested, axis);
    }
    liana__value_set(arena, config, name, nested);
}

#define SIDES(symbol, type, member, axes, default_value, class_name, class_doc, check_sides, apply, sides_doc, format) \
    static const liana_option rows_##symbol[] = {                                                                      \
        LIANA_OPTION_ROW(type, member, INTS, .default_text = default_value, .minimum = 0, .maximum = INT32_MAX,        \
                         .doc = sides_doc),                                                                            \
    };                                                                                                                 \
    static liana_status complete_##symbol(liana_check *check)                                                          \
    {                                                                                                                  \
        return complete(check, #member, &((type *)check->options)->member, axes);                                      \
    }                                                                                                                  \
    static liana_status check_##symbol(liana_layer_build *build)                                                       \
    {                                                                                                                  \
        return check_sides(build, &((const type *)build->options)->member);                                            \
    }                                                                                                                  \
    static liana_tensor call_##symbol(liana_layer_call *call)                                                          \
    {                                                                                                                  \
        return apply(call, &((const type *)call->options)->member);                                                    \
    }                                                                                                                  \
    static void from_keras_##symbol(liana__arena *arena, const liana__value *config, liana__value *options)            \
    {                                                                                                                  \
        flatten(arena, config, options, #member);                                                                      \
    }                                                                                                                  \
    static void to_keras_##symbol(liana__arena *arena, const void *options, liana__value *config)                      \
    {                                                                                                                  \
        nest(arena, &((const type *)options)->member, config, #member);                                                \
    }                                                                                                                  \
    const liana_layer_type liana__layer_##symbol = {                                                                   \
        LIANA_PART(LAYER, liana_layer_type, class_name, class_doc, LIANA_PART_OPTIONS(type, rows_##symbol),            \
                   .check = complete_##symbol),                                                                        \
        LIANA__INPUTS(1, 1),                                                                                           \
        .has_data_format = format,                                                                                     \
        .weights = check_##symbol,                                                                                     \
        .call = call_##symbol,                                                                                         \
        .from_keras = from_keras_##symbol,                                                                             \
        .to_keras = to_keras_##symbol,                                                                                 \
    };

#define ZERO_PADDING(axes, default_value, class_doc, sides_doc, format)                                             \
    SIDES(zero_padding##axes##d, liana_zero_padding_options, padding, axes, default_value, "ZeroPadding" #axes "D", \
          class_doc, check_padded, pad, sides_doc, format)
#define CROPPING(axes, type, default_value, class_doc, sides_doc, format)                                         \
    SIDES(cropping##axes##d, type, cropping, axes, default_value, "Cropping" #axes "D", class_doc, check_cropped, \
          crop, sides_doc, format)

#define STEPS_DOC "number of steps at both ends, or [first, last]"
#define SIDES_DOC "number of cells on all sides, or [top and bottom, left and right], or [top, bottom, left, right]"
#define FACES_DOC \
    "number of cells on all sides, or one for both sides of each axis, or [front, back, top, bottom, left, right]"

ZERO_PADDING(1, "1", "adds zeros before and after the sequence", STEPS_DOC, true)
ZERO_PADDING(2, "1", "adds zeros around the image", SIDES_DOC, true)
ZERO_PADDING(3, "1", "adds zeros around the volume", FACES_DOC, true)
CROPPING(1, liana_cropping_options, "1", "takes steps away from both ends of the sequence", STEPS_DOC, false)
CROPPING(2, liana_cropping2d_options, "0", "takes the margins of the image away", SIDES_DOC, true)
CROPPING(3, liana_cropping_options, "1", "takes the margins of the volume away", FACES_DOC, true)
