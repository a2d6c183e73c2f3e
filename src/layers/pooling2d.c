/* MaxPooling2D and AveragePooling2D. */
#include "layers/option_rows.h"

static const liana__field rows[] = {
    LIANA__PAIR_ROW(liana_pooling2d_options, pool_size, .default_text = "2", .doc = "height and width of the window"),
    LIANA__FIELD_ROW(liana_pooling2d_options, strides, INT_PAIR, .default_text = "0", .maximum = INT32_MAX,
                     .doc = "steps of the window: vertical, horizontal; default: pool_size"),
    LIANA__PADDING_ROW(liana_pooling2d_options),
};
static const liana__fields max_options = LIANA__FIELD_TABLE("MaxPooling2D", liana_pooling2d_options, rows);
static const liana__fields average_options = LIANA__FIELD_TABLE("AveragePooling2D", liana_pooling2d_options, rows);

static liana_status complete(liana__layer_check *check)
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

static liana_tensor call_max(liana__layer_call *call)
{
    return liana_op_max_pool2d_at(call->here, call->inputs[0], pool_options(call->options));
}

static liana_tensor call_average(liana__layer_call *call)
{
    return liana_op_average_pool2d_at(call->here, call->inputs[0], pool_options(call->options));
}

const liana__layer_type liana__layer_max_pooling2d = {
    .name = "MaxPooling2D",
    .doc = "the maximum of each window",
    .options = &max_options,
    .min_inputs = 1,
    .max_inputs = 1,
    .has_data_format = true,
    .check = complete,
    .weights = liana__build_images,
    .call = call_max,
};

const liana__layer_type liana__layer_average_pooling2d = {
    .name = "AveragePooling2D",
    .doc = "the mean of each window",
    .options = &average_options,
    .min_inputs = 1,
    .max_inputs = 1,
    .has_data_format = true,
    .sums = LIANA__SUMS_KEPT,
    .check = complete,
    .weights = liana__build_images,
    .call = call_average,
};
