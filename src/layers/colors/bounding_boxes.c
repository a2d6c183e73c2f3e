/* MaxNumBoundingBoxes: its images, since models have no bounding boxes. */
#include "layers/colors/colors.h"

static const liana_option rows[] = {
    LIANA_OPTION_ROW(liana_max_num_bounding_boxes_options, max_number, INT, .required = true, .minimum = 0,
                     .maximum = INT32_MAX, .doc = "bounding boxes of an image, of which models have none"),
    LIANA_OPTION_ROW(liana_max_num_bounding_boxes_options, fill_value, INT, .default_text = "-1", .minimum = INT32_MIN,
                     .maximum = INT32_MAX, .doc = "in place of boxes that are missing"),
};

static liana_tensor call_layer(liana_layer_call *call)
{
    return call->inputs[0];
}

/* Keras does not keep the fill value in its files. */
static void to_keras(liana__arena *arena, const void *options, liana__value *config)
{
    (void)arena;
    (void)options;
    liana__value_remove(config, "fill_value");
}

const liana_layer_type liana__layer_max_num_bounding_boxes = {
    LIANA_PART(LAYER, liana_layer_type, "MaxNumBoundingBoxes", "its images; models have no bounding boxes",
               LIANA_PART_OPTIONS(liana_max_num_bounding_boxes_options, rows)),
    LIANA__INPUTS(1, 1),
    .has_data_format = true,
    .masking = LIANA_MASKING_KEPT,
    .weights = liana__build_images,
    .call = call_layer,
    .to_keras = to_keras,
};
