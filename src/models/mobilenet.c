/* MobileNet (v1): Howard et al. 2017, table 1; layer names as in keras.applications. */
#include "base/format.h"
#include "layers/option_rows.h"
#include "models/models.h"

static const liana__field rows[] = {
    LIANA__ARCHITECTURE_ROWS(liana_mobilenet_options),
    LIANA__FIELD_ROW(liana_mobilenet_options, alpha, FLOAT, .default_text = "1.0", .minimum = 0.01, .maximum = 10,
                     .doc = "width multiplier: the number of filters of every layer"),
    LIANA__COUNT_ROW(liana_mobilenet_options, depth_multiplier, .default_text = "1",
                     .doc = "kernels for each channel of the depthwise convolutions"),
    LIANA__FIELD_ROW(liana_mobilenet_options, dropout, FLOAT, .default_text = "0.001", .maximum = 0.999999,
                     .doc = "dropout rate in its own classifier"),
};
static const liana__fields options_table = LIANA__FIELD_TABLE("MobileNet", liana_mobilenet_options, rows);

enum { NUM_BLOCKS = 13 };
static const struct {
    int filters, strides;
} blocks[NUM_BLOCKS] = {
    {64, 1},  {128, 2}, {128, 1}, {256, 2}, {256, 1},  {512, 2},  {512, 1},
    {512, 1}, {512, 1}, {512, 1}, {512, 1}, {1024, 2}, {1024, 1},
};

static void add_block(liana_model *m, int block, const liana_mobilenet_options *options)
{
    int64_t strides = blocks[block - 1].strides;
    int64_t filters = (int64_t)(blocks[block - 1].filters * options->alpha);
    if (strides > 1) {
        liana_zero_padding2d(m, .padding = LIANA_INTS(0, 1, 0, 1),
                             .name = liana__print_layer_name("conv_pad_%d", block).text);
    }
    liana_depthwise_conv2d(m, .kernel_size = 3, .strides = strides, .use_bias = false,
                           .padding = strides > 1 ? LIANA_PADDING_VALID : LIANA_PADDING_SAME,
                           .depth_multiplier = options->depth_multiplier,
                           .name = liana__print_layer_name("conv_dw_%d", block).text);
    liana_batch_normalization(m, .name = liana__print_layer_name("conv_dw_%d_bn", block).text);
    liana_relu(m, .max_value = 6, .name = liana__print_layer_name("conv_dw_%d_relu", block).text);
    liana_conv2d(m, .filters = filters, .kernel_size = 1, .padding = LIANA_PADDING_SAME, .use_bias = false,
                 .name = liana__print_layer_name("conv_pw_%d", block).text);
    liana_batch_normalization(m, .name = liana__print_layer_name("conv_pw_%d_bn", block).text);
    liana_relu(m, .max_value = 6, .name = liana__print_layer_name("conv_pw_%d_relu", block).text);
}

static void build(const liana__architecture *self, liana_model *m, const void *chosen)
{
    (void)self;
    const liana_mobilenet_options *options = chosen;
    liana_conv2d(m, .filters = (int64_t)(32 * options->alpha), .kernel_size = 3, .strides = 2,
                 .padding = LIANA_PADDING_SAME, .use_bias = false, .name = "conv1");
    liana_batch_normalization(m, .name = "conv1_bn");
    liana_relu(m, .max_value = 6, .name = "conv1_relu");
    for (int block = 1; block <= NUM_BLOCKS; block++) add_block(m, block, options);
    if (!options->include_top) {
        liana__pooling_add(m, options->pooling);
        return;
    }
    /* As in Keras up to 2.5; later versions say keepdims, which TensorFlow.js cannot read. */
    int64_t features = liana_layer_shape(liana_global_average_pooling2d(m)).dims[1];
    liana_reshape(m, .target_shape = LIANA_INTS(1, 1, features), .name = "reshape_1");
    liana_dropout(m, .rate = options->dropout, .name = "dropout");
    liana_conv2d(m, .filters = options->classes, .kernel_size = 1, .padding = LIANA_PADDING_SAME, .name = "conv_preds");
    liana_reshape(m, .target_shape = LIANA_INTS(options->classes), .name = "reshape_2");
    liana_activation(m, .activation = options->classifier_activation, .name = "predictions");
}

static void print_name(const void *chosen, char *name, size_t size)
{
    const liana_mobilenet_options *options = chosen;
    liana__format(name, size, "mobilenet_%.2f_%lld", options->alpha, (long long)options->input_shape.values[0]);
}

const liana__architecture liana__architecture_mobilenet = {
    .name = "MobileNet",
    .doc = "depthwise separable convolutions (Howard et al. 2017)",
    .options = &options_table,
    .default_size = 224,
    .scale = LIANA_SCALE_MINUS_ONE_ONE,
    .build = build,
    .print_name = print_name,
};
