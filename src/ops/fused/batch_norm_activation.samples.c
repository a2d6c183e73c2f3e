/* Samples of batch_norm_activation for the generated tests of ops. */
#include "ops/norm/batch_norm_samples.h"

/* Shapes as for batch_norm: odd sizes, channels that do not fill vectors, that fill them with a tail and exactly, a
 * single row; each with another activation, with and without a residual. */
static const liana__batch_norm_row problems[] = {
    {"odd", LIANA__DIMS(2, 3, 5, 7), LIANA__FUSED_RELU6, true},
    {"few_channels", LIANA__DIMS(61, 3), LIANA__FUSED_SWISH, false},
    {"one_channel", LIANA__DIMS(37, 1), LIANA__FUSED_RELU, false},
    {"tail", LIANA__DIMS(3, 7, 24), LIANA__FUSED_SWISH, true},
    {"wide", LIANA__DIMS(35, 80), LIANA__FUSED_RELU, true},
    {"wide_linear", LIANA__DIMS(35, 64), LIANA__FUSED_LINEAR, true},
    {"two_rows", LIANA__DIMS(2, 5), LIANA__FUSED_RELU6, false},
    {"many_rows", LIANA__DIMS(5, 67, 8), LIANA__FUSED_SWISH, false},
    {"many_rows_of_relu6", LIANA__DIMS(5, 67, 8), LIANA__FUSED_RELU6, false},
    {"one_row", LIANA__DIMS(1, 37), LIANA__FUSED_RELU6, true},
};

LIANA__SAMPLE_ROWS(batch_norm_training_activation, problems, liana__sample_batch_norm_training);
LIANA__SAMPLE_ROWS(batch_norm_inference_activation, problems, liana__sample_batch_norm_inference);
LIANA__SAMPLE_ROWS(batch_norm_activation_gradient_sums, problems, liana__sample_batch_norm_gradient_sums);
LIANA__SAMPLE_ROWS(batch_norm_activation_input_gradient, problems, liana__sample_batch_norm_input_gradient);
