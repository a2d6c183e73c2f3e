/* CenterCrop and RandomCrop: windows of images. */
#include "layers/images/resizing.h"
#include "layers/images/sample.h"

static const liana_option center_rows[] = {LIANA__SIZE_ROWS(liana_center_crop_options)};

static const liana_option random_rows[] = {
    LIANA__SIZE_ROWS(liana_random_crop_options),
    LIANA__SEED_ROW(liana_random_crop_options),
};

static liana_tensor call_center(liana_layer_call *call)
{
    const liana_center_crop_options *chosen = call->options;
    liana_tensor x = call->inputs[0];
    const liana_shape shape = liana_tensor_shape(x);
    const int64_t down = shape.dims[1] - chosen->height, across = shape.dims[2] - chosen->width;
    if (down < 0 || across < 0) return liana__smart_resize(call, x, chosen->height, chosen->width);
    return liana__cut_window(call, x, (liana__image_window){down / 2, across / 2, chosen->height, chosen->width});
}

/* Places of a window that begins at one of `count` places, each equally likely. */
static liana_tensor random_places(const liana_layer_call *call, liana_tensor draws, int axis, int64_t size,
                                  int64_t count)
{
    liana_tensor first = liana__image_draw(call, draws, axis - 1, (liana__range){0, (double)count});
    first = liana_op_floor_at(call->here, first);
    first = liana_op_minimum_at(call->here, first, liana__image_number(call, first, (double)(count - 1)));
    return liana_op_add_at(call->here, first, liana__image_places(call, size, axis));
}

/* As Keras trains on images that have no choice of a window: cells beyond the image are left out before it is
 * resized. */
static liana_tensor cut_middle(const liana_layer_call *call, liana_tensor x, int64_t height, int64_t width)
{
    const liana_shape shape = liana_tensor_shape(x);
    liana__image_window window = liana__aspect_window(x, height, width);
    window.height = height < shape.dims[1] - window.top ? height : shape.dims[1] - window.top;
    window.width = width < shape.dims[2] - window.left ? width : shape.dims[2] - window.left;
    return liana__resize(call, liana__cut_window(call, x, window), height, width, LIANA_BILINEAR, false);
}

static liana_tensor call_random(liana_layer_call *call)
{
    const liana_random_crop_options *chosen = call->options;
    liana_tensor x = call->inputs[0];
    const liana_shape shape = liana_tensor_shape(x);
    const int64_t down = shape.dims[1] - chosen->height, across = shape.dims[2] - chosen->width;
    if (!call->training) return liana__smart_resize(call, x, chosen->height, chosen->width);
    if (down <= 0 || across <= 0) return cut_middle(call, x, chosen->height, chosen->width);
    liana_tensor draws = liana__image_draws(call, chosen->seed, 2);
    return liana__read_pixels(call, x, random_places(call, draws, 1, chosen->height, down + 1),
                              random_places(call, draws, 2, chosen->width, across + 1));
}

static void random_to_keras(liana__arena *arena, const void *chosen, liana__value *config)
{
    liana__seed_to_keras(arena, ((const liana_random_crop_options *)chosen)->seed, config);
}

const liana_layer_type liana__layer_center_crop = {
    LIANA_PART(LAYER, liana_layer_type, "CenterCrop", "the window in the centre of images",
               LIANA_PART_OPTIONS(liana_center_crop_options, center_rows)),
    LIANA__INPUTS(1, 1),
    .has_data_format = true,
    .weights = liana__build_images,
    .call = call_center,
};

const liana_layer_type liana__layer_random_crop = {
    LIANA_PART(LAYER, liana_layer_type, "RandomCrop", "in training, a window of images at a random place",
               LIANA_PART_OPTIONS(liana_random_crop_options, random_rows)),
    LIANA__INPUTS(1, 1),
    .has_data_format = true,
    .reads_training = true,
    .weights = liana__build_images,
    .call = call_random,
    .to_keras = random_to_keras,
};
