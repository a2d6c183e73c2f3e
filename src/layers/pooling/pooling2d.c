/* MaxPooling2D and AveragePooling2D. */
#include "layers/option_rows.h"

#include <liana/layers/pooling.h>

static const liana_option rows[] = {
    LIANA__PAIR_ROW(liana_pooling2d_options, pool_size, .default_text = "2", .doc = "height and width of the window"),
    LIANA_OPTION_ROW(liana_pooling2d_options, strides, INT_PAIR, .default_text = "0", .maximum = INT32_MAX,
                     .doc = "steps of the window: vertical, horizontal; default: pool_size"),
    LIANA__PADDING_ROW(liana_pooling2d_options),
};

static liana_status complete(liana_check *check)
{
    liana_pooling2d_options *chosen = check->options;
    for (int i = 0; i < 2; i++) {
        if (chosen->strides[i] == 0) chosen->strides[i] = chosen->pool_size[i];
    }
    return LIANA_OK;
}

static liana_pool_options pool_options(const liana_pooling2d_options *chosen)
{
    return (liana_pool_options){
        .window = {chosen->pool_size[0], chosen->pool_size[1]},
        .strides = {chosen->strides[0], chosen->strides[1]},
        .padding = chosen->padding,
    };
}

static liana_tensor call_max(liana_layer_call *call)
{
    return liana_op_max_pool2d_at(call->here, call->inputs[0], pool_options(call->options));
}

static liana_tensor call_average(liana_layer_call *call)
{
    return liana_op_average_pool2d_at(call->here, call->inputs[0], pool_options(call->options));
}

const liana_layer_type liana__layer_max_pooling2d = {
    LIANA_PART(LAYER, liana_layer_type, "MaxPooling2D", "the maximum of each window",
               LIANA_PART_OPTIONS(liana_pooling2d_options, rows), .check = complete),
    LIANA__INPUTS(1, 1),
    .has_data_format = true,
    .weights = liana__build_images,
    .call = call_max,
};

const liana_layer_type liana__layer_average_pooling2d = {
    LIANA_PART(LAYER, liana_layer_type, "AveragePooling2D", "the mean of each window",
               LIANA_PART_OPTIONS(liana_pooling2d_options, rows), .check = complete),
    LIANA__INPUTS(1, 1),
    .has_data_format = true,
    .sums = LIANA_SUMS_KEPT,
    .weights = liana__build_images,
    .call = call_average,
};
