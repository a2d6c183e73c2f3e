/* Resizing: images of another size, also with their proportions kept. */
#include "layers/images/resizing.h"

#include "layers/reshaping/interpolate.h"

static const char *const fill_modes[] = {"constant", NULL};

static const liana_option rows[] = {
    LIANA__SIZE_ROWS(liana_resizing_options),
    LIANA_OPTION_ROW(liana_resizing_options, interpolation, ENUM, .default_text = "bilinear",
                     .names = liana__interpolation_names, .doc = "how cells between those of the input are found"),
    LIANA_OPTION_ROW(liana_resizing_options, crop_to_aspect_ratio, BOOL,
                     .doc = "resize the largest window in the centre that has the new proportions"),
    LIANA_OPTION_ROW(liana_resizing_options, pad_to_aspect_ratio, BOOL,
                     .doc = "resize the image with fill_value on two sides, so that it has the new proportions"),
    LIANA_OPTION_ROW(liana_resizing_options, fill_mode, ENUM, .names = fill_modes,
                     .doc = "how these sides are filled: with fill_value"),
    LIANA_OPTION_ROW(liana_resizing_options, fill_value, FLOAT, .doc = "with pad_to_aspect_ratio: of the sides"),
    LIANA_OPTION_ROW(liana_resizing_options, antialias, BOOL,
                     .doc = "use a wider kernel where a side becomes smaller; for all but nearest"),
};

static liana_status check_options(liana_check *check)
{
    const liana_resizing_options *chosen = check->options;
    if (chosen->crop_to_aspect_ratio && chosen->pad_to_aspect_ratio) {
        return liana_option_refuse(check, "pad_to_aspect_ratio",
                                   "found true beside crop_to_aspect_ratio: true, expected one of them");
    }
    return LIANA_OK;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

liana_tensor liana__cut_window(const liana_layer_call *call, liana_tensor x, liana__image_window window)
{
    const liana_shape shape = liana_tensor_shape(x);
    const int64_t start[] = {0, window.top, window.left, 0};
    const int64_t limit[] = {shape.dims[0], window.top + window.height, window.left + window.width, shape.dims[3]};
    if (window.height == shape.dims[1] && window.width == shape.dims[2]) return x;
    return liana_op_slice_at(call->here, x, start, limit, NULL);
}

liana__image_window liana__aspect_window(liana_tensor x, int64_t height, int64_t width)
{
    const liana_shape shape = liana_tensor_shape(x);
    const int64_t lines = shape.dims[1], columns = shape.dims[2];
    liana__image_window made = {
        .height = most(least(lines, (int64_t)((double)(columns * height) / (double)width)), 1),
        .width = most(least(columns, (int64_t)((double)(lines * width) / (double)height)), 1),
    };
    made.top = (lines - made.height) / 2;
    made.left = (columns - made.width) / 2;
    return made;
}

liana_tensor liana__resize(const liana_layer_call *call, liana_tensor x, int64_t height, int64_t width,
                           liana_interpolation interpolation, bool antialias)
{
    x = liana__interpolate(call->here, x, 1, height, interpolation, antialias);
    return liana__interpolate(call->here, x, 2, width, interpolation, antialias);
}

liana_tensor liana__smart_resize(const liana_layer_call *call, liana_tensor x, int64_t height, int64_t width)
{
    x = liana__cut_window(call, x, liana__aspect_window(x, height, width));
    return liana__resize(call, x, height, width, LIANA_BILINEAR, false);
}

/* As much is added on both sides, so an odd number of cells is one less. */
static liana_tensor pad(const liana_layer_call *call, liana_tensor x, const liana_resizing_options *chosen)
{
    const liana_shape shape = liana_tensor_shape(x);
    const double height = (double)chosen->height, width = (double)chosen->width;
    const int64_t wide = (int64_t)((double)shape.dims[1] * width / height);
    const int64_t high = (int64_t)((double)shape.dims[2] * height / width);
    const int64_t sides[] = {0, most(high - shape.dims[1], 0) / 2, most(wide - shape.dims[2], 0) / 2, 0};
    if (!sides[1] && !sides[2]) return x;
    return liana_op_pad_at(call->here, x, sides, sides, chosen->fill_value);
}

static liana_tensor call_layer(liana_layer_call *call)
{
    const liana_resizing_options *chosen = call->options;
    liana_tensor x = call->inputs[0];
    const liana_dtype dtype = liana_tensor_dtype(x);
    const bool is_whole = dtype != LIANA_F32 && dtype != LIANA_F64 && dtype != LIANA_BF16;
    if (is_whole) x = liana_op_cast_at(call->here, x, call->dtype);
    if (chosen->crop_to_aspect_ratio) {
        x = liana__cut_window(call, x, liana__aspect_window(x, chosen->height, chosen->width));
    }
    if (chosen->pad_to_aspect_ratio) x = pad(call, x, chosen);
    x = liana__resize(call, x, chosen->height, chosen->width, chosen->interpolation, chosen->antialias);
    if (!is_whole || chosen->interpolation == LIANA_NEAREST) return x;
    x = liana_op_cast_at(call->here, liana_op_round_at(call->here, x), dtype); /* within the dtype's range */
    return liana_op_cast_at(call->here, x, call->dtype);
}

const liana_layer_type liana__layer_resizing = {
    LIANA_PART(LAYER, liana_layer_type, "Resizing", "images of another size",
               LIANA_PART_OPTIONS(liana_resizing_options, rows), .check = check_options),
    LIANA__INPUTS(1, 1),
    .has_data_format = true,
    .takes_integers = true,
    .weights = liana__build_images,
    .call = call_layer,
};
