/* ZeroPadding2D: zeros around images. */
#include "layers/option_rows.h"

#include <liana/layers/reshaping.h>

static const liana_option rows[] = {
    LIANA_OPTION_ROW(
        liana_zero_padding2d_options, padding, INTS, .default_text = "1", .minimum = 0, .maximum = INT32_MAX,
        .doc = "number of cells on all sides, or [top and bottom, left and right], or [top, bottom, left, right]"),
};

/* The three forms become the longest one. */
static liana_status complete(liana_check *check)
{
    liana_zero_padding2d_options *chosen = check->options;
    int64_t *v = chosen->padding.values;
    switch (chosen->padding.count) {
    case 1: v[1] = v[2] = v[3] = v[0]; break;
    case 2:
        v[2] = v[3] = v[1];
        v[1] = v[0];
        break;
    case 4: break;
    default:
        return liana_option_refuse(check, "padding", "found %lld numbers, expected 1, 2 or 4",
                                   (long long)chosen->padding.count);
    }
    chosen->padding.count = 4;
    return LIANA_OK;
}

static liana_tensor call_layer(liana_layer_call *call)
{
    const liana_zero_padding2d_options *chosen = call->options;
    const int64_t *v = chosen->padding.values;
    return liana_op_pad_at(call->here, call->inputs[0], (const int64_t[]){0, v[0], v[2], 0},
                           (const int64_t[]){0, v[1], v[3], 0}, 0);
}

/* Keras nests: [[top, bottom], [left, right]]. */
static void from_keras(liana__arena *arena, const liana__value *config, liana__value *options_map)
{
    const liana__value *padding = liana__value_get(config, "padding");
    if (!padding || padding->kind != LIANA__VALUE_LIST || padding->count != 2) return;
    liana__value *flat = liana__value_list(arena);
    if (!flat) return;
    flat->place = padding->place;
    for (size_t i = 0; i < 2; i++) {
        const liana__value *side = padding->items[i];
        if (side->kind != LIANA__VALUE_LIST || side->count != 2) return;
        for (size_t k = 0; k < 2; k++) liana__value_add(arena, flat, side->items[k]);
    }
    liana__value_set(arena, options_map, "padding", flat);
}

static void to_keras(liana__arena *arena, const void *chosen, liana__value *config)
{
    const liana_zero_padding2d_options *zero_padding = chosen;
    liana__value *nested = liana__value_list(arena);
    if (!nested) return;
    for (int i = 0; i < 4; i += 2) {
        liana__value *side = liana__value_list(arena);
        if (!side) return;
        liana__value_add(arena, side, liana__value_int(arena, zero_padding->padding.values[i]));
        liana__value_add(arena, side, liana__value_int(arena, zero_padding->padding.values[i + 1]));
        liana__value_add(arena, nested, side);
    }
    liana__value_set(arena, config, "padding", nested);
}

const liana_layer_type liana__layer_zero_padding2d = {
    LIANA_PART(LAYER, liana_layer_type, "ZeroPadding2D", "adds zeros around the image",
               LIANA_PART_OPTIONS(liana_zero_padding2d_options, rows), .check = complete),
    LIANA__INPUTS(1, 1),
    .has_data_format = true,
    .weights = liana__build_images,
    .call = call_layer,
    .from_keras = from_keras,
    .to_keras = to_keras,
};
