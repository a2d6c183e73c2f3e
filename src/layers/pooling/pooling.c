/* MaxPooling1D to 3D and AveragePooling1D to 3D. */
#include "layers/convolution/convolution.h"

/* Strides that were not given are the window. */
static liana_status complete(const int64_t *size, int64_t *strides, int axes)
{
    for (int i = 0; i < axes; i++) {
        if (strides[i] == 0) strides[i] = size[i];
    }
    return LIANA_OK;
}

typedef struct pool_ops {
    liana_tensor (*of_images)(liana_location here, liana_tensor x, liana_pool_options options);
    liana_tensor (*of_volumes)(liana_location here, liana_tensor x, liana_pool_options_3d options);
} pool_ops;

static const pool_ops max = {liana_op_max_pool2d_at, liana_op_max_pool3d_at};
static const pool_ops average = {liana_op_average_pool2d_at, liana_op_average_pool3d_at};

static liana_tensor call_layer(liana_layer_call *call, const pool_ops *ops, const liana__layer_window *w)
{
    liana_tensor x = call->inputs[0];
    const int64_t *size = w->size, *strides = w->strides;
    if (w->axes == 3) {
        return ops->of_volumes(call->here, x,
                               (liana_pool_options_3d){.window = {size[0], size[1], size[2]},
                                                       .strides = {strides[0], strides[1], strides[2]},
                                                       .padding = w->padding});
    }
    const bool images = w->axes == 2;
    x = ops->of_images(call->here, liana__as_images(call, x),
                       (liana_pool_options){.window = {images ? size[0] : 1, size[images]},
                                            .strides = {images ? strides[0] : 1, strides[images]},
                                            .padding = w->padding});
    return liana__from_images(call, x, call->inputs[0]);
}

static const int64_t undilated[LIANA__MOST_AXES] = {1, 1, 1};

#define POOLING_LAYER(number, kind, class_name, class_doc, ...)                                                   \
    static liana_tensor call_##kind##number(liana_layer_call *call)                                               \
    {                                                                                                             \
        const liana__layer_window window = window_##number(call->options);                                        \
        return call_layer(call, &(kind), &window);                                                                \
    }                                                                                                             \
    const liana_layer_type liana__layer_##kind##_pooling##number##d = {                                           \
        LIANA_PART(LAYER, liana_layer_type, class_name, class_doc,                                                \
                   LIANA_PART_OPTIONS(liana_pooling##number##d_options, rows_##number), .check = check_##number), \
        LIANA__INPUTS(1, 1),                                                                                      \
        .has_data_format = true,                                                                                  \
        .weights = weights_##number,                                                                              \
        .call = call_##kind##number,                                                                              \
        __VA_ARGS__};

#define POOLING(number)                                                                                          \
    static const liana_option rows_##number[] = {                                                                \
        LIANA__AXES_ROW_##number(liana_pooling##number##d_options, pool_size, .minimum = 1, .default_text = "2", \
                                 .doc = "size of the window along each axis"),                                   \
        LIANA__AXES_ROW_##number(liana_pooling##number##d_options, strides, .default_text = "0",                 \
                                 .doc = "steps of the window along each axis; default: pool_size"),              \
        LIANA__PADDING_ROW(liana_pooling##number##d_options),                                                    \
    };                                                                                                           \
    static liana__layer_window window_##number(const void *options)                                              \
    {                                                                                                            \
        const liana_pooling##number##d_options *chosen = options;                                                \
        return (liana__layer_window){number, chosen->pool_size, chosen->strides, undilated, chosen->padding};    \
    }                                                                                                            \
    static liana_status check_##number(liana_check *check)                                                       \
    {                                                                                                            \
        liana_pooling##number##d_options *chosen = check->options;                                               \
        return complete(chosen->pool_size, chosen->strides, number);                                             \
    }                                                                                                            \
    static liana_status weights_##number(liana_layer_build *build)                                               \
    {                                                                                                            \
        const liana__layer_window window = window_##number(build->options);                                      \
        return liana__build_window(build, "pool_size", &window);                                                 \
    }                                                                                                            \
    POOLING_LAYER(number, max, "MaxPooling" #number "D", "the maximum of each window")                           \
    POOLING_LAYER(number, average, "AveragePooling" #number "D", "the mean of each window", .sums = LIANA_SUMS_KEPT)

POOLING(1)
POOLING(2)
POOLING(3)
