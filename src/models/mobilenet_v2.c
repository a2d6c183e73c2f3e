/* MobileNetV2: Sandler et al. 2018, table 2; layer names as in keras.applications. */
#include "base/format.h"
#include "layers/option_rows.h"
#include "models/models.h"

static const liana__field rows[] = {
    LIANA__ARCHITECTURE_ROWS(liana_mobilenet_v2_options),
    LIANA__FIELD_ROW(liana_mobilenet_v2_options, alpha, FLOAT, .default_text = "1.0", .minimum = 0.01, .maximum = 10,
                     .doc = "width multiplier: the number of filters of every layer"),
};
static const liana__fields options_table = LIANA__FIELD_TABLE("MobileNetV2", liana_mobilenet_v2_options, rows);

enum { NUM_BLOCKS = 17, EXPANSION = 6 };
static const struct {
    int filters, strides;
} blocks[NUM_BLOCKS] = {
    {16, 1}, {24, 2}, {24, 1}, {32, 2}, {32, 1},  {32, 1},  {64, 2},  {64, 1},  {64, 1},
    {64, 1}, {96, 1}, {96, 1}, {96, 1}, {160, 2}, {160, 1}, {160, 1}, {320, 1},
};

static liana__layer_name print_layer(int block, const char *suffix)
{
    return block == 0 ? liana__print_layer_name("expanded_conv_%s", suffix)
                      : liana__print_layer_name("block_%d_%s", block, suffix);
}

static void add_batch_norm(liana_model *m, const char *name)
{
    liana_batch_normalization(m, .epsilon = 1e-3, .momentum = 0.999, .name = name);
}

static void add_depthwise(liana_model *m, int block, liana_layer input)
{
    int64_t strides = blocks[block].strides;
    if (strides > 1) {
        liana_zero_padding2d(m, .padding = liana__strided_padding(input, 3), .name = print_layer(block, "pad").text);
    }
    liana_depthwise_conv2d(m, .kernel_size = 3, .strides = strides, .use_bias = false,
                           .padding = strides > 1 ? LIANA_PADDING_VALID : LIANA_PADDING_SAME,
                           .name = print_layer(block, "depthwise").text);
    add_batch_norm(m, print_layer(block, "depthwise_BN").text);
    liana_relu(m, .max_value = 6, .name = print_layer(block, "depthwise_relu").text);
}

/* An inverted residual: widen, convolve each channel, narrow, and add the input where the shapes agree. */
static liana_layer add_block(liana_model *m, int block, liana_layer input, double alpha)
{
    int64_t channels = liana_layer_shape(input).dims[3];
    int64_t filters = liana__round_filters((double)(int64_t)(blocks[block].filters * alpha));
    liana_layer x = input;
    if (block > 0) {
        liana_conv2d(m, .filters = EXPANSION * channels, .kernel_size = 1, .padding = LIANA_PADDING_SAME,
                     .use_bias = false, .name = print_layer(block, "expand").text, .input = input);
        add_batch_norm(m, print_layer(block, "expand_BN").text);
        x = liana_relu(m, .max_value = 6, .name = print_layer(block, "expand_relu").text);
    }
    add_depthwise(m, block, x);
    liana_conv2d(m, .filters = filters, .kernel_size = 1, .padding = LIANA_PADDING_SAME, .use_bias = false,
                 .name = print_layer(block, "project").text);
    liana_layer project =
        liana_batch_normalization(m, .epsilon = 1e-3, .momentum = 0.999, .name = print_layer(block, "project_BN").text);
    if (channels != filters || blocks[block].strides > 1) return project;
    return liana_add(m, .inputs = {input, project}, .name = print_layer(block, "add").text);
}

static void build(const liana__architecture *self, liana_model *m, const void *chosen)
{
    (void)self;
    const liana_mobilenet_v2_options *options = chosen;
    liana_conv2d(m, .filters = liana__round_filters(32 * options->alpha), .kernel_size = 3, .strides = 2,
                 .padding = LIANA_PADDING_SAME, .use_bias = false, .name = "Conv1");
    add_batch_norm(m, "bn_Conv1");
    liana_layer x = liana_relu(m, .max_value = 6, .name = "Conv1_relu");
    for (int block = 0; block < NUM_BLOCKS; block++) x = add_block(m, block, x, options->alpha);
    /* Narrow models keep the paper's full number of features. */
    int64_t features = options->alpha > 1 ? liana__round_filters(1280 * options->alpha) : 1280;
    liana_conv2d(m, .filters = features, .kernel_size = 1, .use_bias = false, .name = "Conv_1");
    add_batch_norm(m, "Conv_1_bn");
    liana_relu(m, .max_value = 6, .name = "out_relu");
    if (!options->include_top) {
        liana__pooling_add(m, options->pooling);
        return;
    }
    liana_global_average_pooling2d(m);
    liana_dense(m, .units = options->classes, .activation = options->classifier_activation, .name = "predictions");
}

static void print_name(const void *chosen, char *name, size_t size)
{
    const liana_mobilenet_v2_options *options = chosen;
    liana__format(name, size, "mobilenetv2_%.2f_%lld", options->alpha, (long long)options->input_shape.values[0]);
}

const liana__architecture liana__architecture_mobilenet_v2 = {
    .name = "MobileNetV2",
    .doc = "inverted residuals with linear bottlenecks (Sandler et al. 2018)",
    .options = &options_table,
    .default_size = 224,
    .scale = LIANA_SCALE_MINUS_ONE_ONE,
    .build = build,
    .print_name = print_name,
};
