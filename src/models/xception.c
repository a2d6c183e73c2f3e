/* Xception: Chollet 2016, "Xception: Deep Learning with Depthwise Separable Convolutions", figure 5; layer names as in
 * keras.applications. The layers beside a block have automatic names there, so that they are added before the block, as
 * Keras makes them. */
#include "layers/option_rows.h"
#include "models/models.h"

enum { DEFAULT_SIZE = 299, MINIMUM_SIZE = 71, MIDDLE_FILTERS = 728, FIRST_MIDDLE = 5, LAST_MIDDLE = 12 };

static const liana__field rows[] = {LIANA__ARCHITECTURE_ROWS_OF(liana_xception_options, "[299, 299, 3]")};
static const liana__fields options_table = LIANA__FIELD_TABLE("Xception", liana_xception_options, rows);

static liana_layer add_convolution(liana_model *m, const char *name, int64_t filters, int64_t strides)
{
    liana_conv2d(m, .filters = filters, .kernel_size = 3, .strides = strides, .use_bias = false, .name = name);
    liana_batch_normalization(m, .name = liana__print_layer_name("%s_bn", name).text);
    return liana_activation(m, .activation = "relu", .name = liana__print_layer_name("%s_act", name).text);
}

/* The activation of the separable convolution `unit` of a block. */
static liana_layer add_relu(liana_model *m, int block, int unit)
{
    return liana_activation(m, .activation = "relu",
                            .name = liana__print_layer_name("block%d_sepconv%d_act", block, unit).text);
}

static liana_layer add_separable(liana_model *m, int block, int unit, int64_t filters, liana_layer input)
{
    liana_separable_conv2d(m, .filters = filters, .kernel_size = 3, .padding = LIANA_PADDING_SAME, .use_bias = false,
                           .input = input, .name = liana__print_layer_name("block%d_sepconv%d", block, unit).text);
    return liana_batch_normalization(m, .name = liana__print_layer_name("block%d_sepconv%d_bn", block, unit).text);
}

/* Two separable convolutions that halve the sides, and a 1 x 1 convolution beside them. The first such block has no
 * activation before its first convolution. */
static liana_layer add_reduction(liana_model *m, int block, int64_t first, int64_t second, liana_layer input)
{
    liana_conv2d(m, .filters = second, .kernel_size = 1, .strides = 2, .padding = LIANA_PADDING_SAME, .use_bias = false,
                 .input = input);
    liana_layer beside = liana_batch_normalization(m);
    liana_layer x = input;
    if (block > 2) {
        x = liana_activation(m, .activation = "relu", .input = input,
                             .name = liana__print_layer_name("block%d_sepconv1_act", block).text);
    }
    add_separable(m, block, 1, first, x);
    add_separable(m, block, 2, second, add_relu(m, block, 2));
    x = liana_max_pooling2d(m, .pool_size = 3, .strides = 2, .padding = LIANA_PADDING_SAME,
                            .name = liana__print_layer_name("block%d_pool", block).text);
    return liana_add(m, .inputs = {x, beside});
}

static liana_layer add_middle(liana_model *m, int block, liana_layer input)
{
    liana_layer x = input;
    for (int unit = 1; unit <= 3; unit++) x = add_separable(m, block, unit, MIDDLE_FILTERS, add_relu(m, block, unit));
    return liana_add(m, .inputs = {x, input});
}

static void build(const liana__architecture *self, liana_model *m, const void *chosen)
{
    (void)self;
    const liana_xception_options *options = chosen;
    liana_layer x = add_convolution(m, "block1_conv1", 32, 2);
    x = add_convolution(m, "block1_conv2", 64, 1);
    x = add_reduction(m, 2, 128, 128, x);
    x = add_reduction(m, 3, 256, 256, x);
    x = add_reduction(m, 4, MIDDLE_FILTERS, MIDDLE_FILTERS, x);
    for (int block = FIRST_MIDDLE; block <= LAST_MIDDLE; block++) x = add_middle(m, block, x);
    x = add_reduction(m, LAST_MIDDLE + 1, MIDDLE_FILTERS, 1024, x);
    for (int unit = 1; unit <= 2; unit++) {
        add_separable(m, LAST_MIDDLE + 2, unit, unit == 1 ? 1536 : 2048, x);
        x = add_relu(m, LAST_MIDDLE + 2, unit);
    }
    if (options->include_top) {
        liana__top_add(m, chosen, 0, "glorot_uniform");
    } else {
        liana__pooling_add(m, options->pooling);
    }
}

const liana__architecture liana__architecture_xception = {
    .name = "Xception",
    .doc = "depthwise separable convolutions with residuals (Chollet 2016)",
    .options = &options_table,
    .default_size = DEFAULT_SIZE,
    .minimum_size = MINIMUM_SIZE,
    .scale = LIANA_SCALE_MINUS_ONE_ONE,
    .build = build,
    .keras_name = "xception",
};
